"""The schedule of the phases of epochs, which takes one window of event time for each phase."""

from dataclasses import dataclass
from enum import StrEnum


class Epochs(StrEnum):
    """The order in which epochs follow each other."""

    SEQUENTIAL = "sequential"
    """An epoch begins when the one before has ended: every window with a last phase gives a result."""
    PIPELINED = "pipelined"
    """An epoch begins with every window; every window asks all phases, of different epochs, and gives a result."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """Windows of equal size, aligned to 1970-01-01 UTC, and the phases that each of them asks.

    size_ms: size of a window, in milliseconds.
    phases: number of phases of an epoch.
    epochs: how epochs follow each other.
    """

    size_ms: int
    phases: int
    epochs: Epochs

    @property
    def stride(self) -> int:
        """Number of windows from the beginning of one epoch to that of the next."""
        return self.phases if self.epochs is Epochs.SEQUENTIAL else 1

    def window_of(self, epoch: int, phase: int) -> int:
        """Return the start, in milliseconds, of the window that asks a phase of an epoch."""
        return (epoch * self.stride + phase - 1) * self.size_ms

    def epoch_at(self, window_ms: int, phase: int) -> int | None:
        """Return the epoch whose `phase` the window at `window_ms` asks; None if no epoch asks it there."""
        epoch, rest = divmod(window_ms // self.size_ms - (phase - 1), self.stride)
        return epoch if rest == 0 else None
