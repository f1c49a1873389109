"""Strings: section 18 of docs/wire.md."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence

from stream_ldp.audit.wire.notation import fingerprint_of, keyed, packed, words_of
from stream_ldp.audit.wire.randomizers import answer, bits_of
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


class Strings:
    """A collection of strings, from its meaning."""

    def __init__(self, meaning: str) -> None:
        self.fingerprint = fingerprint_of(meaning)
        _, _, self.method, (self.name, self.alphabet, self.length), *rest = json.loads(meaning)
        self.randomizers, self.questions, self.ends = rest

    def drawn(self, secret: bytes) -> tuple[int, int]:
        """The number of the question, and the seed."""
        word, seed = struct.unpack("<II", keyed(secret, "stream-ldp str 1", self.fingerprint, 8))
        return next(number for number, end in enumerate(self.ends) if end > word), seed

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

    def row(self, secret: bytes, record: Mapping[str, str | None]) -> bytes:
        number, seed = self.drawn(secret)
        inputs = self.inputs(number, seed, self.symbols(record[self.name]))
        held = b"".join(struct.pack("<q", each) for each in inputs)
        words = words_of(secret, "stream-ldp ans 1", self.fingerprint + struct.pack("<H", number) + held)
        rows = [
            packed([(answer(kind, parameters, value, words), bits_of(kind, parameters))])
            for (kind, parameters), value in zip(self.randomizers, inputs, strict=True)
        ]
        return struct.pack("<BI", number, seed) + b"".join(rows)
