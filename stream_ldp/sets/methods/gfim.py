"""GFIM: all users determine candidates, then two parts of the users narrow them down (Zhu, Yang and Bai, 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from stream_ldp.mechanisms import RESOLUTION, FrequencyOracle
from stream_ldp.sets.methods.combination import (
    Combine,
    combined_estimate,
    first_candidates,
    most_frequent,
    phase_estimate,
    selected,
)
from stream_ldp.sets.methods.cut_off import USUALLY_LARGER, Slots, doubt_of_compared
from stream_ldp.sets.methods.larger_sets import UNTOLD, doubted, share_of
from stream_ldp.sets.methods.oracle_choice import item_oracle
from stream_ldp.sets.methods.set_sizes import whole
from stream_ldp.sets.methods.spec import (
    DEFAULT_COMBINE,
    AskedSetSize,
    Combination,
    HashBits,
    MethodSpec,
    Whole,
    require,
)
from stream_ldp.sets.phases import Inquiry, Phase, RankingEstimate, Target


@dataclass(frozen=True, slots=True)
class BudgetSplit:
    """A split of epsilon: all users report to phase 1 with the first part, and to phase 2 or 3 with the rest."""

    first: float
    rest: float

    def phases(self, epsilon: float) -> tuple[Phase, ...]:
        """Make the phases of an epoch that costs a user exactly `epsilon`, so that such a budget allows it."""
        # If the first factor is at least a half, the difference is exact (Sterbenz, 1974).
        if self.first >= self.rest:
            first = epsilon * self.first
            rest = epsilon - first
        else:
            rest = epsilon * self.rest
            first = epsilon - rest
        half = RESOLUTION // 2
        return (
            Phase(number=1, asked=Target.ITEM, share=(0, RESOLUTION), epsilon=first),
            Phase(number=2, asked=Target.ITEM, share=(0, half), epsilon=rest),
            Phase(number=3, asked=Target.ITEM, share=(half, RESOLUTION), epsilon=rest),
        )


@dataclass(frozen=True, slots=True)
class UserSplit:
    """A split of the users: the first part of them reports to phase 1, each half of the rest to phase 2 or 3."""

    first: float
    rest: float

    def phases(self, epsilon: float) -> tuple[Phase, ...]:
        """Make the phases of an epoch; each costs all of `epsilon`."""
        start = round(RESOLUTION * self.first)
        middle = (start + RESOLUTION) // 2
        return (
            Phase(number=1, asked=Target.ITEM, share=(0, start), epsilon=epsilon),
            Phase(number=2, asked=Target.ITEM, share=(start, middle), epsilon=epsilon),
            Phase(number=3, asked=Target.ITEM, share=(middle, RESOLUTION), epsilon=epsilon),
        )


@dataclass(frozen=True, kw_only=True)
class GFIM:
    """GFIM, algorithm 1: phase 1 finds candidates C, phase 2 the best E of C, and phase 3 ranks E with other users.

    name: the kind.
    domain, k, k_max, finalists: number of items, heavy hitters and candidates, and |E|; k <= finalists <= k_max.
    epsilon: cost of an epoch to a user, nats.
    set_size: l, number of slots that a set is padded to in phase 1, and at most in others. None if unknown: phase 1
        then samples one item of a set of any size, and determines only the order of the candidates; later phases pad
        sets to all candidates.
    split: how phases 1 to 3 share epsilon or the users.
    combine: how the estimates of two phases are combined.
    hash_bits: t of the Hadamard responses, 1 for sampling SH; None for the oracle of minimum variance.
    """

    name: str
    domain: int
    k: int
    k_max: int
    finalists: int
    epsilon: float
    set_size: int | None
    split: BudgetSplit | UserSplit
    combine: Combine
    hash_bits: int | None

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The three phases: of all users, then each half; or of the first part, then each half of the others."""
        return self.split.phases(self.epsilon)

    @property
    def memoising(self) -> None:
        """None: every report is made afresh."""

    def first(self) -> Inquiry:
        """Return the inquiry about any item of the domain."""
        return Inquiry(phase=1, candidates=None, padding=self.set_size or 1)

    def oracle(self, inquiry: Inquiry) -> FrequencyOracle:
        """Return the oracle of sampling SH, or one of less variance."""
        return item_oracle(
            self.domain if inquiry.candidates is None else len(inquiry.candidates),
            padding=inquiry.padding,
            epsilon=self.phases[inquiry.phase - 1].epsilon,
            hash_bits=self.hash_bits,
        )

    def solve(
        self, inquiry: Inquiry, *, sums: NDArray[np.int64], reports: int, before: RankingEstimate | None
    ) -> tuple[RankingEstimate, Inquiry | None]:
        """Solve as `Method.solve` says; the estimate holds C after phase 1, and E from phase 2."""
        oracle = self.oracle(inquiry)
        now = phase_estimate(inquiry, oracle, sums, reports=reports)
        if before is None:
            chosen = first_candidates(now, self.k_max, set_size=self.set_size, combine=self.combine)
            return self._narrowed(now, chosen, phase=2, doubt=USUALLY_LARGER)
        # Without reports, nothing more is known than that a phase has lost as much as is usual.
        doubt, larger = np.full(len(before.items), UNTOLD), inquiry.doubt
        if reports:
            before, doubt, larger = self._combined(before, now, inquiry)
        if inquiry.phase == 3:
            shown = partial(oracle.shown, padding=inquiry.padding)
            found = (
                doubted(before, doubt)
                if inquiry.sizes is None
                else whole(before, inquiry.sizes, domain=self.domain, shown=shown)
            )
            return most_frequent(found, self.finalists), None
        return self._narrowed(before, most_frequent(before, self.finalists), phase=3, doubt=larger)

    def _combined(
        self, before: RankingEstimate, now: RankingEstimate, inquiry: Inquiry
    ) -> tuple[RankingEstimate, NDArray[np.float64], float]:
        """Return the estimate after a later phase, the doubt about what larger sets have cost it, and their share."""
        none = np.zeros(len(now.items)), 0.0
        if self.set_size is None and inquiry.phase == 2:
            return now, *none
        before = selected(before, now.items)
        both = combined_estimate(before, now, combine=self.combine, set_size=self.set_size or inquiry.padding)
        if inquiry.padding >= len(now.items) or inquiry.sizes is not None:
            return both, *none
        return both, *doubt_of_compared(
            before,
            now,
            earlier=self._slots_of(self.domain if inquiry.phase == 2 else self.k_max, phase=inquiry.phase - 1),
            later=self._slots_of(len(now.items), phase=inquiry.phase),
            share=inquiry.share,
            larger=inquiry.doubt,
        )

    def _slots_of(self, items: int, *, phase: int) -> Slots:
        padding = self._slots(items)
        oracle = item_oracle(items, padding=padding, epsilon=self.phases[phase - 1].epsilon, hash_bits=self.hash_bits)
        return Slots(items=items, padding=padding, oracle=oracle)

    def _narrowed(
        self, every: RankingEstimate, chosen: RankingEstimate, *, phase: int, doubt: float
    ) -> tuple[RankingEstimate, Inquiry]:
        """Return the items chosen of all that an estimate is about, and the inquiry about them."""
        # The next phase is solved with the published ranking, which does not separate doubt from noise.
        return replace(chosen, unseen=None), Inquiry(
            phase=phase,
            candidates=chosen.items,
            padding=self._slots(len(chosen.items)),
            doubt=doubt,
            share=share_of(chosen, every),
        )

    def _slots(self, items: int) -> int:
        """Return the number of slots for so many items: a set of at most l items has at most l of them."""
        return min(self.set_size or items, items)


