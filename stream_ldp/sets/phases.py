"""The phases of a heavy-hitter method: which users are asked, for what, at which epsilon, and with which result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from pydantic import Field

from stream_ldp.collection import fingerprint_of
from stream_ldp.mechanisms import RESOLUTION
from stream_ldp.mechanisms.privacy_loss import round_up
from stream_ldp.message_part import Finite, MessagePart

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import FrequencyOracle, LolohaResponse
    from stream_ldp.mechanisms.loloha import SignCost

#: Most candidates: a published ranking of so many has 6 MB, and a unary response cannot have more bits.
MAX_CANDIDATES = 2**16


class Target(StrEnum):
    """The property of a user's set that a phase asks for."""

    ITEM = "item"
    """The items of the set, or the itemsets in it: one of the padded set, drawn at random, or all in one response."""
    COUNT = "count"
    """The number of candidates in the set."""
    SIZE = "size"
    """The class of the number of items of the set: see `stream_ldp.sets.item_sets`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """One phase of every epoch.

    number: 1 for the first.
    asked: the property of a user's set that it asks for.
    share: the users are asked whose partition word, in [0, 2^32), is in [share[0], share[1]). Users draw the word
        once an epoch, at random and independently of their sets, so phases with disjoint shares ask different users.
    epsilon: the most that a report may cost, in nats.
    memoised: cost of reports that show a permanent response of the user's; None where each is made afresh.
    sizes: numbers of items of the itemsets that it asks about, ascending; empty where it asks about single items.
    """

    number: int
    asked: Target
    share: tuple[int, int]
    epsilon: float
    memoised: SignCost | None = None
    sizes: tuple[int, ...] = ()

    def asks(self, words: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Decide which users, given by their partition words, are asked; bool, of the words' shape."""
        low, high = self.share
        return (words >= low) & (words.astype(np.uint64) < high)

    @property
    def part(self) -> float:
        """Expected share of the users who are asked."""
        low, high = self.share
        return (high - low) / RESOLUTION


class FoundSizes(MessagePart):
    """The share of the users whose sets are of each class of sizes, as later phases need it."""

    share: tuple[Finite, ...] = Field(description="not held to [0, 1], so that noise averages out")
    standard_error: Finite = Field(ge=0, description="of a share that is 0")


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Inquiry:
    """The request of one phase of one epoch to its users.

    phase: number of the phase.
    candidates: the items asked about, int64, shape (c,), in the order in which reports number them; None for the
        whole domain. Of itemsets, shape (c, s): the items of each, ascending, with -1 after those of fewer than s.
    padding: l, number of slots that a set is padded to with dummies before one is drawn.
    correction: factor that corrects for sets with more than `padding` candidates (Wang, Li and Jha, 2018, section
        V-D); 1 if none is estimated.
    doubt: where a phase has counted candidates, the standard deviation of what sets with more of them than `padding`
        may cost a frequency, beyond the correction, as a share of it. Otherwise the scale of the share of the users
        whose sets are larger than the padding of the phase before.
    share: the candidates' part of all items that the estimate before is about, by their frequencies.
    sizes: those that users have reported to an earlier phase; None if none has asked for them, or nobody answered.
    missing: whether the candidates that a set lacks are asked for, in place of those that it holds: of items that
        nearly all sets hold, few slots are enough.
    """

    phase: int
    candidates: NDArray[np.int64] | None
    padding: int
    correction: float = 1.0
    doubt: float = 0.0
    share: float = 1.0
    sizes: FoundSizes | None = None
    missing: bool = False

    @property
    def canonical(self) -> Inquiry:
        """The same inquiry with candidates in ascending order, the only one that clients take; see `Round.check`."""
        if self.candidates is None:
            return self
        keys = self.candidates.reshape(len(self.candidates), -1).T[::-1]
        return replace(self, candidates=self.candidates[np.lexsort(keys)])

    @property
    def listed(self) -> tuple[int, ...] | tuple[tuple[int, ...], ...] | None:
        """The candidates as plain data: numbers of items, or those of each itemset; None for the whole domain."""
        if self.candidates is None:
            return None
        return tuple(self.candidates.tolist()) if self.candidates.ndim == 1 else itemsets_of(self.candidates)

    def fingerprint(self, collection_fingerprint: str, *, epoch: int) -> bytes:
        """Compute the fingerprint of the batches that report to it in an epoch, 16 bytes.

        In the first phase it is that of the collection; in later ones that of [collection's fingerprint, epoch,
        phase, candidates, padding], and of true where candidates are asked for that sets lack, so that reports to
        different inquiries are never counted together.

        collection_fingerprint: hexadecimal.
        """
        if self.phase == 1:
            return bytes.fromhex(collection_fingerprint)
        lacks = [True] if self.missing else []
        return fingerprint_of([collection_fingerprint, epoch, self.phase, self.listed, self.padding, *lacks])


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class RankingEstimate:
    """The estimate of a ranking after a phase: the items that are still candidates, best first.

    items: int64, shape (c,); of itemsets, shape (c, s), as the candidates of an `Inquiry`.
    frequency: estimated share of the users who hold each, float64, shape (c,); not clipped to [0, 1], so that noise
        averages out. Sets that are larger than the padding of a phase make it too low.
    standard_error: standard error of each frequency, float64, shape (c,).
    noise: standard error of an item that nobody holds, whose frequency cannot be too low, shape (c,); None if it is
        the same.
    unseen: the part of the standard error that is a doubt about larger sets, which is the same in every epoch, shape
        (c,); None if there is none.
    drawn: whether each frequency is that of the item among items drawn one from each set, of any size: only the order
        has a meaning.
    """

    items: NDArray[np.int64]
    frequency: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    noise: NDArray[np.float64] | None = None
    unseen: NDArray[np.float64] | None = None
    drawn: bool = False

    @classmethod
    def of_none(cls) -> Self:
        """Return the estimate where nothing is known of any item."""
        return cls(items=np.zeros(0, dtype=np.int64), frequency=np.zeros(0), standard_error=np.zeros(0))


