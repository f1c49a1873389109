"""What the answers of a phase say of its items, and how it goes together with what was known before."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.heavy_hitters.phases import Standing
from stream_ldp.mechanisms import frequencies, standard_errors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import FrequencyOracle

__all__ = ["Combine", "best", "by_paper", "by_variance", "observed", "unknown"]


class Combine(StrEnum):
    """How the estimates of two phases become one."""

    PAPER = "paper"
    """(before + (l - 1) now) / l, for sets of l items (Zhu, Yang and Bai, 2021, eq. 2)."""
    VARIANCE = "variance"
    """Each weighted by the inverse of its variance."""


def observed(
    oracle: FrequencyOracle,
    sums: NDArray[np.int64],
    *,
    reports: int,
    items: NDArray[np.int64],
    scale: float,
) -> Standing:
    """The estimates of one phase, in the order of `items`.

    items: that the oracle's values stand for, shape (oracle.size,).
    scale: part of the users who hold an item, over the part of the reports made from it.
    """
    frequency = frequencies(oracle, sums, reports=reports)
    error = standard_errors(oracle, frequency, reports=reports)
    return Standing(items=items, frequency=scale * frequency, standard_error=scale * error)


def unknown(items: NDArray[np.int64]) -> Standing:
    """What is known of items that nobody has been asked about."""
    return Standing(items=items, frequency=np.zeros(len(items)), standard_error=np.full(len(items), np.inf))


def best(standing: Standing, count: int) -> Standing:
    """The `count` items of highest frequency, best first; of equal ones the lower item comes first."""
    order = np.lexsort((standing.items, -standing.frequency))[:count]
    return _chosen(standing, order)


def by_paper(before: Standing, now: Standing, *, set_size: int) -> Standing:
    """(before + (l - 1) now) / l, of the items of `now`, all of which were known before."""
    before = _matched(before, now.items)
    share = 1.0 / set_size
    return _weighted(before, now, np.full(len(now.items), share))


def by_variance(before: Standing, now: Standing) -> Standing:
    """The mean of least variance, of the items of `now`, all of which were known before."""
    before = _matched(before, now.items)
    old, new = before.standard_error**-2.0, now.standard_error**-2.0
    return _weighted(before, now, old / (old + new))


def _weighted(before: Standing, now: Standing, weight: NDArray[np.float64]) -> Standing:
    return Standing(
        items=now.items,
        frequency=weight * before.frequency + (1.0 - weight) * now.frequency,
        standard_error=np.hypot(weight * before.standard_error, (1.0 - weight) * now.standard_error),
    )


def _matched(standing: Standing, items: NDArray[np.int64]) -> Standing:
    order = np.argsort(standing.items)
    return _chosen(standing, order[np.searchsorted(standing.items, items, sorter=order)])


def _chosen(standing: Standing, places: NDArray[np.intp]) -> Standing:
    return Standing(
        items=standing.items[places],
        frequency=standing.frequency[places],
        standard_error=standing.standard_error[places],
    )
