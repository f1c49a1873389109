"""A method whose first phase asks a tenth of the users how large their sets are, so that the others are padded."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import RESOLUTION, FrequencyOracle
from stream_ldp.sets.item_sets import class_count, largest_of
from stream_ldp.sets.methods.oracle_choice import item_oracle, slot_error, value_oracle, variance
from stream_ldp.sets.methods.set_sizes import usual_sizes
from stream_ldp.sets.methods.wrapped import Wrapped
from stream_ldp.sets.phases import FoundSizes, Inquiry, Method, Phase, RankingEstimate, Target, epoch_epsilon

#: Share of the users whom the first phase asks.
SIZE_PART = 0.1
#: Share of a class before anything is known, in proportion to this power of its number, and the variance of such
#: shares among populations: most have sets of few classes, and rather small ones.
_FALLING, _AMONG = 0.7, 0.03
#: How the number of the most frequent items that a set holds grows with its size, as a power.
_GROWTH = 0.75


class SizedMethod(Method, Protocol):
    """A method, which is a dataclass with the field `set_size`."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def hash_bits(self) -> int | None:
        """Number of bits of the Hadamard responses; None for the oracles of minimum variance."""
        ...


@dataclass(frozen=True)
class AskedSize(Wrapped[SizedMethod]):
    """A method that learns the set size of each epoch from other users than those whom it asks about items.

    The users whose words are below a tenth report the power of two of their set's size, with all of epsilon. Shares
    [begin, end) of the method become those of the other users.

    method: the method for the others, without a set size.
    """

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The phase about sizes, and the method's phases of the other users."""
        start = round(RESOLUTION * SIZE_PART)
        return (
            Phase(number=1, asked=Target.SIZE, share=(0, start), epsilon=epoch_epsilon(self.method)),
            *(replace(phase, number=phase.number + 1) for phase in self.phases_within(start, RESOLUTION)),
        )

    def first(self) -> Inquiry:
        """Return the inquiry about sizes."""
        return Inquiry(phase=1, candidates=None, padding=1)

    def oracle(self, inquiry: Inquiry) -> FrequencyOracle:
        """Return the oracle of minimum variance for a class of sizes, and the method's for items."""
        if inquiry.phase > 1:
            return self.method.oracle(_without_sizes(inquiry))
        return value_oracle(class_count(self.domain), epsilon=self.phases[0].epsilon, hash_bits=self.method.hash_bits)

    def solve(
        self, inquiry: Inquiry, *, sums: NDArray[np.int64], reports: int, before: RankingEstimate | None
    ) -> tuple[RankingEstimate, Inquiry | None]:
        """Solve as `Method.solve` says; the estimate after phase 1 has no items."""
        if inquiry.phase == 1:
            sizes = _reported(self.oracle(inquiry), sums, reports=reports) if reports else None
            return RankingEstimate.of_none(), Inquiry(
                phase=2, candidates=None, padding=self._best_padding(sizes), sizes=sizes
            )
        method, inner = replace(self.method, set_size=self._best_padding(inquiry.sizes)), _without_sizes(inquiry)
        estimate, after = method.solve(inner, sums=sums, reports=reports, before=None if inner.phase == 1 else before)
        if after is None:
            return estimate, None
        # Until the last phase, what larger sets have cost an item is in none of its errors.
        return replace(estimate, drawn=True), replace(after, phase=after.phase + 1, sizes=inquiry.sizes)

    def _best_padding(self, reported: FoundSizes | None) -> int:
        classes = class_count(self.domain)
        sizes = [largest_of(each, domain=self.domain) for each in range(classes)]
        usual = usual_sizes(classes, domain=self.domain)
        held = class_shares(reported, classes=classes) * usual**_GROWTH

        def signal(padding: int) -> float:
            oracle = item_oracle(
                self.domain, padding=padding, epsilon=self.method.phases[0].epsilon, hash_bits=self.method.hash_bits
            )
            return float(held @ oracle.shown(usual, padding=padding)) / slot_error(oracle, padding=padding)

        return max(sizes, key=signal)


def _reported(oracle: FrequencyOracle, sums: NDArray[np.int64], *, reports: int) -> FoundSizes:
    return FoundSizes(
        share=tuple(oracle.estimate(sums, reports=reports).tolist()),
        standard_error=math.sqrt(variance(oracle) / reports),
    )


def class_shares(reported: FoundSizes | None, *, classes: int) -> NDArray[np.float64]:
    """Estimate the share of the users whose sets are of each class, float64, shape (classes,).

    It is the best linear estimate of shares that vary by `_AMONG`: what noise leaves open is as usual.
    """
    falling = _FALLING ** np.arange(classes, dtype=np.float64)
    usual: NDArray[np.float64] = falling / falling.sum()
    if reported is None:
        return usual
    share: NDArray[np.float64] = np.array(reported.share)
    believed = _AMONG / (_AMONG + reported.standard_error**2)
    return np.maximum(usual + believed * (share - usual), 0.0)


def _without_sizes(inquiry: Inquiry) -> Inquiry:
    """Return an inquiry as the method numbers its phases."""
    return replace(inquiry, phase=inquiry.phase - 1)
