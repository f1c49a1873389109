"""What an audit asks of a client that is written from docs/wire.md: rows, what they cost, and what users may hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from stream_ldp.audit.wire.notation import Json, Words

#: What a user holds, as an application gives it to a client.
Held = Mapping[str, Json]

#: Most records of an audit: with so many, each value of all but the longest lists comes.
MAX_HELD = 64


class Specified(Protocol):
    """What the specification says of a collection of any kind, by code that shares no function with the package.

    fingerprint: of the collection, 16 bytes.
    """

    @property
    def fingerprint(self) -> bytes: ...

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


class AlwaysAsked:
    """What is the same of clients whose users are asked in every window, and have no pseudonym of a period."""

    @property
    def period_ms(self) -> int | None:
        return None

    def asks(self, secret: bytes, time_ms: int) -> bool:  # noqa: ARG002
        return True


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


def more_than(told: float, file: float) -> bool:
    """Whether a loss is above what the file says, by more than the rounding of doubles."""
    return told > file * (1 + 1e-12)
