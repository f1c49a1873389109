"""The strings that users may have: their letters, their greatest length, and their symbols."""

import codecs
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from stream_ldp.collection import Label, Part
from stream_ldp.collection.located import Misplaced
from stream_ldp.collection.values import text_of, well_formed

#: The symbol after the last letter of a string. All strings are filled up with it, so that no report reveals a
#: length. A string that cannot be reported has no other: its user reports as all do, or silence would reveal that it
#: is one.
END = 0

#: Longest strings, in letters: each step towards the end of a string takes users of its own.
MAX_LENGTH = 64

_BYTES = 256


class StringAttribute(Part):
    """A string of a user: a name, and what it may consist of.

    name: name, as records have it.
    length: the most letters of a string, or bytes of UTF-8 where there is no alphabet; longer ones are never found.
    alphabet: the letters that may occur, each once, and strings with others are never found; any text without it, as
        the bytes of its UTF-8.
    """

    name: Label
    length: int = Field(ge=1, le=MAX_LENGTH)
    alphabet: str | None = Field(default=None, min_length=2, max_length=_BYTES)

    @model_validator(mode="after")
    def _letters_are_distinct(self) -> Self:
        for letter in self.alphabet or "":
            if (self.alphabet or "").count(letter) > 1:
                raise Misplaced(f"the letters of an alphabet must be distinct, {letter!r} is given twice", "alphabet")
        return self

    @property
    def symbols(self) -> int:
        """Number of symbols: the letters, or bytes, and `END`."""
        return 1 + (_BYTES if self.alphabet is None else len(self.alphabet))

    def encode(self, value: Any) -> tuple[int, ...]:
        """Convert a string to its `length` symbols: letters from 1 on, and then `END`.

        What is missing, too long, or has a letter outside the alphabet is taken for the empty string.

        Raises:
            DataError: it is neither text nor a number. The message never repeats it.
        """
        text = text_of(value, what=f"attribute {self.name!r}: the given value") or ""
        letters = (
            list(well_formed(text).encode())
            if self.alphabet is None
            else [self._places.get(letter, -1) for letter in text]
        )
        if len(letters) > self.length or -1 in letters:
            letters = []
        return tuple(letter + 1 for letter in letters) + (END,) * (self.length - len(letters))

    def decode(self, symbols: NDArray[np.integer]) -> str:
        """Convert the symbols of a whole string back to it; `valid` must have found them so."""
        letters = [symbol - 1 for symbol in symbols.tolist() if symbol != END]
        return (
            bytes(letters).decode() if self.alphabet is None else "".join(self.alphabet[letter] for letter in letters)
        )

    def valid(self, beginnings: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Decide which beginnings some string has, bool, shape (n,).

        beginnings: symbols, shape (n, letters); as many letters as `length` are a whole string.
        """
        ended = beginnings == END
        valid: NDArray[np.bool_] = ~ended[:, 0] & (ended[:, 1:] >= ended[:, :-1]).all(axis=1)
        if self.alphabet is None:
            for place in np.flatnonzero(valid).tolist():
                valid[place] = self._is_text(beginnings[place])
        return valid

    def _is_text(self, symbols: NDArray[np.integer]) -> bool:
        letters = symbols[symbols != END] - 1
        whole = len(letters) < len(symbols) or len(symbols) == self.length
        try:
            codecs.getincrementaldecoder("utf-8")().decode(bytes(letters.tolist()), final=whole)
        except UnicodeDecodeError:
            return False
        return True

    @cached_property
    def _places(self) -> dict[str, int]:
        return {letter: place for place, letter in enumerate(self.alphabet or "")}