class Method(Protocol):
    """A heavy-hitter method over items 0 to domain - 1."""

    @property
    def name(self) -> str:
        """The kind, as it is named in collections and by `evaluate`."""
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

    @property
    def memoising(self) -> LolohaResponse | None:
        """The oracle of phase 1, where its reports show a permanent response; None where each is made afresh."""
        ...

    def first(self) -> Inquiry:
        """Return the inquiry of phase 1."""
        ...

    def oracle(self, inquiry: Inquiry) -> FrequencyOracle:
        """Return the oracle that perturbs and counts the reports to an inquiry."""
        ...

    def solve(
        self, inquiry: Inquiry, *, sums: NDArray[np.int64], reports: int, before: RankingEstimate | None
    ) -> tuple[RankingEstimate, Inquiry | None]:
        """Compute the estimate after a phase, and the inquiry of the next one; None after the last.

        sums: sums of the reports, as the inquiry's oracle counts them.
        reports: number of reports; without any, the estimate stays as it was before.
        before: the estimate after the phase before; None in phase 1.
        """
        ...


def candidates_of(listed: Sequence[int] | Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Return the candidates of an `Inquiry` from plain data, as `Inquiry.listed` has them."""
    if not any(isinstance(each, Sequence) for each in listed):
        return np.array(listed, dtype=np.int64)
    rows = [tuple(each) if isinstance(each, Sequence) else (each,) for each in listed]
    largest = max(map(len, rows))
    return np.array([(*row, *[-1] * (largest - len(row))) for row in rows], dtype=np.int64)


def itemsets_of(rows: NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
    """Return itemsets as plain data; `rows` are as the candidates of an `Inquiry`, shape (c, s)."""
    return tuple(tuple(item for item in row if item >= 0) for row in rows.tolist())


def item_phases(method: Method) -> int:
    """Return the number of phases that ask about single items; the last gives their ranking."""
    return sum(not phase.sizes for phase in method.phases)


def whole_phases(method: Method) -> int:
    """Return the number of phases that ask about whole sets: the first, and the one after a first about sizes."""
    return 2 if method.phases[0].asked is Target.SIZE else 1


def may_ask_for_missing(method: Method, number: int) -> bool:
    """Decide whether a phase may ask for what sets lack: one that follows a count of what they hold."""
    return number > 1 and method.phases[number - 2].asked is Target.COUNT


def phase_name(number: int) -> str:
    """Return the name of a phase in answers, statistics and keys."""
    return f"phase-{number}"


def epoch_epsilon(method: Method) -> float:
    """Compute the most that an epoch costs a user, in nats: the sum over the phases that ask the same users.

    The reports are independent, given the set, so their losses add up (Dwork and Roth, 2014, theorem 3.14). Phases
    with disjoint shares do not add up for anybody, since the choice of users does not depend on the set.
    """
    return most_spent(method.phases)


def epochs_epsilon(method: Method, *, epochs: float) -> float:
    """Compute the most that so many epochs cost a user whose set does not change, in nats; never rounded down.

    epochs: at least 1; math.inf for all, which costs math.inf unless reports show permanent responses.
    """
    memoised = [
        replace(phase, epsilon=phase.memoised.loss(reports=epochs)) for phase in method.phases if phase.memoised
    ]
    if len(memoised) == len(method.phases):
        return most_spent(memoised)
    return math.inf if epochs == math.inf else round_up(Fraction(epochs) * Fraction(epoch_epsilon(method)))


def most_spent(phases: Sequence[Phase]) -> float:
    """Compute the most that phases cost a user: the largest sum of the epsilons of those that ask the same users."""
    starts = {phase.share[0] for phase in phases}
    return max(
        math.fsum(phase.epsilon for phase in phases if phase.share[0] <= start < phase.share[1]) for start in starts
    )
