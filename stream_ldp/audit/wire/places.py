"""Places: section 19 of docs/wire.md."""

import math
import struct
from collections.abc import Iterator, Mapping, Sequence

from stream_ldp.audit.wire.client import MAX_HELD, AskedInTurn, Held, more_than, other_turns, without_turns
from stream_ldp.audit.wire.notation import Json, Unspecified, Words, words_of
from stream_ldp.audit.wire.randomizers import answer, bits_of, loss_of


class Places(AskedInTurn):
    """A collection of places, from its meaning and its file, which names the regions."""

    def __init__(self, file: Mapping[str, Json], meaning: str) -> None:
        super().__init__(file, meaning)
        _, _, self.places, self.questions = without_turns(self.meaning)
        self.other: str | None = file.get("other")
        self.epsilons = sorted(float(each) for each in file["mechanism"]["epsilon"])
        self.regions: dict[str, tuple[int, int]] = {}
        root = file.get("root", "everywhere")
        if "levels" in file:
            self._even([int(each) for each in file["levels"]], root, (), 0)
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

    def row_of(self, key: bytes | None, record: Held, words: Words) -> bytes:
        named = record["place"] if record["place"] in self.places else self.other
        if named is None:
            raise Unspecified("the place is not in the file")
        number, place = self.question(record), self.places.index(named)
        first, end, kind, parameters = self.questions[number]
        if (first, end) != self.regions[record["region"]] or not first <= place < end:
            raise Unspecified("the place is not in the region, or the meaning has other regions than the file")
        if key is not None:
            words = words_of(key, "stream-ldp ans 1", self.fingerprint + struct.pack("<Hq", number, place))
        answered = answer(kind, parameters, place - first, words)
        count = len(self.questions)
        said = 0 if count == 1 else 1 if count <= 256 else 2
        longest = max(bits_of(each[2], each[3]) for each in self.questions)
        return number.to_bytes(said, "little") + answered.to_bytes(-(-longest // 8), "little")

    def held(self) -> list[Held]:
        """Places at both ends and in the middle of regions, of every size and with every epsilon."""
        found: list[Held] = []
        for place, (name, (first, end)) in enumerate(self.regions.items()):
            for number in dict.fromkeys([first, end - 1, (first + end) // 2]):
                epsilon = self.epsilons[(place + number) % len(self.epsilons)]
                found += [
                    {"place": self.places[number], "region": name, "epsilon": each}
                    for each in (self.epsilons if place < MAX_HELD // 8 else [epsilon])
                ]
        # The same place within the root and within its smallest region.
        within = [
            {"place": self.places[first], "region": name, "epsilon": self.epsilons[0]}
            for name, (first, _) in list(self.regions.items())[:: max(1, len(self.regions) - 1)]
        ]
        root, smallest = within[0], within[-1]
        return [*found[: 2 * MAX_HELD], {**smallest, "region": root["region"]}, smallest]

    def excesses(self) -> Iterator[str]:
        """Compare the meaning with the file: rules 2 and 3 of section 5."""
        yield from other_turns(self.meaning, self.turns)
        if len(self.questions) != len(self.regions) * len(self.epsilons):
            yield "the meaning has other regions or epsilons than the file"
            return
        for number, (first, end, kind, parameters) in enumerate(self.questions):
            name, within = list(self.regions.items())[number // len(self.epsilons)]
            if within != (first, end):
                yield f"the region {name!r} has other places than in the file"
            loss, epsilon = loss_of(kind, parameters), self.epsilons[number % len(self.epsilons)]
            if more_than(loss, epsilon):
                yield f"an answer within {name!r} costs {loss:.6g} nats, and the user has chosen {epsilon}"

    def changes(self, secret: bytes, one: Held, other: Held) -> bool:  # noqa: ARG002
        """Within what is charged together: a user may choose another epsilon."""
        answers = [(self.question(each), each["place"]) for each in (one, other)]
        return one["epsilon"] == other["epsilon"] and answers[0] != answers[1]

    def cost(self, secret: bytes, shown: Sequence[Held], *, memoises: bool = True) -> float:  # noqa: ARG002
        """What reports of these places cost: each answer the epsilon that the user has chosen, section 15."""
        answers = [(self.question(each), self.places.index(each["place"])) for each in shown]
        each_once = dict.fromkeys(answers) if memoises else answers
        return math.fsum(self.epsilons[number % len(self.epsilons)] for number, _ in each_once)
