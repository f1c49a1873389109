"""The time to solve an estimate of records: measured on samples of the sizes that are asked about.

A sample is drawn of a population whose attributes depend on each other, and solved as a first window and as a later
one. Solves that would take too long are extrapolated: an evaluation of the EM map goes through the distinct rows of
the reports, so a solve of n reports takes about

    a + b min(w n, p) seconds,

with w windows remembered and p possible rows; the two largest samples give a and b. What this cannot know is how many
evaluations other data takes. `python -m tests.benchmarks.solve_times` compares it with the times of another
population.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_ldp.evaluation.prediction import assumed_records
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.solve_time import MAX_VALUES, SolveTime, Timer
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.series import EstimateSpec
from stream_ldp.records.solve import solve

#: Rows times cells of the larger of the two samples that every estimate is solved for: about a second.
_ROW_CELLS = 10**8
#: Fewest and most reports of that sample. With fewer, there is little but fixed cost to see.
_FEWEST, _SMALL = 2_000, 10_000
#: Size of the larger of these two over that of the smaller.
_RATIO = 4
#: Size of a further sample over that of the one before it, at most.
_STEP = 10
#: Cells of all estimates whose solves are worth measuring, which takes seconds: with fewer, solves of 100,000 reports
#: take tenths of a second.
MANY_CELLS = 1_000
#: Largest sample, and most rows times cells of one: what is drawn and decoded in seconds, whatever its solve takes.
_MOST, _MAX_ROW_CELLS = 1_000_000, 2 * 10**9
#: Seconds that the solve of a sample may take, by the growth of those before it.
_BUDGET_S = 1.0
#: If the larger of two samples has not so many times the rows of the smaller, there are hardly more to come.
_SATURATED = 1.5
#: Windows of a period in which the users of a sample report: with more, few users have the same numbers of ones.
_LINKED_WINDOWS = 16


class Drawn(NamedTuple):
    """Users of the population that is assumed, and their reports.

    values: their records, shape (users, attributes).
    pseudonyms: uint8, shape (users, bytes), of no bytes where reports are not linked.
    windows: their packed reports in each window, uint8, shape (users, bytes of a report).
    """

    values: NDArray[np.int64]
    pseudonyms: NDArray[np.uint8]
    windows: tuple[NDArray[np.uint8], ...]


def is_large(collection: JointCollection) -> bool:
    """Decide whether the solves of a window may take long: of one large estimate, or of many small ones together."""
    return sum(math.prod(collection.sizes_of(estimate)) for estimate in collection.estimates) >= MANY_CELLS


def solve_times(collection: JointCollection, *, populations: Sequence[int], timer: Timer) -> Iterator[SolveTime]:
    """Work out the time to solve each estimate, within a factor of about 2; nothing if one has too many values.

    populations: numbers of reports in a window.
    """
    if any(max(collection.sizes_of(spec)) > MAX_VALUES for spec in collection.estimates):
        return
    # Where reports are linked, each user of the window is a row, whatever the reports before it.
    linked = collection.linked_ms is not None
    windows = 1 if linked else collection.most_windows
    draw = cache(lambda reports, seed: drawn(collection, reports, seed=seed))
    # Estimates that differ in their attributes alone take as long.
    shapes: dict[object, list[_Measured]] = {}
    for spec in collection.estimates:
        sizes = collection.sizes_of(spec)
        counted = tuple(collection.sizes[place] for place in collection.positions_of(spec.counted))
        shape = sizes, counted, spec.model_copy(update={"name": "", "of": (), "among": None})
        if shape not in shapes:
            wanted = sorted({windows * reports for reports in populations})
            shapes[shape] = _measure(collection, spec, wanted, timer, draw)
        found = shapes[shape]
        possible = math.inf if linked else math.prod(2.0**size - 1 for size in counted)
        for reports in populations:
            at = _at(found, reports=windows * reports, possible=possible)
            yield SolveTime(series=spec.name, reports=reports, first_s=at.first_s, later_s=at.later_s)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Measured:
    """The solves of one sample.

    reports, rows: number of its reports, and of their distinct rows.
    first_s, later_s: see `SolveTime`.
    """

    reports: int
    rows: float
    first_s: float
    later_s: float


def _measure(
    collection: JointCollection,
    spec: EstimateSpec,
    wanted: Sequence[int],
    timer: Timer,
    draw: Callable[[int, int], Drawn],
) -> list[_Measured]:
    """Solve small samples, and those of the wanted sizes that do not take too long; in the order of their sizes."""
    cells = math.prod(collection.sizes_of(spec))
    small = min(_SMALL, max(_FEWEST, _ROW_CELLS // cells))
    steps = itertools.takewhile(lambda size: size < wanted[-1], (small * _STEP**step for step in itertools.count(1)))
    found = [_measured(collection, spec, reports, timer, draw) for reports in (small // _RATIO, small)]
    for reports in sorted(each for each in {*steps, *wanted} if each > small):
        last = found[-1]
        expected_s = max(last.first_s, last.later_s) * reports / last.reports
        if reports > min(_MOST, _MAX_ROW_CELLS // cells) or expected_s > _BUDGET_S:
            break
        found.append(_measured(collection, spec, reports, timer, draw))
    return found


def _measured(
    collection: JointCollection,
    spec: EstimateSpec,
    reports: int,
    timer: Timer,
    draw: Callable[[int, int], Drawn],
) -> _Measured:
    first, later = (counted_of(collection, spec, draw(reports, seed)) for seed in (1, 2))
    answers: list[Estimate] = []
    first_s = timer(lambda: answers.append(_solve(collection, spec, first, before=None)))
    later_s = timer(lambda: answers.append(_solve(collection, spec, later, before=answers[0])))
    return _Measured(reports=reports, rows=len(later[0].rows), first_s=first_s, later_s=later_s)


def _at(found: Sequence[_Measured], *, reports: int, possible: float) -> _Measured:
    """Return the solve of a sample of this size, or else extend the line through the two largest to it."""
    for each in found:
        if each.reports == reports:
            return each
    small, large = found[-2:]
    saturated = large.rows < _SATURATED * small.rows
    rows = large.rows if saturated else min(large.rows * reports / large.reports, possible)
    return _Measured(
        reports=reports,
        rows=rows,
        first_s=_line(small.first_s, large.first_s, small.rows, large.rows, at=rows),
        later_s=_line(small.later_s, large.later_s, small.rows, large.rows, at=rows),
    )


def _solve(
    collection: JointCollection, spec: EstimateSpec, windows: Sequence[RowCounts], *, before: Estimate | None
) -> Estimate:
    window_ms = 0 if before is None else before.window.start_ms + collection.window.size_ms
    weighted = tuple((1.0, (counts,)) for counts in windows)
    return solve(
        collection, WindowTask(series=spec, window_ms=window_ms, final=True, windows=weighted, before=before)
    )


def sample(collection: JointCollection, spec: EstimateSpec, reports: int, *, seed: int) -> tuple[RowCounts, ...]:
    """Draw the counts of reports of a population whose values are of unequal frequency and depend on each other.

    Where reports are linked, the same users report in some windows of a period; else there is one window.
    """
    return counted_of(collection, spec, drawn(collection, reports, seed=seed))


def drawn(collection: JointCollection, reports: int, *, seed: int) -> Drawn:
    """Draw users, and their reports, of a population whose values are of unequal frequency and depend on each other.

    See `stream_ldp.evaluation.prediction.assumed_records`.
    """
    values = assumed_records(collection.sizes, reports, seed=seed)
    # Of another seed: noise from the stream that the values are drawn from would follow them.
    mechanism, entropy = collection.mechanism, SeededEntropy(np.random.SeedSequence((seed, 1)))
    pseudonyms = collection.pseudonyms(reports, secrets=None, time_ms=0, entropy=entropy)
    permanent = mechanism.permanent(values.astype(np.intp), entropy)
    windows = 1 if collection.linked_ms is None else min(collection.most_windows, _LINKED_WINDOWS)
    sent = tuple(mechanism.packed(mechanism.instantaneous(permanent, entropy)) for _ in range(windows))
    return Drawn(values=values, pseudonyms=pseudonyms, windows=sent)


def counted_of(collection: JointCollection, spec: EstimateSpec, users: Drawn) -> tuple[RowCounts, ...]:
    """Count the reports of users in each window, as far as an estimate counts them."""
    bits = list(collection.bits_of(spec.counted))

    def counts_of(packed: NDArray[np.uint8]) -> RowCounts:
        unpacked = np.unpackbits(packed, axis=1, bitorder="little")[:, bits]
        rows = np.concatenate([users.pseudonyms, np.packbits(unpacked, axis=1, bitorder="little")], axis=1)
        return RowCounts.of(rows, bits=collection.pseudonym_bits + len(bits))

    return tuple(counts_of(packed) for packed in users.windows)


def _line(small: float, large: float, rows: float, more_rows: float, *, at: float) -> float:
    """Return the time at a number of rows, on the line through two measured times."""
    slope = max(0.0, (large - small) / (more_rows - rows)) if more_rows > rows else 0.0
    return max(small if at >= rows else 0.0, large + slope * (at - more_rows))
