"""Places: section 19 of docs/wire.md."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence

from stream_ldp.audit.wire.notation import Json, Unspecified, fingerprint_of, words_of
from stream_ldp.audit.wire.randomizers import answer, bits_of


class Places:
    """A collection of places, from its meaning and its file, which names the regions."""

    def __init__(self, meaning: str, file: Mapping[str, Json]) -> None:
        self.fingerprint = fingerprint_of(meaning)
        _, _, self.places, self.questions = json.loads(meaning)
        self.other: str | None = file.get("other")
        self.epsilons = [float(each) for each in file["mechanism"]["epsilon"]]
        self.regions: dict[str, tuple[int, int]] = {}
        root = file.get("root", "everywhere")
        if "levels" in file:
            self._even(file["levels"], root, (), 0)
        else:
            self._named(file["places"], root, 0)

    def _even(self, levels: Sequence[int], root: str, way: tuple[int, ...], first: int) -> None:
        size = math.prod(levels[len(way) :])
        self.regions[".".join(map(str, way)) or root] = (first, first + size)
        if len(way) + 1 < len(levels):
            for number in range(levels[len(way)]):
                self._even(levels, root, (*way, number), first + number * (size // levels[len(way)]))

    def _named(self, nested: Json, name: str, first: int) -> int:
        self.regions[name] = (first, first)
        end = first
        if isinstance(nested, dict):
            for below, parts in nested.items():
                end = self._named(parts, below, end)
        else:
            end += len(nested)
        self.regions[name] = (first, end)
        return end

    def question(self, record: Mapping[str, Json]) -> int:
        region = list(self.regions).index(record["region"])
        return region * len(self.epsilons) + self.epsilons.index(float(record["epsilon"]))

    def row(self, secret: bytes, record: Mapping[str, Json]) -> bytes:
        named = record["place"] if record["place"] in self.places else self.other
        if named is None:
            raise Unspecified("the place is not in the file")
        number, place = self.question(record), self.places.index(named)
        first, end, kind, parameters = self.questions[number]
        if (first, end) != self.regions[record["region"]] or not first <= place < end:
            raise Unspecified("the place is not in the region, or the meaning has other regions than the file")
        data = self.fingerprint + struct.pack("<Hq", number, place)
        answered = answer(kind, parameters, place - first, words_of(secret, "stream-ldp ans 1", data))
        count = len(self.questions)
        said = 0 if count == 1 else 1 if count <= 256 else 2
        longest = max(bits_of(each[2], each[3]) for each in self.questions)
        return number.to_bytes(said, "little") + answered.to_bytes(-(-longest // 8), "little")
