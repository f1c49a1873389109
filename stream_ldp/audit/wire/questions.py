"""Sampled collections, and those of views: section 17 of docs/wire.md."""

import hashlib
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from stream_ldp.audit.wire.client import (
    MAX_HELD,
    AskedInTurn,
    Held,
    more_than,
    other_turns,
    question_of,
    spread,
    without_turns,
)
from stream_ldp.audit.wire.notation import (
    WHOLE,
    Json,
    Unspecified,
    Words,
    keyed,
    number,
    threshold,
    word_of,
    words_of,
)
from stream_ldp.audit.wire.randomizers import again, answer, bits_of, loss_of, shared_loss
from stream_ldp.audit.wire.values import Values, text_of, well_formed


class Sampled(AskedInTurn):
    """A sampled collection, or one of views, from its meaning, and the rest of its file."""

    def __init__(self, file: Mapping[str, Json], meaning: str) -> None:
        super().__init__(file, meaning)
        self.name, _, self.domains, self.questions, self.ends = without_turns(self.meaning)
        self.attributes = [Values(each) for each in file["attributes"]]

    def word(self, secret: bytes) -> int:
        return word_of(keyed(secret, "stream-ldp qst 1", self.fingerprint, 4))

    def question(self, secret: bytes) -> int:
        return question_of(self.ends, self.word(secret))

    def _number(self, place: int, record: Mapping[str, Json]) -> float:
        name, (least, largest, *step) = self.domains[place]
        given = float(text_of(record[name])) + 0.0
        if self.attributes[place].clips:
            given = min(max(given, least), largest)
        if not least <= given <= largest:
            raise Unspecified("the number is beyond the range")
        for each in step:
            given = min(least + math.floor((given - least) / each + 0.5) * each, largest) + 0.0
        return given

    def _text(self, place: int, record: Mapping[str, Json]) -> str:
        attribute = self.attributes[place]
        text = text_of(record[attribute.name]) if record[attribute.name] is not None else attribute.missing
        if not text:
            raise Unspecified("the attribute has no text for what is missing")
        return well_formed(text)

    def _held(self, place: int, record: Mapping[str, Json]) -> bytes:
        name, domain = self.domains[place]
        if isinstance(domain[0], str):
            return struct.pack("<q", self.attributes[place].number_of(record[name]))
        return struct.pack("<d", self._number(place, record))

    def _rounded(self, place: int, record: Mapping[str, Json], points: Sequence[int], words: Words) -> int:
        y = self._placed(place, record, points[-1])
        b = sum(each <= y for each in points[1:-1])
        return b + (next(words) < round((y - points[b]) / (points[b + 1] - points[b]) * WHOLE))

    def _placed(self, place: int, record: Mapping[str, Json], m: int) -> float:
        """Where a number of a range lies from 0 to m."""
        _, (least, largest, *_) = self.domains[place]
        t: float = (self._number(place, record) - least) / (largest - least) * 2 - 1
        return (min(max(t, -1.0), 1.0) + 1) / 2 * m

    def _buckets(self, number: int, record: Mapping[str, Json]) -> list[int]:
        """The buckets of a question with a cohort."""
        (place,), kind, parameters, cohort = self.questions[number]
        attribute = self.attributes[place]
        if kind == "d-bit-flip":
            bits, _, cohorts = parameters
            own = attribute.number_of(record[attribute.name])
            return [own // cohorts if own % cohorts == cohort else bits]
        if self.domains[place][1] is None:
            text = self._text(place, record)
        else:
            text = attribute.values[attribute.number_of(record[attribute.name])]
        h = parameters[1] if kind == "bloom" else 1
        return [
            int.from_bytes(
                hashlib.blake2b(struct.pack("<I", h * cohort + i) + text.encode(), digest_size=8).digest(),
                "little",
            )
            % parameters[0]
            for i in range(h)
        ]

    def _input(self, number: int, record: Mapping[str, Json], words: Words) -> int:
        of, kind, parameters, *_ = self.questions[number]
        if self._is_hashed(number):
            buckets = self._buckets(number, record)
            return sum(1 << bucket for bucket in set(buckets)) if kind == "bloom" else buckets[0]
        if kind == "piecewise":
            m, _, _, *inner = parameters
            return self._rounded(of[0], record, [0, *inner, 2**16] if inner else range(m + 1), words)
        if kind == "mean-est":
            return sum(self._rounded(place, record, (0, 1), words) << bit for bit, place in enumerate(of))
        v = 0
        for count, cell in self._cells(number, record):
            v = v * count + cell
        return v

    def _is_hashed(self, number: int) -> bool:
        """Whether a question has a cohort."""
        _, kind, _, *more = self.questions[number]
        return bool(more) and isinstance(more[0], int) and kind != "piecewise"

    def _cells(self, number: int, record: Mapping[str, Json]) -> Iterator[tuple[int, int]]:
        """The cells of each attribute of a view: how many there are, and which one the user is in."""
        of, _, _, *shape = self.questions[number]
        for i, place in enumerate(of):
            name, domain = self.domains[place]
            if isinstance(domain[0], str):
                yield len(domain), self.attributes[place].number_of(record[name])
            else:
                count = shape[0][i]
                yield count, min(math.floor(self._placed(place, record, count)), count - 1)

    def settled(self, secret: bytes, asked: int, record: Mapping[str, Json]) -> Mapping[str, Json]:
        """The record, with a number of a question with a permanent rounding at the end that it is rounded to."""
        (place, *_), kind, _, *settled = self.questions[asked]
        if kind != "piecewise" or not settled:
            return record
        words = words_of(secret, "stream-ldp ans 1", self.fingerprint + struct.pack("<H", asked))
        name, ends = self.domains[place]
        return {**record, name: ends[self._rounded(place, record, (0, 1), words)]}

    @property
    def answer_bytes(self) -> int:
        return max(-(-bits_of(kind, parameters) // 8) for _, kind, parameters, *_ in self.questions)

    def _packed(self, number: int, answered: int) -> bytes:
        count = len(self.questions)
        said = 0 if count == 1 else 1 if count <= 256 else 2
        return number.to_bytes(said, "little") + answered.to_bytes(self.answer_bytes, "little")

    def row(self, secret: bytes, record: Mapping[str, Json], fresh_words: Sequence[int] | None = None) -> bytes:
        """The row that is repeated; with fresh words, what one report sends of it."""
        asked = self.question(secret)
        record = self.settled(secret, asked, record)
        _, kind, parameters, *_ = self.questions[asked]
        words = words_of(secret, "stream-ldp ans 1", self._data(asked, record))
        answered = answer(kind, parameters, self._input(asked, record, words), words)
        if fresh_words is not None:
            answered = again(kind, parameters, answered, iter(fresh_words))
        return self._packed(asked, answered)

    def held(self) -> list[Held]:
        """Records with each value of a list, numbers all over a range, and texts that are candidates or are none."""
        columns: list[tuple[str, list[Json]]] = []
        for attribute, given, (name, domain) in zip(
            self.attributes, self.file["attributes"], self.domains, strict=True
        ):
            if domain is None:
                candidates = list(given.get("candidates", []))[: MAX_HELD // 2]
                columns.append((name, [*candidates, "?", "naïve", "?" * 60]))
            elif isinstance(domain[0], str):
                columns.append((name, attribute.examples()))
            else:
                least, largest = domain
                columns.append((name, [least + (largest - least) * part / 8 for part in (0, 1, 3, 4, 6.5, 8)]))
        return spread(columns)

    def branch(self, secret: bytes) -> int:
        return self.question(secret)

    def excesses(self) -> Iterator[str]:
        """Compare the meaning with the file: rules 2 and 3 of section 5."""
        yield from other_turns(self.meaning, self.turns)
        mechanism = self.file["mechanism"]
        for (name, domain), attribute, given in zip(
            self.domains, self.attributes, self.file["attributes"], strict=True
        ):
            listed = isinstance(domain, list) and isinstance(domain[0], str)
            same = domain == attribute.values if listed else "candidates" in given
            if domain is not None and not listed:
                same = domain == [float(number(end)) for end in given["range"]]
            if name != attribute.name or not same:
                yield f"the meaning asks about {name!r} otherwise than the file does"
        if list(self.ends) != sorted(self.ends) or self.ends[-1] != WHOLE:
            yield "the questions do not share all users"
        for place, (_, kind, parameters, *_) in enumerate(self.questions):
            for key, reports in (("epsilon", math.inf), ("per_report", 1)):
                if key not in mechanism or (key == "per_report" and kind != "repeated"):
                    continue
                loss = loss_of(kind, parameters, reports=reports)
                if more_than(loss, number(mechanism[key])):
                    yield f"an answer to question {place} costs {loss:.6g} nats, and the file says {mechanism[key]}"
            if kind == "bloom":
                second = [threshold(number(mechanism.get(key, least))) for key, least in (("p", 0), ("q", 1))]
                if list(parameters[3:]) != second:
                    yield f"the second noise of question {place} is not that of p and q in the file"

    def row_of(self, key: bytes | None, record: Held, words: Words) -> bytes:
        asked = question_of(self.ends, next(words)) if key is None else self.question(key)
        _, kind, parameters, *_ = self.questions[asked]
        source = words
        if key is not None:
            record = self.settled(key, asked, record)
            source = words_of(key, "stream-ldp ans 1", self._data(asked, record))
        answered = answer(kind, parameters, self._input(asked, record, source), source)
        return self._packed(asked, again(kind, parameters, answered, words))

    def changes(self, secret: bytes, one: Held, other: Held) -> bool:
        asked = self.question(secret)
        first, second = (self._data(asked, self.settled(secret, asked, each)) for each in (one, other))
        return first != second

    def cost(self, secret: bytes, shown: Sequence[Held], *, memoises: bool = True) -> float:
        """What reports of these records cost, rule 6 of section 15."""
        if not memoises:
            # Each answers a question of its own, and is charged as the one that costs most.
            most = max(loss_of(kind, parameters, reports=1) for _, kind, parameters, *_ in self.questions)
            return len(shown) * most
        asked = self.question(secret)
        _, kind, parameters, *_ = self.questions[asked]
        loss = partial(_loss, kind, parameters)
        answers = {self._data(asked, self.settled(secret, asked, each)) for each in shown}
        return shared_loss(loss, values=len(answers), reports=len(shown))

    def _data(self, asked: int, record: Held) -> bytes:
        """The fingerprint, the question, and what the user holds of it."""
        of, _, parameters, *shape = self.questions[asked]
        if self._is_hashed(asked):
            held = struct.pack(
                "<q", sum(each * parameters[0] ** i for i, each in enumerate(self._buckets(asked, record)))
            )
        elif shape and isinstance(shape[0], list):
            held = b"".join(struct.pack("<q", cell) for _, cell in self._cells(asked, record))
        else:
            held = b"".join(self._held(place, record) for place in of)
        return self.fingerprint + struct.pack("<H", asked) + held


def _loss(kind: str, parameters: Sequence[int], reports: float) -> float:
    return loss_of(kind, parameters, reports=reports)
