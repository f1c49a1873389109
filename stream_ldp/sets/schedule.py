"""When each phase of each epoch is asked: one phase a window, on event time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Epochs", "Schedule"]


class Epochs(StrEnum):
    """How epochs follow each other."""

    SEQUENTIAL = "sequential"
    """An epoch begins when the one before has ended: a result comes with every last phase."""
    PIPELINED = "pipelined"
    """An epoch begins with every window, and all phases are asked in every window: a result comes out of each."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """Windows of equal size, aligned to 1970-01-01 UTC, and who is asked what in each.

    size_ms: of a window, in milliseconds.
    phases: of an epoch.
    epochs: how epochs follow each other.
    """

    size_ms: int
    phases: int
    epochs: Epochs

    @property
    def stride(self) -> int:
        """Windows from the beginning of one epoch to that of the next."""
        return self.phases if self.epochs is Epochs.SEQUENTIAL else 1

    def window_of(self, epoch: int, phase: int) -> int:
        """Start of the window in which a phase of an epoch is asked, in milliseconds."""
        return (epoch * self.stride + phase - 1) * self.size_ms

    def epoch_at(self, window_ms: int, phase: int) -> int | None:
        """The epoch whose phase is asked in the window that begins at `window_ms`; None if none's is."""
        epoch, rest = divmod(window_ms // self.size_ms - (phase - 1), self.stride)
        return epoch if rest == 0 else None
