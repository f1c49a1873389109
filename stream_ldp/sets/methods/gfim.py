"""GFIM: candidates from everybody, then two groups of users narrow them down (Zhu, Yang and Bai, 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from stream_ldp.mechanisms import RESOLUTION
from stream_ldp.sets.methods.combination import Combine, best, combined, observed
from stream_ldp.sets.methods.oracle_choice import item_oracle
from stream_ldp.sets.phases import Asked, Inquiry, Phase

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import FrequencyOracle
    from stream_ldp.sets.phases import Standing

__all__ = ["GFIM"]


@dataclass(frozen=True, kw_only=True, slots=True)
class GFIM:
    """Algorithm 1: phase 1 asks for candidates C, phase 2 one group of users for the best E of C, phase 3 the other.

    name: "gfim": everybody answers phase 1 with one part of epsilon, and phase 2 or 3 with the rest. "gfim-users":
        the users are parted instead, and each answers one phase with all of epsilon.
    domain, k, k_max, finalists: number of items, heavy hitters and candidates, and |E|; k <= finalists <= k_max.
    epsilon: of a user for an epoch, nats.
    set_size: l, number of slots that a set is padded to in phase 1.
    split: (part of phase 1, part of phases 2 and 3 together), of epsilon or of the users; 1 in sum.
    hash_bits: t of the Hadamard responses, 1 for sampling SH; None for the oracle of least variance.
    """

    name: Literal["gfim", "gfim-users"]
    domain: int
    k: int
    k_max: int
    finalists: int
    epsilon: float
    set_size: int
    split: tuple[float, float]
    combine: Combine
    hash_bits: int | None

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Three: all users or the first part of them, then each half of all, or of the others."""
        if self.name == "gfim":
            spent, start = self._spent, 0
            first = (0, RESOLUTION)
        else:
            spent, start = (self.epsilon, self.epsilon), round(RESOLUTION * self.split[0])
            first = (0, start)
        middle = (start + RESOLUTION) // 2
        return (
            Phase(number=1, asked=Asked.ITEM, share=first, epsilon=spent[0]),
            Phase(number=2, asked=Asked.ITEM, share=(start, middle), epsilon=spent[1]),
            Phase(number=3, asked=Asked.ITEM, share=(middle, RESOLUTION), epsilon=spent[1]),
        )

    @property
    def _spent(self) -> tuple[float, float]:
        """Epsilon of phase 1, and of 2 and 3, exactly epsilon in sum: it would exceed a budget that pays for it."""
        # The remainder of at least a half is exact (Sterbenz, 1974).
        if self.split[0] >= self.split[1]:
            first = self.epsilon * self.split[0]
            return first, self.epsilon - first
        second = self.epsilon * self.split[1]
        return self.epsilon - second, second

    def first(self) -> Inquiry:
        """Any item of the domain."""
        return Inquiry(phase=1, candidates=None, padding=self.set_size)

    def oracle(self, inquiry: Inquiry) -> FrequencyOracle:
        """Sampling SH, or what has less variance."""
        return item_oracle(
            self.domain if inquiry.candidates is None else len(inquiry.candidates),
            padding=inquiry.padding,
            epsilon=self.phases[inquiry.phase - 1].epsilon,
            hash_bits=self.hash_bits,
        )

    def solve(
        self, inquiry: Inquiry, *, sums: NDArray[np.int64], reports: int, before: Standing | None
    ) -> tuple[Standing, Inquiry | None]:
        """As `Method.solve`; the standing holds C after phase 1, and E from phase 2."""
        now = observed(inquiry, self.oracle(inquiry), sums, reports=reports)
        if before is None:
            standing = now
        elif reports:
            chosen_from = self.domain if inquiry.phase == 2 else self.k_max
            standing = combined(before, now, combine=self.combine, set_size=self.set_size, chosen_from=chosen_from)
        else:
            standing = before
        standing = best(standing, self.k_max if inquiry.phase == 1 else self.finalists)
        if inquiry.phase == 3:
            return standing, None
        # A set of at most l items shares no more with the candidates.
        padding = min(self.set_size, len(standing.items))
        return standing, Inquiry(phase=inquiry.phase + 1, candidates=standing.items, padding=padding)
