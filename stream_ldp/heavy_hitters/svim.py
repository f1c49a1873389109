"""SVIM: candidates, how many of them a set holds, and their frequencies, each from other users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.heavy_hitters.adaptive import adaptive_oracle
from stream_ldp.heavy_hitters.combination import best, observed, unknown
from stream_ldp.heavy_hitters.phases import Asked, Inquiry, Phase
from stream_ldp.mechanisms import RESOLUTION, HadamardResponse, frequencies

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.heavy_hitters.phases import Standing
    from stream_ldp.mechanisms import FrequencyOracle

__all__ = ["SVIM"]

#: Parts of the users whom the three phases ask (section V-A).
_PARTS = (0.4, 0.1, 0.5)
#: Part of the sets that the padding of phase 3 leaves whole (section V-C).
_WHOLE = 0.9


@dataclass(frozen=True, kw_only=True, slots=True)
class SVIM:
    """Set-value item mining (Wang, Li and Jha, 2018, section V): each user answers one question with all of epsilon.

    domain, k, k_max: number of items, heavy hitters and candidates; k <= k_max <= domain.
    epsilon: of a user for an epoch, nats.
    hash_bits: t of the Hadamard responses; None for the oracle of least variance.
    """

    domain: int
    k: int
    k_max: int
    epsilon: float
    hash_bits: int | None

    @property
    def name(self) -> str:
        """svim."""
        return "svim"

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Three, of disjoint groups of 40, 10 and 50 % of the users."""
        ends = (0, *(round(RESOLUTION * end) for end in np.cumsum(_PARTS)))
        return tuple(
            Phase(number=number, asked=asked, share=(ends[number - 1], ends[number]), epsilon=self.epsilon)
            for number, asked in enumerate((Asked.ITEM, Asked.COUNT, Asked.ITEM), start=1)
        )

    def first(self) -> Inquiry:
        """Any item of the domain, and no dummy unless the set is empty: an order is wanted, not frequencies."""
        return Inquiry(phase=1, candidates=None, padding=1)

    def oracle(self, inquiry: Inquiry) -> FrequencyOracle:
        """Of least variance; a count is one of 0 to c."""
        if inquiry.candidates is None:
            size, dummies = self.domain, inquiry.padding
        elif self.phases[inquiry.phase - 1].asked is Asked.COUNT:
            size, dummies = len(inquiry.candidates) + 1, 0
        else:
            size, dummies = len(inquiry.candidates), inquiry.padding
        if self.hash_bits is None:
            return adaptive_oracle(size, dummies=dummies, epsilon=self.epsilon)
        return HadamardResponse(size=size, epsilon=self.epsilon, hash_bits=self.hash_bits)

    def solve(
        self, inquiry: Inquiry, *, sums: NDArray[np.int64], reports: int, before: Standing | None
    ) -> tuple[Standing, Inquiry | None]:
        """As `Method.solve`; the standing holds the candidates.

        Frequencies after phases 1 and 2 are only in order: parts of the users who would name the item if each names
        one, so below the parts who hold it.
        """
        oracle = self.oracle(inquiry)
        if inquiry.candidates is None:
            items = np.arange(self.domain)
            seen = observed(oracle, sums, reports=reports, items=items, scale=1.0) if reports else unknown(items)
            standing = best(seen, self.k_max)
            return standing, Inquiry(phase=2, candidates=standing.items, padding=1)
        if before is None:
            raise ValueError(f"phase {inquiry.phase} needs what was known before it")
        if inquiry.phase == 2:
            padding, correction = len(inquiry.candidates), 1.0
            if reports:
                padding, correction = _lengths(frequencies(oracle, sums, reports=reports))
            return before, Inquiry(phase=3, candidates=inquiry.candidates, padding=padding, correction=correction)
        if not reports:
            return before, None
        scale = inquiry.padding * inquiry.correction
        now = observed(oracle, sums, reports=reports, items=inquiry.candidates, scale=scale)
        return best(now, self.k_max), None


def _lengths(estimate: NDArray[np.float64]) -> tuple[int, float]:
    """The padding L of phase 3 and its correction u(L) (Wang, Li and Jha, 2018, section V-C and V-D).

    estimate: part of the users who hold 0, 1, ... candidates, shape (c + 1,).
    """
    part = _on_the_simplex(estimate)
    counts = np.arange(len(part))
    holders = part[1:].sum()
    if not holders:
        return 1, 1.0
    padding = 1 + int(np.searchsorted(np.cumsum(part[1:]), _WHOLE * holders))
    padding = min(padding, len(part) - 1)
    return padding, float(counts @ part / (np.minimum(counts, padding) @ part))


def _on_the_simplex(estimate: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest distribution (norm-sub; Wang et al., 2020, section 4)."""
    falling = np.sort(estimate)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, len(falling) + 1)
    distribution: NDArray[np.float64] = np.maximum(estimate - excess[np.count_nonzero(falling > excess) - 1], 0.0)
    return distribution
