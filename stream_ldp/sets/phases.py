"""The phases of a heavy-hitter method as data: who is asked, what, at what price, and what is known after each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import numpy as np

from stream_ldp.collection import fingerprint_of
from stream_ldp.mechanisms import RESOLUTION

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import FrequencyOracle

__all__ = [
    "MAX_CANDIDATES",
    "Inquiry",
    "Method",
    "Phase",
    "RankingEstimate",
    "Target",
    "epoch_epsilon",
    "phase_name",
]

#: Candidates: a published ranking of so many has 6 MB, and a unary response takes no more.
MAX_CANDIDATES = 2**16


class Target(StrEnum):
    """What a phase wants to know of a user's set."""

    ITEM = "item"
    """Which items it holds: one item of the padded set, drawn at random, or all of it in one response."""
    COUNT = "count"
    """How many of the candidates it holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """One phase of every epoch.

    number: 1 for the first.
    asked: what it wants to know of a user's set.
    share: users are asked whose partition word is in [share[0], share[1]) of 0 to 2^32. The word is drawn by the
        user, at random and whatever the set holds, once an epoch, so that phases with disjoint shares ask different
        users.
    epsilon: what a report may cost at most, in nats.
    """

    number: int
    asked: Target
    share: tuple[int, int]
    epsilon: float

    def asks(self, words: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Whether the users with these partition words are asked, bool, of the words' shape."""
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

    def fingerprint(self, collection_fingerprint: str, *, epoch: int) -> bytes:
        """The 16 bytes that the batches of its reports carry in an epoch.

        Those of the collection in the first phase; later the fingerprint of [collection's fingerprint, epoch, phase,
        candidates, padding], so that reports to different inquiries are never counted
        together.

        collection_fingerprint: hexadecimal.
        """
        if self.phase == 1:
            return bytes.fromhex(collection_fingerprint)
        candidates = [] if self.candidates is None else self.candidates.tolist()
        return fingerprint_of([collection_fingerprint, epoch, self.phase, candidates, self.padding])


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class RankingEstimate:
    """The estimate of a ranking after a phase: the items that are still candidates, best first.

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
        """The kind, as collections and `evaluate` call it."""
        ...

    @property
    def domain(self) -> int:
        """The number of items."""
        ...

    @property
    def k(self) -> int:
        """The number of heavy hitters that are wanted."""
        ...

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The phases of an epoch, in order."""
        ...

    def first(self) -> Inquiry:
        """What phase 1 asks."""
        ...

    def oracle(self, inquiry: Inquiry) -> FrequencyOracle:
        """The oracle that perturbs and counts the reports to an inquiry."""
        ...

    def solve(
        self, inquiry: Inquiry, *, sums: NDArray[np.int64], reports: int, before: RankingEstimate | None
    ) -> tuple[RankingEstimate, Inquiry | None]:
        """The estimate after a phase, and what the next one asks; None after the last.

        sums: of the reports, as the inquiry's oracle counts them.
        reports: number of reports; with none, the estimate from before still stands.
        before: the estimate after the phase before; None in phase 1.
        """
        ...


def phase_name(number: int) -> str:
    """What a phase is called in answers, statistics and keys."""
    return f"phase-{number}"


def epoch_epsilon(method: Method) -> float:
    """What an epoch costs a user at most, in nats: that of the reports to all phases which ask the same users.

    The reports are independent, given the set, so their losses add up (Dwork and Roth, 2014, theorem 3.14); phases
    that ask different users cost nobody the sum, since who is asked does not depend on the set.
    """
    starts = {phase.share[0] for phase in method.phases}
    return max(
        math.fsum(phase.epsilon for phase in method.phases if phase.share[0] <= start < phase.share[1])
        for start in starts
    )