def _two_parts(split: tuple[float, ...] | None) -> tuple[float, ...] | None:
    right = split is None or (len(split) == 2 and min(split) > 0.0 and math.isclose(sum(split), 1.0))
    require(right, f"split is {split}; two positive parts that sum to 1, such as (0.6, 0.4)")
    return split


class GfimSpec(MethodSpec):
    """The options of GFIM."""

    kind: Literal["gfim", "gfim-users"]
    set_size: AskedSetSize | None = None
    split: Annotated[tuple[float, ...] | None, AfterValidator(_two_parts)] = Field(
        default=None,
        description="parts of phase 1 and of what comes after, of epsilon (gfim) or of the users (gfim-users); "
        "0.6 and 0.4 by default",
    )
    finalists: Whole | None = Field(
        default=None,
        description="number of candidates that phase 2 keeps, |E|; by default 2 k, or k_max if that is less",
    )
    combine: Combination = None
    hash_bits: HashBits = None

    def _method(self, *, domain: int, k_max: int) -> GFIM:
        finalists = min(2 * self.k, k_max) if self.finalists is None else self.finalists
        right = self.k <= finalists <= k_max
        require(right, f"finalists is {finalists}; from k, {self.k}, to k_max, {k_max}", "finalists")
        return GFIM(
            name=self.kind,
            domain=domain,
            k=self.k,
            k_max=k_max,
            finalists=finalists,
            epsilon=self.epsilon,
            set_size=self.known_size,
            split=_SPLITS[self.kind](*(self.split or (0.6, 0.4))),
            combine=self.combine or DEFAULT_COMBINE,
            hash_bits=self.hash_bits,
        )


#: The class of the split of each kind.
_SPLITS: dict[str, type[BudgetSplit | UserSplit]] = {"gfim": BudgetSplit, "gfim-users": UserSplit}
