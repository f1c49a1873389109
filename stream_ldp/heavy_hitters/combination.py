"""What the answers of a phase say of its items, and how it goes together with what was known before."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.heavy_hitters.adaptive import scale
from stream_ldp.heavy_hitters.phases import Standing
from stream_ldp.mechanisms import frequencies, standard_errors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.heavy_hitters.phases import Inquiry
    from stream_ldp.mechanisms import FrequencyOracle

__all__ = ["Combine", "best", "combined", "observed"]


class Combine(StrEnum):
    """How the estimates of two phases become one."""

    PAPER = "paper"
    """(before + (l - 1) now) / l, for sets of l items (Zhu, Yang and Bai, 2021, eq. 2)."""
    VARIANCE = "variance"
    """Each weighted by the inverse of its variance."""


def observed(inquiry: Inquiry, oracle: FrequencyOracle, sums: NDArray[np.int64], *, reports: int) -> Standing:
    """What the answers of a phase alone say of the items asked about; errors are infinite if there are none."""
    items = np.arange(oracle.size) if inquiry.candidates is None else inquiry.candidates
    factor = inquiry.correction * scale(oracle, padding=inquiry.padding)
    frequency = frequencies(oracle, sums, reports=reports)
    error = standard_errors(oracle, frequency, reports=reports)
    return Standing(items=items, frequency=factor * frequency, standard_error=factor * error)


def combined(before: Standing, now: Standing, *, combine: Combine, set_size: int) -> Standing:
    """Both as one, for the items of `now`, all of which were known before.

    now: of at least one report.
    """
    before = _matched(before, now.items)
    match combine:
        case Combine.PAPER:
            weight = np.full(len(now.items), 1.0 / set_size)
        case Combine.VARIANCE:
            old, new = before.standard_error**-2.0, now.standard_error**-2.0
            weight = old / (old + new)
    # An infinite error has weight 0, but 0 times infinity is no number.
    error = np.where(weight > 0.0, before.standard_error, 0.0)
    return Standing(
        items=now.items,
        frequency=weight * before.frequency + (1.0 - weight) * now.frequency,
        standard_error=np.hypot(weight * error, (1.0 - weight) * now.standard_error),
    )


def best(standing: Standing, count: int) -> Standing:
    """The `count` items of highest frequency, best first; of equal ones the lower item comes first."""
    order = np.lexsort((standing.items, -standing.frequency))[:count]
    return _chosen(standing, order)


def _matched(standing: Standing, items: NDArray[np.int64]) -> Standing:
    order = np.argsort(standing.items)
    return _chosen(standing, order[np.searchsorted(standing.items, items, sorter=order)])


def _chosen(standing: Standing, places: NDArray[np.intp]) -> Standing:
    return Standing(
        items=standing.items[places],
        frequency=standing.frequency[places],
        standard_error=standing.standard_error[places],
    )
