"""Sampled collections, and those of views: section 17 of docs/wire.md."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping, Sequence

from stream_ldp.audit.wire.notation import WHOLE, Json, Unspecified, Words, fingerprint_of, keyed, word_of, words_of
from stream_ldp.audit.wire.randomizers import again, answer, bits_of
from stream_ldp.audit.wire.values import Values, text_of, well_formed


class Sampled:
    """A sampled collection, or one of views, from its meaning, and the rest of its file."""

    def __init__(self, meaning: str, file: Mapping[str, Json]) -> None:
        self.fingerprint = fingerprint_of(meaning)
        self.name, _, self.domains, self.questions, self.ends = json.loads(meaning)
        self.attributes = [Values(each) for each in file["attributes"]]

    def word(self, secret: bytes) -> int:
        return word_of(keyed(secret, "stream-ldp qst 1", self.fingerprint, 4))

    def question(self, secret: bytes) -> int:
        word = self.word(secret)
        return next(number for number, end in enumerate(self.ends) if end > word)

    def _number(self, place: int, record: Mapping[str, Json]) -> float:
        name, (least, largest) = self.domains[place]
        number = float(text_of(record[name])) + 0.0
        if self.attributes[place].clips:
            number = min(max(number, least), largest)
        if not least <= number <= largest:
            raise Unspecified("the number is beyond the range")
        return number

    def _text(self, place: int, record: Mapping[str, Json]) -> str:
        attribute = self.attributes[place]
        text = text_of(record[attribute.name]) if record[attribute.name] is not None else attribute.missing
        if not text:
            raise Unspecified("the attribute has no text for what is missing")
        return well_formed(text)

    def _held(self, place: int, record: Mapping[str, Json]) -> bytes:
        name, domain = self.domains[place]
        if domain is None:
            return hashlib.sha256(self._text(place, record).encode()).digest()
        if isinstance(domain[0], str):
            return struct.pack("<q", self.attributes[place].number_of(record[name]))
        return struct.pack("<d", self._number(place, record))

    def _rounded(self, place: int, record: Mapping[str, Json], m: int, words: Words) -> int:
        _, (least, largest) = self.domains[place]
        t: float = (self._number(place, record) - least) / (largest - least) * 2 - 1
        y = (min(max(t, -1.0), 1.0) + 1) / 2 * m
        b = min(math.floor(y), m - 1)
        return b + (next(words) < round((y - b) * WHOLE))

    def _input(self, number: int, record: Mapping[str, Json], words: Words) -> int:
        of, kind, parameters, *cohort = self.questions[number]
        if cohort:
            (place,), (cohort_number,) = of, cohort
            attribute = self.attributes[place]
            if self.domains[place][1] is None:
                text = self._text(place, record)
            else:
                text = attribute.values[attribute.number_of(record[attribute.name])]
            h = parameters[1] if kind == "bloom" else 1
            buckets = [
                int.from_bytes(
                    hashlib.blake2b(struct.pack("<I", h * cohort_number + i) + text.encode(), digest_size=8).digest(),
                    "little",
                )
                % parameters[0]
                for i in range(h)
            ]
            return sum(1 << bucket for bucket in set(buckets)) if kind == "bloom" else buckets[0]
        if kind == "piecewise":
            return self._rounded(of[0], record, parameters[0], words)
        if kind == "mean-est":
            return sum(self._rounded(place, record, 1, words) << bit for bit, place in enumerate(of))
        v = 0
        for place in of:
            name, values = self.domains[place]
            v = v * len(values) + self.attributes[place].number_of(record[name])
        return v

    @property
    def answer_bytes(self) -> int:
        return max(-(-bits_of(kind, parameters) // 8) for _, kind, parameters, *_ in self.questions)

    def _packed(self, number: int, answered: int) -> bytes:
        count = len(self.questions)
        said = 0 if count == 1 else 1 if count <= 256 else 2
        return number.to_bytes(said, "little") + answered.to_bytes(self.answer_bytes, "little")

    def row(self, secret: bytes, record: Mapping[str, Json], fresh_words: Sequence[int] | None = None) -> bytes:
        """The row that is repeated; with fresh words, what one report sends of it."""
        number = self.question(secret)
        of, kind, parameters, *_ = self.questions[number]
        held = b"".join(self._held(place, record) for place in of)
        words = words_of(secret, "stream-ldp ans 1", self.fingerprint + struct.pack("<H", number) + held)
        answered = answer(kind, parameters, self._input(number, record, words), words)
        if fresh_words is not None:
            answered = again(kind, parameters, answered, iter(fresh_words))
        return self._packed(number, answered)
