"""Key-value data: section 21 of docs/wire.md."""

import math
import struct
from collections.abc import Iterator, Mapping, Sequence

from stream_ldp.audit.wire.client import MAX_HELD, AskedInTurn, Held, more_than, other_turns, without_turns
from stream_ldp.audit.wire.notation import WHOLE, Json, Unspecified, Words, uniform, words_of
from stream_ldp.audit.wire.randomizers import answer, bits_of, loss_of


class Pairs(AskedInTurn):
    """A collection of key-value data, from its meaning and its file, which says whether numbers are clipped."""

    def __init__(self, file: Mapping[str, Json], meaning: str) -> None:
        super().__init__(file, meaning)
        _, _, self.keys, self.padding, self.kind, self.parameters = without_turns(self.meaning)
        # Of direct, slots without a key have a value each.
        self.dummies = self.parameters[1] if self.kind == "direct" else 0
        if self.dummies:
            self.parameters = [self.parameters[0] + self.dummies, 0, self.parameters[2]]
        self.clip = str(file["keys"].get("clip", "true")).lower() == "true"

    def numbers(self, record: Held) -> list[float | None]:
        """The number of each key, in their order; none where the user does not hold it."""
        if set(record) - {name for name, _, _ in self.keys}:
            raise Unspecified("the record has a key that is not in the file")
        found: list[float | None] = []
        for name, least, largest in self.keys:
            given = record.get(name)
            if given is None or given == "" or (isinstance(given, float) and math.isnan(given)):
                found.append(None)
                continue
            number = float(given) + 0.0
            if math.isnan(number) or not (self.clip or least <= number <= largest):
                raise Unspecified("the number is not in the range")
            found.append(min(max(number, least), largest) + 0.0)
        return found

    def held_bytes(self, record: Held) -> bytes:
        return struct.pack(
            f"<{len(self.keys)}d", *(math.nan if each is None else each for each in self.numbers(record))
        )

    def drawn(self, record: Held, words: Words) -> int:
        """The value that is perturbed."""
        numbers = self.numbers(record)
        held = [place for place, each in enumerate(numbers) if each is not None]
        slot, none = uniform(words, max(len(held), self.padding)), 2 * len(self.keys)
        word = next(words)
        if slot >= len(held):
            return none + (slot - len(held) if self.dummies else 0)
        _, least, largest = self.keys[held[slot]]
        number = numbers[held[slot]]
        assert number is not None  # noqa: S101  it is held
        share = min(max((number - least) / (largest - least), 0.0), 1.0)
        return 2 * held[slot] + int(word < round(share * WHOLE))

    def row_of(self, key: bytes | None, record: Held, words: Words) -> bytes:
        if key is not None:
            data = self.fingerprint + struct.pack("<H", 0) + self.held_bytes(record)
            words = words_of(key, "stream-ldp ans 1", data)
        else:
            # The word of the only question.
            next(words)
        answered = answer(self.kind, self.parameters, self.drawn(record, words), words)
        return answered.to_bytes(-(-bits_of(self.kind, self.parameters) // 8), "little")

    def held(self) -> list[Held]:
        """Users with no key, with each key alone at both ends of its range, with all keys, and with some."""
        found: list[Held] = [{}]
        for name, least, largest in self.keys[: MAX_HELD // 2 - 2]:
            found += [{name: least}, {name: largest}]
        middle = {name: least + (largest - least) / 4 for name, least, largest in self.keys}
        return [*found, dict(list(middle.items())[: self.padding]), middle]

    def excesses(self) -> Iterator[str]:
        """Compare the meaning with the file: rules 2 and 3 of section 5."""
        yield from other_turns(self.meaning, self.turns)
        keys, mechanism = self.file["keys"], self.file["mechanism"]
        ranges = keys.get("ranges") or [keys["range"]] * len(keys["names"])
        written = [[name, *map(float, bounds)] for name, bounds in zip(keys["names"], ranges, strict=True)]
        if [list(each) for each in self.keys] != written:
            yield "the meaning has other keys or ranges than the file"
        if "padding" in mechanism and int(mechanism["padding"]) != self.padding:
            yield "the meaning has another padding than the file"
        if self.dummies not in (0, self.padding):
            yield "the randomizer has values for another number of slots"
        loss, epsilon = self.loss(), float(mechanism["epsilon"])
        if more_than(loss, epsilon):
            yield f"an answer costs {loss:.6g} nats, and the file says {epsilon}"

    def changes(self, secret: bytes, one: Held, other: Held) -> bool:  # noqa: ARG002
        return self.held_bytes(one) != self.held_bytes(other)

    def cost(self, secret: bytes, shown: Sequence[Held], *, memoises: bool = True) -> float:  # noqa: ARG002
        """What reports of these records cost: each different set of keys and numbers once."""
        held = [self.held_bytes(each) for each in shown]
        answers = len(dict.fromkeys(held)) if memoises else len(held)
        return answers * self.loss()

    def loss(self) -> float:
        """What an answer costs: of one of the slots, e^loss - 1 is the part of it that is drawn."""
        found = loss_of(self.kind, self.parameters)
        return math.log1p(math.expm1(found) / self.padding) if self.dummies else found
