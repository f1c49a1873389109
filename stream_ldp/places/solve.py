"""The solver of collections of places: it answers a task of the pipeline with the counts of a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.filtering.filtered import FilteredEstimate, filter_window, returning_share
from stream_ldp.filtering.weighted_reports import WeightedReports
from stream_ldp.mechanisms.plausibility import UNTESTED, PlausibilityTest, compared
from stream_ldp.mechanisms.row_draws import even_cells
from stream_ldp.mechanisms.simplex import on_simplex
from stream_ldp.pipeline.published import published_of_window
from stream_ldp.pipeline.window_task import WindowTask, weighted_sums
from stream_ldp.places.answer import PlaceCounts, PlacePrivacy, RegionCount
from stream_ldp.places.plan import published
from stream_ldp.questions.answers import enough_answers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import FrequencyOracle
    from stream_ldp.pipeline.window_series import WindowSeries
    from stream_ldp.places.collection import PlaceCollection

#: What the privacy of a user rests on.
ASSUMPTION = (
    "two users who have chosen the same region and the same epsilon, both in the clear in every report; "
    "as long as a user's place and choices do not change, every report repeats the same answer"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """The number of reports from each place, each float64 of shape (places,).

    raw: unbiased.
    standard_error: of each: the noise, since reports state their region; with weights by variance, also the chance by
        which users of the same place have chosen different epsilons.
    projected: the nearest possible counts, region by region.
    """

    raw: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    projected: NDArray[np.float64]


def solve(collection: PlaceCollection, task: WindowTask[WindowSeries, PlaceCounts]) -> PlaceCounts:
    """Solve a task about one window."""
    questions = collection.questions
    whole = weighted_sums(task, counters=questions.counters)
    _, current = whole[0]
    windows = enough_answers(questions, collection, whole)
    _, counted = windows[0]
    counts = place_counts(collection, windows)
    epsilons = collection.mechanism_spec.epsilon
    by_region = questions.draws(counted).reshape(-1, len(epsilons))
    plausibility = _plausibility(collection, current)
    return PlaceCounts(
        **task.head(collection),
        places=collection.tree.places,
        raw=tuple(counts.raw.tolist()),
        standard_error=tuple(counts.standard_error.tolist()),
        projected=tuple(counts.projected.tolist()),
        weights=collection.mechanism_spec.weights,
        regions=tuple(
            RegionCount(region=region.name, reports=tuple(reports))
            for region, reports in zip(collection.tree.regions, by_region.tolist(), strict=True)
            if any(reports)
        ),
        withheld=task.reports - int(by_region.sum()),
        learnt=filtered_shares(collection, task, counts.raw, counts.standard_error),
        plausibility=plausibility,
        privacy=PlacePrivacy(
            epsilons=epsilons,
            assumption=ASSUMPTION,
            published=published_of_window(
                task,
                collection,
                published,
                plausibility=plausibility,
                reports=int(min(by_region[by_region > 0], default=0)),
            ),
        ),
    )


def place_counts(collection: PlaceCollection, windows: Sequence[tuple[float, NDArray[np.int64]]]) -> Counts:
    """Count the reports of the first window from each place.

    Each region is counted by itself: the frequencies among its reports, times their number, which is public. With
    memory, the frequencies are those of all windows.

    windows: (weight, sums) of each window, the current one first.
    """
    size = len(collection.tree.places)
    raw, variance, projected = np.zeros(size), np.zeros(size), np.zeros(size)
    epsilons = range(len(collection.mechanism_spec.epsilon))
    for number, region in enumerate(collection.tree.regions):
        asked = [collection.number_of(number, epsilon) for epsilon in epsilons]
        groups = [group for group in (_group(collection, windows, each) for each in asked) if group.reports]
        total = sum(group.reports for group in groups)
        if not total:
            continue
        weights = np.array([group.reports for group in groups], dtype=np.float64)
        if collection.mechanism_spec.weights == "variance":
            weights = np.array([group.effective / group.oracle.mean_variance for group in groups])
        weights /= weights.sum()
        counts = total * sum(weight * group.frequencies for weight, group in zip(weights, groups, strict=True))
        possible = total * on_simplex(counts / total)
        places = slice(region.first, region.end)
        raw[places] += counts
        projected[places] += possible
        shares = possible / total
        variance[places] += total**2 * sum(
            weight**2 * group.oracle.noise(shares) / group.effective
            # Where users do not count alike, it matters which of them have chosen which epsilon.
            + (weight - group.reports / total) ** 2 * shares * (1 - shares) / group.effective
            for weight, group in zip(weights, groups, strict=True)
        )
    return Counts(
        raw=raw,
        standard_error=np.sqrt(variance * collection.window.reports_per_user),
        projected=projected,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Group:
    """The reports of one region at one epsilon.

    reports: of the current window.
    effective: of all windows, see `WeightedReports`.
    frequencies: of the region's places.
    """

    oracle: FrequencyOracle
    reports: int
    effective: float
    frequencies: NDArray[np.float64]


def _group(collection: PlaceCollection, windows: Sequence[tuple[float, NDArray[np.int64]]], number: int) -> _Group:
    oracle = collection.oracles[number]
    parts = [(weight, *collection.questions.part(sums, number)) for weight, sums in windows]
    weighted = WeightedReports.of((weight, float(reports)) for weight, reports, _ in parts)
    sums = np.sum([weight * each.astype(np.float64) for weight, _, each in parts], axis=0)
    return _Group(
        oracle=oracle,
        reports=int(parts[0][1]),
        effective=weighted.effective,
        frequencies=oracle.estimate(sums, reports=weighted.total),
    )


def _plausibility(collection: PlaceCollection, sums: NDArray[np.int64]) -> PlausibilityTest:
    """Test whether the rows of Hadamard matrices are drawn uniformly; which region users choose is theirs.

    Users who report several times draw a row once, so that nothing is tested where there are such.
    """
    if collection.window.reports_per_user > 1:
        return UNTESTED
    drawn = [
        even_cells(draws)
        for number, oracle in enumerate(collection.oracles)
        if (draws := oracle.draws(collection.questions.part(sums, number)[1])) is not None
    ]
    return compared([cells for cells in drawn if cells[1].sum()])


def filtered_shares(
    collection: PlaceCollection,
    task: WindowTask[WindowSeries, PlaceCounts],
    counts: NDArray[np.float64],
    errors: NDArray[np.float64],
) -> FilteredEstimate | None:
    """Estimate the share of the users who are at each place with previous windows.

    A user whose place and choices do not change always repeats one answer, so only new users say anything new.

    counts: unbiased, of the window alone, shape (places,).
    errors: their standard errors, about the users who have reported.

    Returns:
        The shares, in the order of the places. None where nothing can be learnt, see `returning_share`, or nobody has
        reported.
    """
    returning, reports = returning_share(collection, collection.prior), task.reports
    if returning is None or not reports:
        return None
    shares, noise = counts / reports, errors / reports
    # The errors of counts are about the users who have reported, those of shares about all users.
    of_all, users = np.clip(shares, 0.0, 1.0), reports / collection.window.reports_per_user
    of_shares = np.sqrt(noise**2 + of_all * (1.0 - of_all) / users)
    return filter_window(
        None if task.earlier is None else task.earlier.learnt,
        shares,
        of_shares,
        returning=returning,
        reports=users,
        elapsed=task.elapsed(collection.window.size_ms),
        forgotten=task.forgotten(collection.window),
        final=task.final,
    )
