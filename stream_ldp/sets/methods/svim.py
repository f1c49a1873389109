"""SVIM: three parts of the users determine candidates, how many of them a set holds, and their frequencies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import RESOLUTION, FrequencyOracle
from stream_ldp.sets.methods.combination import (
    Combine,
    as_asked,
    combined_estimate,
    first_candidates,
    most_frequent,
    phase_estimate,
)
from stream_ldp.sets.methods.cut_off import Slots, doubt_of_corrected
from stream_ldp.sets.methods.larger_sets import INDICES, UNLIKE, doubt_about, doubted
from stream_ldp.sets.methods.oracle_choice import item_oracle, value_oracle
from stream_ldp.sets.methods.spec import HashBits, MethodSpec
from stream_ldp.sets.phases import Inquiry, Phase, RankingEstimate, Target

#: Shares of the users whom the three phases ask (section V-A).
_PARTS = (0.4, 0.1, 0.5)
#: Share of the sets that fit the padding of phase 3 (section V-C).
_WHOLE = 0.9
#: Shares of the sets that may not fit it: noise hides as many again as the counts show, one time in three, and three
#: times as many hardly ever.
_LARGER = np.linspace(0.0, 0.6, 61)
#: Indices of the power law of sets with more candidates than slots: from as many of each number, as where few users
#: hold most candidates, to hardly any large ones.
_OF_ITEMS = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0])


@dataclass(frozen=True, kw_only=True)
class SVIM:
    """Set-value item mining (Wang, Li and Jha, 2018, section V): a user reports once, with all of epsilon.

    domain, k, k_max: number of items, heavy hitters and candidates; k <= k_max <= domain.
    epsilon: cost of an epoch to a user, nats.
    set_size: l, the largest size of all sets, or of nearly all; then phase 1 estimates frequencies, which are
        combined with those of phase 3. None, as published, if that is not known: phase 1 then samples one item of a
        set of any size, and determines only the order of the candidates.
    hash_bits: t of the Hadamard responses, in all phases; None for the oracles of minimum variance.
    """

    name: ClassVar[str] = "svim"

    domain: int
    k: int
    k_max: int
    epsilon: float
    set_size: int | None
    hash_bits: int | None

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The three phases, of disjoint parts of 40, 10 and 50 % of the users."""
        ends = (0, *(round(RESOLUTION * end) for end in np.cumsum(_PARTS)))
        return tuple(
            Phase(number=number, asked=asked, share=(ends[number - 1], ends[number]), epsilon=self.epsilon)
            for number, asked in enumerate((Target.ITEM, Target.COUNT, Target.ITEM), start=1)
        )

    @property
    def memoising(self) -> None:
        """None: every report is made afresh."""

    def first(self) -> Inquiry:
        """Return the inquiry about any item of the domain."""
        return Inquiry(phase=1, candidates=None, padding=self.set_size or 1)

    def oracle(self, inquiry: Inquiry) -> FrequencyOracle:
        """Return the oracle of minimum variance; a number of candidates is a value from 0 to c."""
        size = self.domain if inquiry.candidates is None else len(inquiry.candidates)
        if self.phases[inquiry.phase - 1].asked is Target.COUNT:
            return value_oracle(size + 1, epsilon=self.epsilon, hash_bits=self.hash_bits)
        return item_oracle(size, padding=inquiry.padding, epsilon=self.epsilon, hash_bits=self.hash_bits)

    def solve(
        self, inquiry: Inquiry, *, sums: NDArray[np.int64], reports: int, before: RankingEstimate | None
    ) -> tuple[RankingEstimate, Inquiry | None]:
        """Solve as `Method.solve` says; the estimate holds the candidates.

        Without a set size, the frequencies before phase 3 are those of drawing the item from a user's set.
        """
        oracle = self.oracle(inquiry)
        if inquiry.candidates is None or before is None:
            every = phase_estimate(inquiry, oracle, sums, reports=reports)
            candidates = first_candidates(every, self.k_max, set_size=self.set_size)
            return candidates, Inquiry(phase=2, candidates=candidates.items, padding=1)
        if inquiry.phase == 2:
            slots = len(inquiry.candidates)
            return before, padded(inquiry, oracle, sums, reports=reports, most=slots, indices=_OF_ITEMS)
        if not reports:
            return before, None
        now = phase_estimate(inquiry, oracle, sums, reports=reports)
        if self.set_size is not None:
            now = combined_estimate(before, now, combine=Combine.VARIANCE, set_size=self.set_size)
        # The doubt is much the same for all items: it is added after the combination and does not change weights.
        return most_frequent(self._doubted(now, inquiry, oracle), self.k_max), None

    def _doubted(self, estimate: RankingEstimate, inquiry: Inquiry, oracle: FrequencyOracle) -> RankingEstimate:
        asked, slots = as_asked(estimate, inquiry), len(estimate.items)
        if inquiry.padding >= slots:
            return estimate
        doubt = doubt_of_corrected(
            asked,
            slots=Slots(items=slots, padding=inquiry.padding, oracle=oracle),
            correction=inquiry.correction,
            doubt=inquiry.doubt,
        )
        return as_asked(doubted(asked, doubt), inquiry)


class SvimSpec(MethodSpec):
    """The options of SVIM. Without a set size, the method is the published one."""

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
            set_size=self.known_size,
            hash_bits=self.hash_bits,
        )


