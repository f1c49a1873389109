"""The interface of statistics, that of the tallies that count them, and the base of those with one segment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.pipeline.statistics.sending import Sending


class Statistic(ABC):
    """All that an answer needs of the reports to a pane, from one source."""

    __slots__ = ()

    @property
    @abstractmethod
    def reports(self) -> float:
        """Number of reports, or their total weight."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Number of bytes in memory."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Encode it; equal statistics have equal bytes."""

    @classmethod
    @abstractmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Decode what `to_bytes` has encoded.

        Raises:
            ValueError, IndexError, struct.error: the bytes are no such statistic.
        """

    @classmethod
    def merged(cls, parts: Sequence[Any]) -> Sequence[Statistic]:
        """Return the same counts, of statistics of this class, in the form that answers are made from."""
        return parts

    def counts_rows(self, bits: int, *, valid: Callable[[NDArray[np.uint8]], NDArray[np.bool_]] | None) -> bool:  # noqa: ARG002
        """Decide whether it counts rows of so many bits, each at least once, that are reports.

        valid: decides which packed rows are reports, bool, shape (n,); None if all of them are.
        """
        return False

    def adds_up(self, counters: int, *, possible: Callable[..., bool]) -> bool:  # noqa: ARG002
        """Decide whether it has sums of so many counters, which its number of reports can have.

        possible: see `Randomizer.possible`.
        """
        return False


def merged(parts: Sequence[Statistic]) -> tuple[Statistic, ...]:
    """Return the same counts with all tables of rows added up, as the rows that occur in them."""
    by_class: dict[type[Statistic], list[Statistic]] = {}
    for part in parts:
        by_class.setdefault(type(part), []).append(part)
    return tuple(each for form, found in by_class.items() for each in form.merged(found))


@dataclass(frozen=True, kw_only=True, slots=True)
class StatisticLoad:
    """What one statistic of one pane and source partition takes.

    memory: bytes in memory.
    records: number of records on the partials topic that have it.
    sent: bytes that it takes in all of them, beside what each record takes; see `RECORD_BYTES`.
    """

    memory: int
    records: int
    sent: int


class Tally(Protocol):
    """A statistic that is counted as reports come."""

    def update(self, rows: NDArray[np.uint8]) -> None:
        """Count packed rows, uint8, shape (n, width)."""
        ...

    @property
    def whole(self) -> WholeTally | None:
        """Itself, if its statistic has one segment; None if it may have several."""
        ...

    def take_changed(self, *, closing: bool) -> Mapping[int, Statistic]:
        """Return the segments of the statistic that have changed since the last call and are worth sending.

        closing: whether this is the last call, which must leave out no report.
        """
        ...

    def restore(self, segments: Mapping[int, Statistic]) -> None:
        """Go on, without any report yet, from all segments that another tally has given; none of them counts as sent.

        Raises:
            ValueError: no tally of this form gives these segments.
        """
        ...

    def load(self, *, reports: int, flushes: int) -> StatisticLoad:
        """Return what the statistic takes in memory and, within a factor of two, on the log.

        reports, flushes: their numbers in the pane.
        """
        ...

    def fits(self, statistic: Statistic) -> bool:
        """Decide whether a statistic, of any number of reports below 2^63, can be one that this tally gives."""
        ...


class WholeTally(ABC):
    """A whole tally is sent as one statistic, or not at all.

    nbytes: bytes in memory of the statistic.
    """

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self._reports = 0
        self._sending = Sending(nbytes)

    @property
    def whole(self) -> Self:
        """See `Tally.whole`."""
        return self

    @abstractmethod
    def _statistic(self) -> Statistic:
        """Copy the statistic."""

    def is_due(self, *, closing: bool, more: int = 0) -> bool:
        """Decide whether anything has changed that is worth sending; see `Tally.take_changed`.

        more: reports that it has not counted yet.
        """
        return self._sending.is_due(self._reports + more, closing=closing)

    @property
    def waits(self) -> int:
        """How often it has not been sent, although it had changed, since it was sent."""
        return self._sending.waits

    def note_wait(self, *, more: int = 0) -> None:
        """Note that it has not been sent this time; see `is_due`."""
        self._sending.note_wait(self._reports + more)

    def take_whole(self) -> Statistic:
        """Return the statistic, and take it for sent."""
        self._sending.note_sent(self._reports)
        return self._statistic()

    def take_changed(self, *, closing: bool) -> Mapping[int, Statistic]:
        """See `Tally.take_changed`: the statistic is the only segment."""
        if self.is_due(closing=closing):
            return {0: self.take_whole()}
        self.note_wait()
        return {}
