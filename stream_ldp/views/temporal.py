"""The prior of previous windows for a joint distribution that is made of views.

A window gives the margins of its attributes and the tables of their pairs. In orthonormal contrasts of the values
(Helmert's), with their products for a pair, the noise has one variance and no correlation. These coefficients are
what moves from window to window; the joint is fitted to them as to those of a window alone. A user is permanently
asked about one view and repeats the answer, so that only new users say anything new.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_ldp.filtering.filtered import FilteredEstimate, filter_window, places_among, returning_share
from stream_ldp.records.answer import Estimate, FilteredMarginals
from stream_ldp.records.estimators.basis import transformed
from stream_ldp.views.independence import contrasts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from stream_ldp.pipeline.window_task import WindowTask
    from stream_ldp.views.collection import ViewsCollection
    from stream_ldp.views.fitting import Fit
    from stream_ldp.views.series import ViewEstimateSpec
    from stream_ldp.views.tables import MarginalTables, Told

#: Least variance of a coefficient among users, as a share of that among users with every value alike.
_MIN_SPREAD = 0.1


class FilteredFit(NamedTuple):
    """A fit with the prior of previous windows.

    learnt: what the next window takes from it.
    users: weight of previous windows, in users who answer as those of this window did.
    """

    fit: Fit
    learnt: FilteredMarginals
    users: float


class _Part(NamedTuple):
    """The coefficients of a margin or a pair.

    of: positions of the attributes, ascending.
    found: of the window alone, shape (coefficients,).
    variance: their squared errors, noise and the sampling of users.
    spread: variance of each among users.
    """

    of: tuple[int, ...]
    found: NDArray[np.float64]
    variance: NDArray[np.float64]
    spread: NDArray[np.float64]


def filter_fit(
    collection: ViewsCollection,
    task: WindowTask[ViewEstimateSpec, Estimate],
    tables: Sequence[Told],
    fit: Fit,
) -> FilteredFit | None:
    """Estimate the margins and pairs of a window's attributes with previous windows.

    fit: that of the window alone, made of `tables`.

    Returns:
        None where nothing can be learnt, see `returning_share`, or nobody has reported.
    """
    spec, window = task.series, collection.window
    returning, asked = returning_share(collection, spec.prior), sorted(collection.positions_of(spec.of))
    parts = [] if returning is None else list(_parts(tables, fit, asked))
    if returning is None or not parts:
        return None
    of = tuple(tuple(collection.attributes[place].name for place in part.of) for part in parts)
    before = _before(task)
    variance = np.concatenate([part.variance for part in parts])
    spread = np.concatenate([part.spread for part in parts])
    reports = sum(table.reports for table in tables if not set(table.of).isdisjoint(asked))
    learnt = filter_window(
        None if before is None else before.coefficients,
        np.concatenate([part.found for part in parts]),
        np.sqrt(variance),
        returning=returning,
        reports=reports,
        elapsed=task.elapsed(window.size_ms),
        forgotten=task.forgotten(window),
        final=task.final,
        spread=spread,
        places=None if before is None else places_among(_names(of, collection), _names(before.of, collection)),
    )
    if learnt.weight:
        fit = fit.with_measured(_measured(fit, parts, learnt))
    return FilteredFit(fit, FilteredMarginals(of=of, coefficients=learnt), users=learnt.weight)


def filter_all(
    collection: ViewsCollection,
    task: WindowTask[ViewEstimateSpec, Estimate],
    tables: Sequence[Told],
    fit: Fit,
    *,
    earlier: Mapping[str, Estimate],
) -> Fit:
    """Return a window's fit with the prior of previous windows for the attributes of its estimates.

    Of an attribute or a pair that several estimates have, the first of them decides: each has its own past.

    task: about any estimate of the window.
    fit: that of the window alone, made of `tables`.
    earlier: the previous final of each estimate that has one, by the estimate's name.
    """
    measured: MarginalTables = {}
    for spec in reversed(collection.series):
        asked = replace(task, series=spec, before=earlier.get(spec.name))
        filtered = filter_fit(collection, asked, tables, fit)
        if filtered is not None:
            places = set(collection.positions_of(spec.of))
            measured |= {of: found for of, found in filtered.fit.measured.items() if set(of) <= places}
    return fit.with_measured(measured) if measured else fit


def _before(task: WindowTask[ViewEstimateSpec, Estimate]) -> FilteredMarginals | None:
    before = task.earlier
    return None if before is None or before.temporal is None else before.temporal.views


def _parts(tables: Sequence[Told], fit: Fit, places: Sequence[int]) -> Iterator[_Part]:
    """Iterate over the margins and pairs of some attributes that somebody has reported."""
    for of in [of for size in (1, 2) for of in combinations(places, size)]:
        covering = [table for table in tables if set(of) <= set(table.of)]
        if not covering:
            continue
        raw, information = fit.measured[of]
        fitted = fit.margin(of[0]) if len(of) == 1 else fit.pair(of[0], of[1]).probability
        bases = [contrasts(size) for size in raw.shape]
        squares = transformed(fitted, [basis**2 for basis in bases]) - transformed(fitted, bases) ** 2
        # A cell that the fit has put to 0 may be held by somebody.
        spread = np.maximum(squares.ravel(), _MIN_SPREAD / raw.size)
        variance = sum(
            (table.marginal(of)[1] / information) ** 2 * table.contrast_variance(bases, spread) for table in covering
        )
        yield _Part(of, transformed(raw, bases).ravel(), np.asarray(variance), spread)


def _measured(fit: Fit, parts: Sequence[_Part], learnt: FilteredEstimate) -> MarginalTables:
    """Return margins and pairs with these coefficients, and the inverse variance of a contrast of each."""
    measured: MarginalTables = {}
    estimate, error = np.array(learnt.estimate), np.array(learnt.standard_error)
    start = 0
    for part in parts:
        which = slice(start, start + len(part.found))
        start = which.stop
        raw, information = fit.measured[part.of]
        coefficients = estimate[which].reshape([size - 1 for size in raw.shape])
        found = transformed(coefficients, [contrasts(size).T for size in raw.shape])
        if len(part.of) == 1:
            found = found + 1.0 / raw.size
        measured[part.of] = found, information * float(part.variance.sum() / (error[which] ** 2).sum())
    return measured


def _names(of: Sequence[tuple[str, ...]], collection: ViewsCollection) -> list[tuple[tuple[str, ...], int]]:
    """Name each coefficient of some attributes and pairs, all of one after all of another: by them and its number."""
    free = {axis.name: len(axis.labels) - 1 for axis in collection.axes}
    return [(names, number) for names in of for number in range(math.prod(free[name] for name in names))]