def padded(
    inquiry: Inquiry,
    oracle: FrequencyOracle,
    sums: NDArray[np.int64],
    *,
    reports: int,
    most: int,
    indices: NDArray[np.float64] = INDICES,
) -> Inquiry:
    """Return the inquiry about the candidates themselves that follows one about how many of them sets hold.

    oracle, sums: of the reports to the inquiry.
    most: number of candidates that sets may be thought to hold where nobody reports.
    indices: of the power law of sets that do not fit the slots.
    """
    if inquiry.candidates is None:
        raise ValueError("a phase counts candidates, and this inquiry names none")
    asked, missing = Lengths(padding=min(most, len(inquiry.candidates)), correction=1.0, doubt=0.0), False
    if reports:
        estimate = oracle.estimate(sums, reports=reports)
        error = oracle.standard_errors(np.zeros(1), reports=reports)[0]
        asked, missing = fewest_slots(estimate, error=float(error), indices=indices)
    return Inquiry(phase=inquiry.phase + 1, candidates=inquiry.candidates, missing=missing, **asked._asdict())


def fewest_slots(
    estimate: NDArray[np.float64], *, error: float, indices: NDArray[np.float64]
) -> tuple[Lengths, bool]:
    """Return the lengths of what sets hold, or of what they lack where that is less, and whether it is.

    The noise of a frequency grows with the slots, and of items that nearly all sets hold, each lacks few.

    estimate, error, indices: as of `lengths`.
    """
    held, lacked = (lengths(each, error=error, indices=indices) for each in (estimate, estimate[::-1]))
    missing = lacked.padding < held.padding
    return (lacked if missing else held), missing


def padding_doubt(inquiry: Inquiry) -> float:
    """Compute the doubt about frequencies of padded sets: the correction may be wrong by as much as it adds."""
    return math.hypot(1.0 - 1.0 / inquiry.correction, inquiry.doubt)


def padding_doubted(estimate: RankingEstimate, inquiry: Inquiry) -> RankingEstimate:
    """Return an estimate of the candidates with the doubt about padded sets, a share of what was asked for."""
    return as_asked(doubted(as_asked(estimate, inquiry), padding_doubt(inquiry)), inquiry)


def usual_doubt(candidates: int, *, held: float, error: float) -> float:
    """Compute the doubt about frequencies of padded sets whose numbers of candidates fall geometrically.

    candidates: c, at least 1.
    held: mean of how many of them a set holds, as if there were more than c.
    error: standard error of a share that is 0, of the users who hold a number of candidates.
    """
    further = held / (1.0 + held)
    share: NDArray[np.float64] = (1.0 - further) * further ** np.arange(candidates + 1, dtype=np.float64)
    asked = lengths(share, error=error)
    return padding_doubt(Inquiry(phase=1, candidates=None, **asked._asdict()))


class Lengths(NamedTuple):
    """The padding L of phase 3, its correction u(L), and the doubt about it, as in an `Inquiry`."""

    padding: int
    correction: float
    doubt: float


def lengths(estimate: NDArray[np.float64], *, error: float, indices: NDArray[np.float64] = INDICES) -> Lengths:
    """Compute the padding L of phase 3 and its correction u(L) (Wang, Li and Jha, 2018, sections V-C and V-D).

    estimate: share of the users who hold 0, 1, ... candidates, shape (c + 1,).
    error: standard error of a share that is 0.
    indices: of the power law of sets of more than L.

    Of the shares beyond L, only those above two errors count for the correction: noise leaves little there, but this
    is multiplied by the number of candidates, and has made a correction of 1.03 one of 1.5. Where sizes have a long
    tail, each share of it is as small, so that what all of them would add is the doubt.
    """
    share = _unimodal(estimate[1:])
    holders = share.sum()
    if not holders:
        return Lengths(padding=1, correction=1.0, doubt=0.0)
    padding = 1 + int(np.searchsorted(np.cumsum(share), _WHOLE * holders))
    counts = np.arange(1, len(share) + 1)
    known = np.where((counts <= padding) | (share > 2.0 * error), share, 0.0)
    correction = float(counts @ known / (np.minimum(counts, padding) @ known))
    if padding == len(share):
        return Lengths(padding=padding, correction=correction, doubt=0.0)
    return Lengths(
        padding=padding,
        correction=correction,
        doubt=_doubt(estimate[1:], error=error, share=share, padding=padding, correction=correction, indices=indices),
    )


def _doubt(
    estimate: NDArray[np.float64],
    *,
    error: float,
    share: NDArray[np.float64],
    padding: int,
    correction: float,
    indices: NDArray[np.float64],
) -> float:
    """Compute the doubt about a correction for sets of more than L candidates.

    The parts of these sets fall by a power law from L on. The likelihood of their sum and of the index of the law is
    that of the shares as they were estimated, of the same variance each and nearly independent.

    estimate, share: of the users who hold 1, 2, ... candidates, as estimated and as fitted, shape (c,).
    """
    beyond = np.arange(padding + 1, len(share) + 1)
    shape = (beyond / padding) ** (-1.0 - indices[:, None])
    shape /= shape.sum(axis=1, keepdims=True)
    holders = share.sum()
    parts = holders * _LARGER[:, None]
    squares = parts**2 * (shape**2).sum(axis=1) - 2.0 * parts * (shape @ estimate[padding:])
    log_posterior = -0.5 * (squares / error**2 + (_LARGER[:, None] / (2.0 * (1.0 - _WHOLE))) ** 2)
    counted = np.arange(1, padding + 1) @ share[:padding] + padding * parts
    right = 1.0 + parts * (shape @ (beyond - padding)) / counted
    return doubt_about(np.maximum(right / correction - 1.0, 0.0), log_posterior, unlike=UNLIKE)


def _unimodal(estimate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find the nearest frequencies that are not negative, rise to a mode and fall from there.

    Without this, noise would leave frequencies at counts that nobody has: little at each, but at many and large ones.
    """
    # Imported here: a client never estimates, and must not wait for the import of SciPy.
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
