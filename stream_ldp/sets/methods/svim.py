"""SVIM: candidates, how many of them a set holds, and their frequencies, each from other users."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from stream_ldp.mechanisms import RESOLUTION, frequencies, standard_errors
from stream_ldp.sets.methods.combination import Combine, combined_estimate, most_frequent, phase_estimate
from stream_ldp.sets.methods.oracle_choice import item_oracle, value_oracle
from stream_ldp.sets.methods.spec import HashBits, MethodSpec
from stream_ldp.sets.phases import Inquiry, Phase, Target

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import FrequencyOracle
    from stream_ldp.sets.phases import RankingEstimate

__all__ = ["SVIM", "SvimSpec"]

#: Parts of the users whom the three phases ask (section V-A).
_PARTS = (0.4, 0.1, 0.5)
#: Part of the sets that the padding of phase 3 leaves whole (section V-C).
_WHOLE = 0.9


@dataclass(frozen=True, kw_only=True)
class SVIM:
    """Set-value item mining (Wang, Li and Jha, 2018, section V): each user answers one question with all of epsilon.

    domain, k, k_max: number of items, heavy hitters and candidates; k <= k_max <= domain.
    epsilon: of a user for an epoch, nats.
    set_size: l, number of items that a set has at most, or nearly all sets; then phase 1 estimates frequencies, which
        count in the end. None, as published, if that is not known: phase 1 samples one item of a set of any size, and
        only the order of the candidates comes from it.
    hash_bits: t of the Hadamard responses, in all phases; None for the oracles of least variance.
    """

    domain: int
    k: int
    k_max: int
    epsilon: float
    set_size: int | None
    hash_bits: int | None

    @property
    def name(self) -> str:
        """The kind."""
        return "svim"

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The three phases, of disjoint parts of 40, 10 and 50 % of the users."""
        ends = (0, *(round(RESOLUTION * end) for end in np.cumsum(_PARTS)))
        return tuple(
            Phase(number=number, asked=asked, share=(ends[number - 1], ends[number]), epsilon=self.epsilon)
            for number, asked in enumerate((Target.ITEM, Target.COUNT, Target.ITEM), start=1)
        )

    def first(self) -> Inquiry:
        """The inquiry about any item of the domain."""
        return Inquiry(phase=1, candidates=None, padding=self.set_size or 1)

    def oracle(self, inquiry: Inquiry) -> FrequencyOracle:
        """The oracle of least variance; a count is one of 0 to c."""
        size = self.domain if inquiry.candidates is None else len(inquiry.candidates)
        if self.phases[inquiry.phase - 1].asked is Target.COUNT:
            return value_oracle(size + 1, epsilon=self.epsilon, hash_bits=self.hash_bits)
        return item_oracle(size, padding=inquiry.padding, epsilon=self.epsilon, hash_bits=self.hash_bits)

    def solve(
        self, inquiry: Inquiry, *, sums: NDArray[np.int64], reports: int, before: RankingEstimate | None
    ) -> tuple[RankingEstimate, Inquiry | None]:
        """Solve as `Method.solve` says; the estimate holds the candidates.

        Without a set size, frequencies are those of naming the item if each user names one, until phase 3.
        """
        oracle = self.oracle(inquiry)
        if inquiry.candidates is None or before is None:
            candidates = most_frequent(phase_estimate(inquiry, oracle, sums, reports=reports), self.k_max)
            return candidates, Inquiry(phase=2, candidates=candidates.items, padding=1)
        if inquiry.phase == 2:
            # Without answers, no set is taken to hold more than all candidates.
            padding, correction = len(inquiry.candidates), 1.0
            if reports:
                estimate = frequencies(oracle, sums, reports=reports)
                error = standard_errors(oracle, np.zeros(1), reports=reports)[0]
                padding, correction = _lengths(estimate, error=float(error))
            return before, Inquiry(phase=3, candidates=inquiry.candidates, padding=padding, correction=correction)
        if not reports:
            return before, None
        now = phase_estimate(inquiry, oracle, sums, reports=reports)
        if self.set_size is not None:
            now = combined_estimate(
                before, now, combine=Combine.VARIANCE, set_size=self.set_size, chosen_from=self.domain
            )
        # The correction may be wrong by half of what it adds; it is the same for all items, and so weighs nowhere.
        doubt = 0.5 * (1.0 - 1.0 / inquiry.correction) * now.frequency
        now = dataclasses.replace(now, standard_error=np.hypot(now.standard_error, doubt))
        return most_frequent(now, self.k_max), None


class SvimSpec(MethodSpec):
    """SVIM as it is written. Without a set size it is as published."""

    kind: Literal["svim"]
    hash_bits: HashBits = None

    @property
    def _usual_k_max(self) -> int:
        return 2 * self.k

    def _method(self, *, domain: int, k_max: int) -> SVIM:
        return SVIM(
            domain=domain,
            k=self.k,
            k_max=k_max,
            epsilon=self.epsilon,
            set_size=self.set_size,
            hash_bits=self.hash_bits,
        )


def _lengths(estimate: NDArray[np.float64], *, error: float) -> tuple[int, float]:
    """The padding L of phase 3 and its correction u(L) (Wang, Li and Jha, 2018, section V-C and V-D).

    estimate: part of the users who hold 0, 1, ... candidates, shape (c + 1,).
    error: standard error of a part that is 0.

    Of the parts beyond L, only those above two errors count for the correction: what noise leaves there is little,
    but multiplied by its count it has been seen to make a correction of 1.03 one of 1.5.
    """
    part = _unimodal(estimate[1:])
    holders = part.sum()
    if not holders:
        return 1, 1.0
    padding = 1 + int(np.searchsorted(np.cumsum(part), _WHOLE * holders))
    counts = np.arange(1, len(part) + 1)
    seen = np.where((counts <= padding) | (part > 2.0 * error), part, 0.0)
    return padding, float(counts @ seen / (np.minimum(counts, padding) @ seen))


def _unimodal(estimate: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest frequencies that rise to a mode and fall from there, none negative.

    Noise alone would leave some mass at counts that nobody has: little at each, but many of them, and far out.
    """
    # Here and not above: a client never estimates, and need not wait for the import of SciPy.
    from scipy.optimize import isotonic_regression  # noqa: PLC0415

    fits = (
        np.concatenate(
            [
                isotonic_regression(estimate[:mode]).x,
                isotonic_regression(estimate[mode:], increasing=False).x,
            ]
        )
        for mode in range(len(estimate))
    )
    nearest: NDArray[np.float64] = min(fits, key=lambda fit: float(np.sum((fit - estimate) ** 2)))
    return np.maximum(nearest, 0.0)
