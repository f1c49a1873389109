"""Collections of strings: each user has one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from stream_ldp.collection import MAX_BITS, Part, Topics
from stream_ldp.collection.attributes import encode_record
from stream_ldp.collection.located import Misplaced
from stream_ldp.errors import ParameterError
from stream_ldp.pipeline.window_series import CollectionOfFilteredSeries
from stream_ldp.strings.attribute import StringAttribute
from stream_ldp.strings.method import StringMethod
from stream_ldp.strings.ngrams import RapporUnknown
from stream_ldp.strings.pem import Pem

#: Most strings that a ranking may have: a solver keeps twice as many beginnings.
MAX_K = 512

#: Every method that finds strings, by its name in a collection file.
METHODS: dict[str, type[StringMethod]] = {each.name: each for each in (Pem, RapporUnknown)}

VOCABULARY = {"StringRanking.method": tuple(METHODS)}


class StringSpec(Part):
    """The method of a collection of strings as its file writes it.

    kind: `strings`.
    epsilon: privacy loss, in nats, that a report may cost, for any two strings.
    method: finds the strings.
    k: the most strings of a ranking; it changes nothing for clients.
    """

    kind: Literal["strings"]
    epsilon: float = Field(gt=0, allow_inf_nan=False, description="nats that a report may cost")
    method: Literal["pem", "rappor-unknown"] = "pem"
    k: int = Field(default=32, ge=1, le=MAX_K)

    def made(self, attribute: StringAttribute) -> StringMethod:
        """Return the method for strings.

        Raises:
            ParameterError: the epsilon is beyond the resolution, or the method is not for such strings.
        """
        return METHODS[self.method].of(attribute, epsilon=self.epsilon)


class StringCollection(CollectionOfFilteredSeries):
    """A collection of strings, as a collection file describes it.

    mechanism: how users are asked, and what finds the frequent strings.
    string: the string that each user has.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    topics: ClassVar[Topics] = Topics(answers="strings")

    mechanism_spec: StringSpec = Field(alias="mechanism")
    string: StringAttribute = Field(examples=[{"name": "word", "length": 6}])

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        try:
            bits = self.bits
        except ParameterError as error:
            raise Misplaced(str(error), "mechanism") from error
        if bits > MAX_BITS:
            raise Misplaced(f"{bits:,} bits a report; at most {MAX_BITS:,}", "string")
        return self

    @property
    def attributes(self) -> tuple[StringAttribute, ...]:
        """What a record consists of: the string alone."""
        return (self.string,)

    @cached_property
    def method(self) -> StringMethod:
        """The method, with its questions."""
        return replace(self.mechanism_spec.made(self.string), reports_per_user=self.window.reports_per_user)

    @property
    def _meaning(self) -> list[Any]:
        """The fingerprint's input, which says all that the meaning of a report depends on.

        It is [name, "strings", method, [attribute, alphabet or null, length], [[kind of randomizer, [parameter,
        ...]], ...], [question, ...], [end, ...]]. The users of a question are those with words from the end before
        to its own.
        """
        questions = self.method.questions
        return [
            self.name,
            self.mechanism_spec.kind,
            self.method.name,
            [self.string.name, self.string.alphabet, self.string.length],
            [[randomizer.kind, randomizer.parameters] for randomizer in questions.randomizers],
            [question.meaning for question in questions.questions],
            list(questions.ends),
        ]

    def encode(self, record: Mapping[str, Any]) -> tuple[int, ...]:
        """Convert a record, which holds the string under its name, to the string's symbols.

        Raises:
            DataError: the string is missing, there is another key, or the collection does not take the string. The
                message never repeats it.
        """
        (symbols,) = encode_record(record, self.attributes, collection=self.name)
        encoded: tuple[int, ...] = symbols
        return encoded

    @property
    def bits(self) -> int:
        """Number of bits of a report."""
        return self.method.questions.bits

    def table(self, records: NDArray[np.uint16] | Sequence[Sequence[int]]) -> NDArray[np.uint16]:
        """Return encoded records as a table of symbols, one string a row, shape (n, length)."""
        return np.asarray(records, dtype=np.uint16).reshape(-1, self.string.length)
