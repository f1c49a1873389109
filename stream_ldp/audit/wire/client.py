"""What an audit asks of a client that is written from docs/wire.md: rows, what they cost, and what users may hold."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from stream_ldp.audit.wire.notation import Json, Words, duration_ms, fingerprint_of, keyed, number, word_of

#: What a user holds, as an application gives it to a client.
Held = Mapping[str, Json]

#: Most records of an audit: with so many, each value of all but the longest lists comes.
MAX_HELD = 64


@dataclass(frozen=True, slots=True)
class Turns:
    """The turns of a collection's users, section 5.

    every: w; None where users take no turns.
    turn_ms: h.
    """

    every: int | None
    turn_ms: int

    @classmethod
    def of(cls, file: Mapping[str, Json], *, windows: int = 1) -> Self:
        """Read them in a file; `windows` is the number of windows from one turn to the next."""
        every = None if file.get("rotate") is None else int(number(file["rotate"]))
        return cls(every, windows * duration_ms(file["window"]["size"]))

    @property
    def entry(self) -> list[Json]:
        """What the fingerprint has at its end."""
        return [] if self.every is None else [["rotate", self.every, self.turn_ms]]

    def place(self, secret: bytes, fingerprint: bytes) -> int:
        return word_of(keyed(secret, "stream-ldp rot 1", fingerprint, 4)) * (self.every or 1) >> 32

    def has(self, secret: bytes, fingerprint: bytes, turn: int) -> bool:
        return self.every is None or turn % self.every == self.place(secret, fingerprint)


def without_turns(meaning: Sequence[Json]) -> list[Json]:
    """What a meaning says beside the turns."""
    last = meaning[-1]
    return list(meaning[:-1] if isinstance(last, list) and last[:1] == ["rotate"] else meaning)


def other_turns(meaning: Sequence[Json], turns: Turns) -> Iterator[str]:
    """Yield where a meaning has other turns than the file."""
    if list(meaning[len(without_turns(meaning)) :]) != turns.entry:
        yield "the meaning has other turns of the users than the file"


class Specified(Protocol):
    """What the specification says of a collection of any kind, by code that shares no function with the package.

    fingerprint: of the collection, 16 bytes.
    turns: of its users.
    """

    @property
    def fingerprint(self) -> bytes: ...

    @property
    def turns(self) -> Turns: ...

    def excesses(self) -> Iterator[str]:
        """Yield where the meaning lets a report cost more than the file says, or asks about something else."""
        ...


class SpecifiedClient(Specified, Protocol):
    """A client of a collection whose users report records, or anything else in one go.

    links: whether what is permanent in reports links those of a user, so that the user has to agree to it.
    period_ms: length of the periods in which a user has one pseudonym, in milliseconds; None where there are none.
    """

    @property
    def period_ms(self) -> int | None: ...

    @property
    def links(self) -> bool: ...

    def held(self) -> list[Held]:
        """List what the users of an audit hold, at least two."""
        ...

    def branch(self, secret: bytes) -> int:
        """Return the number of the question that a secret determines; 0 where it determines none."""
        ...

    def asks(self, secret: bytes, time_ms: int) -> bool:
        """Whether a user is asked at a time."""
        ...

    def whole_row(
        self, secret: bytes | None, record: Held, *, time_ms: int, words: Words, memoises: bool = True
    ) -> bytes:
        """Make the row of a user who is asked.

        secret: the user's; None for one who reports once in a lifetime.
        words: fresh words, as many as are needed.
        memoises: whether what is permanent comes from the secret, and not from fresh words.
        """
        ...

    def changes(self, secret: bytes, one: Held, other: Held) -> bool:
        """Whether a user has to agree to report both records: rule 7 of section 15."""
        ...

    def cost(self, secret: bytes, shown: Sequence[Held], *, memoises: bool = True) -> float:
        """Return what reports of these records of one user have to be charged, in nats."""
        ...


class AskedInTurn:
    """A client by file and meaning, whose users are asked in every window, or in turns, and have no pseudonym."""

    #: Of most: what is permanent in reports is nothing by which they could be linked.
    links = False
    period_ms: int | None = None

    def __init__(self, file: Mapping[str, Json], meaning: str) -> None:
        self.file = file
        self.meaning: list[Json] = json.loads(meaning)
        self.fingerprint = fingerprint_of(meaning)
        self.turns = Turns.of(file)

    def branch(self, secret: bytes) -> int:  # noqa: ARG002
        return 0

    def asks(self, secret: bytes, time_ms: int) -> bool:
        return self.turns.has(secret, self.fingerprint, time_ms // self.turns.turn_ms)

    def whole_row(
        self,
        secret: bytes | None,
        record: Held,
        *,
        time_ms: int,  # noqa: ARG002
        words: Words,
        memoises: bool = True,
    ) -> bytes:
        return self.row_of(secret if memoises else None, record, words)

    def row_of(self, key: bytes | None, record: Held, words: Words) -> bytes:
        """The row of a user with a key; without one, the answer is of fresh words."""
        raise NotImplementedError


def spread(columns: Sequence[tuple[str, Sequence[Json]]]) -> list[Held]:
    """Make records of these names in which each value comes, up to `MAX_HELD`, and all last values at last."""
    count = max(2, min(max(len(values) for _, values in columns), MAX_HELD - 1))
    # Columns are shifted against each other, so that what is made of one in place of another shows.
    found: list[Held] = [
        {name: values[(number + place * (number > 0)) % len(values)] for place, (name, values) in enumerate(columns)}
        for number in range(count)
    ]
    return [*found, {name: values[-1] for name, values in columns}]


def question_of(ends: Sequence[int], word: int) -> int:
    """The first question whose end is above the word, sections 17 and 18."""
    return next(number for number, end in enumerate(ends) if end > word)


def more_than(loss: float, file: float) -> bool:
    """Whether a loss is above what the file says, by more than the rounding of doubles."""
    return loss > file * (1 + 1e-12)
