"""The phases of a heavy-hitter method as data: who is asked, what, at what price, and what is known after each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import numpy as np

from stream_ldp.mechanisms import RESOLUTION

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import FrequencyOracle

__all__ = ["Asked", "Inquiry", "Method", "Phase", "Standing", "epoch_epsilon", "phase_name"]


class Asked(StrEnum):
    """What a phase asks of a user."""

    ITEM = "item"
    """One item of the padded set, drawn at random."""
    COUNT = "count"
    """How many of the candidates the set holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """One phase of every epoch.

    number: 1 for the first.
    asked: what of a user's set.
    share: users are asked whose group word is in [share[0], share[1]) of 0 to 2^32. The word is drawn by the user, at
        random and whatever the set holds, once an epoch, so that phases with disjoint shares ask different users.
    epsilon: what an answer may cost at most, in nats.
    """

    number: int
    asked: Asked
    share: tuple[int, int]
    epsilon: float

    def asks(self, words: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Whether the users with these group words are asked."""
        low, high = self.share
        return (words >= low) & (words.astype(np.uint64) < high)

    @property
    def part(self) -> float:
        """Expected part of the users that is asked."""
        low, high = self.share
        return (high - low) / RESOLUTION


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Inquiry:
    """What one phase of one epoch asks.

    phase: its number.
    candidates: the items asked about, int64, shape (c,), best first; None for the whole domain.
    padding: l, number of slots that a set is padded to with dummies before one is drawn.
    correction: factor that makes up for sets with more than `padding` candidates (Wang, Li and Jha, 2018, section
        V-D); 1 where none is estimated.
    """

    phase: int
    candidates: NDArray[np.int64] | None
    padding: int
    correction: float = 1.0


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Standing:
    """What is known after a phase, of the items that are still candidates, best first.

    items: int64, shape (c,).
    frequency: estimated part of the users who hold each, float64, shape (c,); not held to [0, 1], so that noise
        averages out. Sets that are larger than a phase has slots for make it too low.
    standard_error: of each frequency, float64, shape (c,).
    """

    items: NDArray[np.int64]
    frequency: NDArray[np.float64]
    standard_error: NDArray[np.float64]


class Method(Protocol):
    """A heavy-hitter method over items 0 to domain - 1."""

    @property
    def name(self) -> str:
        """As collections and `evaluate` call it."""
        ...

    @property
    def domain(self) -> int:
        """Number of items."""
        ...

    @property
    def k(self) -> int:
        """Number of heavy hitters that are wanted."""
        ...

    @property
    def phases(self) -> tuple[Phase, ...]:
        """In order."""
        ...

    def first(self) -> Inquiry:
        """What phase 1 asks."""
        ...

    def oracle(self, inquiry: Inquiry) -> FrequencyOracle:
        """How the answers of an inquiry are perturbed and counted."""
        ...

    def solve(
        self, inquiry: Inquiry, *, sums: NDArray[np.int64], reports: int, before: Standing | None
    ) -> tuple[Standing, Inquiry | None]:
        """What is known after a phase, and what the next one asks; None after the last.

        sums: of the answers, as the inquiry's oracle counts them.
        reports: number of answers; with none, what was known before still stands.
        before: what was known before; None in phase 1.
        """
        ...


def phase_name(number: int) -> str:
    """What a phase is called in answers, statistics and keys."""
    return f"phase-{number}"


def epoch_epsilon(method: Method) -> float:
    """What an epoch costs a user at most, in nats: that of the answers to all phases which ask the same users.

    The answers are independent, given the set, so their losses add up (Dwork and Roth, 2014, theorem 3.14); phases
    that ask different users cost nobody the sum, since a user's group does not depend on the set.
    """
    starts = {phase.share[0] for phase in method.phases}
    return max(
        math.fsum(phase.epsilon for phase in method.phases if phase.share[0] <= start < phase.share[1])
        for start in starts
    )
