"""The phases of a collection of item sets: one series of answers each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from stream_ldp.sets.phases import phase_name

if TYPE_CHECKING:
    from stream_ldp.collection import Window
    from stream_ldp.pipeline.answer import WindowBounds


class RoundAnswer(Protocol):
    """An answer from which a further round may follow, as a ranking.

    epoch, window: that it answers.
    next_fingerprint: fingerprint of that round; None if none follows.
    """

    @property
    def epoch(self) -> int: ...

    @property
    def window(self) -> WindowBounds: ...

    @property
    def next_fingerprint(self) -> bytes | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseSeries:
    """The series of the answers to one phase, a `stream_ldp.collection.Series`.

    number: number of the phase, 1 for the first.
    item_phases: number of phases of an epoch that ask about single items; those about itemsets come after them.
    size_ms: size of a window, in milliseconds.
    stride: number of windows from the beginning of one epoch to that of the next.
    every_ms: time between two provisional rankings of an open window, in milliseconds.
    name: that of the phase.
    """

    number: int
    item_phases: int
    size_ms: int
    stride: int
    every_ms: int
    name: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Once: a merge asks for it at every turn.
        object.__setattr__(self, "name", phase_name(self.number))

    @property
    def of(self) -> tuple[str, ...]:
        """Name of the statistic of phase 1; the name of a later phase's statistic begins with it."""
        return (self.name,)

    def statistic(self, before: RoundAnswer | None) -> tuple[str, ...] | None:
        """Name the statistic of the reports to the round that follows from the epoch's own final answer.

        None without such a round, or if the answer is to a window that the phase before has no more, since a window
        had another length then. Anybody who can write to the rounds topic can publish another round of the same
        phase; reports to it are counted under another name, which no question uses.
        """
        if self.number == 1:
            return self.of
        if before is None or before.next_fingerprint is None:
            return None
        if before.window.start_ms != (before.epoch * self.stride + self.number - 2) * self.size_ms:
            return None
        return round_statistic(self, before.next_fingerprint)

    def period_ms(self, window: Window) -> int | None:  # noqa: ARG002
        """Return the time from one epoch to the next; a later phase is asked if the one before has had an answer."""
        return self.stride * self.size_ms if self.number == 1 else None

    def follows(self, window_ms: int) -> tuple[str, int | None]:
        """Name the answer before: that of the same epoch's phase before, a window earlier.

        The first phase follows the latest ranking of items that is an epoch's result, from which nothing is taken but
        what it has left.
        """
        if self.number == 1:
            return phase_name(self.item_phases), None
        return phase_name(self.number - 1), window_ms - self.size_ms


def round_statistic(series: PhaseSeries, fingerprint: bytes) -> tuple[str, ...]:
    """Name the statistic of the reports to one round of a phase, given by its fingerprint."""
    return (*series.of, fingerprint.hex())
