"""The phases of a collection of item sets, each of them answered in the windows that ask it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from stream_ldp.sets.phases import phase_name

__all__ = ["PhaseSeries", "asked"]


class Asking(Protocol):
    """An answer that may ask something next, as a ranking does."""

    @property
    def next_fingerprint(self) -> bytes | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseSeries:
    """The windows of one phase, a `stream_ldp.collection.Series`."""

    number: int
    size_ms: int
    every_ms: int

    @property
    def name(self) -> str:
        """Of the phase."""
        return phase_name(self.number)

    @property
    def of(self) -> tuple[str, ...]:
        """Names the statistic of phase 1; that of a later one is named by what was asked besides."""
        return (self.name,)

    def statistic(self, before: Asking | None) -> tuple[str, ...] | None:
        """That of the reports which answer what the epoch's own final has asked.

        Whoever can write a round can ask the clients something else in the same phase. Their reports are counted
        under another name, and are never looked at.
        """
        if self.number == 1:
            return self.of
        if before is None or before.next_fingerprint is None:
            return None
        return asked(self, before.next_fingerprint)

    def follows(self, window_ms: int) -> tuple[str, int | None]:
        """The same epoch's phase before, a window earlier."""
        return phase_name(self.number - 1), window_ms - self.size_ms


def asked(series: PhaseSeries, fingerprint: bytes) -> tuple[str, ...]:
    """Names the statistic of the reports that answer one round of a phase, by the round's fingerprint."""
    return (*series.of, fingerprint.hex())
