"""Strings: section 18 of docs/wire.md."""

import math
import struct
from collections.abc import Iterator, Mapping, Sequence

from stream_ldp.audit.wire.client import (
    AskedInTurn,
    Held,
    more_than,
    other_turns,
    question_of,
    without_turns,
)
from stream_ldp.audit.wire.notation import Json, Words, keyed, number, packed, words_of
from stream_ldp.audit.wire.randomizers import answer, bits_of, loss_of
from stream_ldp.audit.wire.values import well_formed


def mixed(x: int) -> int:
    mask = 2**64 - 1
    x = (x + 0x9E3779B97F4A7C15) & mask
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & mask
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & mask
    return x ^ (x >> 31)


def bucket_of(symbols: Sequence[int], seed: int, t: int) -> int:
    found = 0
    for place, symbol in enumerate(symbols):
        found ^= mixed((seed << 32) + (place << 16) + symbol)
    return found >> (64 - t)


class Strings(AskedInTurn):
    """A collection of strings, from its meaning."""

    #: By the seed.
    links = True

    def __init__(self, file: Mapping[str, Json], meaning: str) -> None:
        super().__init__(file, meaning)
        _, _, self.method, (self.name, self.alphabet, self.length), *rest = without_turns(self.meaning)
        self.randomizers, self.questions, self.ends = rest

    def drawn(self, secret: bytes) -> tuple[int, int]:
        """The number of the question, and the seed."""
        word, seed = struct.unpack("<II", keyed(secret, "stream-ldp str 1", self.fingerprint, 8))
        return question_of(self.ends, word), seed

    def symbols(self, string: str | None) -> list[int]:
        text = well_formed(string or "")
        letters = list(text.encode()) if self.alphabet is None else [self.alphabet.find(each) for each in text]
        if len(letters) > self.length or -1 in letters:
            letters = []
        return [each + 1 for each in letters] + [0] * (self.length - len(letters))

    def inputs(self, number: int, seed: int, symbols: Sequence[int]) -> list[int]:
        asked = self.questions[number]
        if self.method == "pem":
            ((_, (buckets, _, _)),) = self.randomizers
            return [bucket_of(symbols[:asked], seed, buckets.bit_length() - 1)]
        m = len(self.alphabet) + 1
        longer = [*symbols, 0]
        return [bucket_of(symbols, seed, 7), *(longer[2 * i] * m + longer[2 * i + 1] for i in asked)]

    def row_of(self, key: bytes | None, record: Held, words: Words) -> bytes:
        number, seed = (question_of(self.ends, next(words)), next(words)) if key is None else self.drawn(key)
        inputs = self.inputs(number, seed, self.symbols(record[self.name]))
        if key is not None:
            words = words_of(key, "stream-ldp ans 1", self._data(number, inputs))
        rows = [
            packed([(answer(kind, parameters, value, words), bits_of(kind, parameters))])
            for (kind, parameters), value in zip(self.randomizers, inputs, strict=True)
        ]
        return struct.pack("<BI", number, seed) + b"".join(rows)

    def _data(self, number: int, inputs: Sequence[int]) -> bytes:
        """The fingerprint, the question, and the inputs."""
        return self.fingerprint + struct.pack("<H", number) + b"".join(struct.pack("<q", each) for each in inputs)

    def held(self) -> list[Held]:
        """Strings of every length that begin and end with different letters."""
        letters = list(self.alphabet or "ab?zé")
        first, last = letters[0], letters[-1]
        longest = self.length if self.alphabet is not None else self.length // len("é".encode())
        lengths = sorted({1, 2, 3, longest // 2, longest - 1, longest} & set(range(1, longest + 1)))
        found = [each * length for length in lengths for each in (first, last)]
        found += [first * (length - 1) + last for length in lengths]
        found += ["".join(letters[(place + start) % len(letters)] for place in range(longest)) for start in range(8)]
        return [{self.name: string} for string in dict.fromkeys(found)]

    def branch(self, secret: bytes) -> int:
        return self.drawn(secret)[0]

    def excesses(self) -> Iterator[str]:
        """Compare the meaning with the file: rules 2 and 3 of section 5."""
        yield from other_turns(self.meaning, self.turns)
        string, epsilon = self.file["string"], number(self.file["mechanism"]["epsilon"])
        if (self.name, self.alphabet) != (string["name"], string.get("alphabet")):
            yield "the meaning asks about another string than the file does"
        loss = self._loss
        if more_than(loss, epsilon):
            yield f"an answer costs {loss:.6g} nats, and the file says {epsilon}"

    def changes(self, secret: bytes, one: Held, other: Held) -> bool:
        number, seed = self.drawn(secret)
        first, second = (self.inputs(number, seed, self.symbols(each[self.name])) for each in (one, other))
        return first != second

    def cost(self, secret: bytes, shown: Sequence[Held], *, memoises: bool = True) -> float:
        """What reports of these strings cost, rule 6 of section 15."""
        number, seed = self.drawn(secret)
        answers = {self._data(number, self.inputs(number, seed, self.symbols(each[self.name]))) for each in shown}
        return (len(answers) if memoises else len(shown)) * self._loss

    @property
    def _loss(self) -> float:
        return math.fsum(loss_of(kind, parameters) for kind, parameters in self.randomizers)
