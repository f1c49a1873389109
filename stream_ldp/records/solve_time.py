"""The time to solve an estimate of records: measured on samples, and extrapolated by the rows that they leave.

An evaluation of the EM map goes through the distinct rows of the reports, so a solve of n reports takes about

    a + b min(w n, p) seconds,

with w windows remembered and p possible rows. Two samples of different sizes, of a population whose attributes
depend on each other, give a and b on the machine that asks. What this cannot know is how many evaluations other data
takes: for five collections of 64 to 25,000 cells and 20,000 to 200,000 other reports of the same population, the
times said of later windows were 0.44 to 1.6 of the true ones, and those of first windows 0.36 to 2.6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.question import Question
from stream_ldp.pipeline.solve_time import SolveTime
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.solve import solve

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.pipeline.solve_time import Timer
    from stream_ldp.records.answer import Estimate
    from stream_ldp.records.collection import JointCollection
    from stream_ldp.records.series import EstimateSpec

__all__ = ["sample", "solve_times"]

#: Rows times cells of the larger sample: about a second.
_ROW_CELLS = 10**8
#: Fewest and most reports of the larger sample. With fewer, there is little but fixed cost to see.
_FEWEST, _MOST = 2_000, 30_000
#: Size of the larger sample over that of the smaller.
_RATIO = 4
#: If the larger sample has not so many times the rows of the smaller, it has nearly all that there are.
_SATURATED = 1.5
#: Share of the users of a sample whose attributes all depend on one number.
_DEPENDENT = 0.5
#: Windows of a period in which the users of a sample report: with more, few users have the same numbers of ones.
_LINKED_WINDOWS = 16


def solve_times(collection: JointCollection, *, populations: Sequence[int], timer: Timer) -> Iterator[SolveTime]:
    """Work out the time to solve each estimate, within a factor of about 2.

    populations: numbers of reports in a window.
    """
    for spec in collection.estimates:
        most = min(_MOST, max(_FEWEST, _ROW_CELLS // math.prod(collection.sizes_of(spec))))
        small, large = (_measured(collection, spec, reports, timer) for reports in (most // _RATIO, most))
        # Few new ones in the larger sample: these are all that reports commonly have.
        saturated = large.rows < _SATURATED * small.rows
        possible = large.rows if saturated else math.prod(2.0**size - 1 for size in collection.sizes_of(spec))
        windows = collection.most_windows
        if collection.linked_ms is not None:
            # Each user of the window is a row, whatever the reports before it.
            possible, windows = math.inf, 1
        for reports in populations:
            rows = min(windows * reports, possible)
            yield SolveTime(
                series=spec.name,
                reports=reports,
                first_s=_line(small.first_s, large.first_s, small.rows, large.rows, at=rows),
                later_s=_line(small.later_s, large.later_s, small.rows, large.rows, at=rows),
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Measured:
    """The solves of one sample.

    rows: number of its distinct rows.
    first_s, later_s: see `SolveTime`.
    """

    rows: int
    first_s: float
    later_s: float


def _measured(collection: JointCollection, spec: EstimateSpec, reports: int, timer: Timer) -> _Measured:
    answers: list[Estimate] = []
    first, later = (sample(collection, spec, reports, seed=seed) for seed in (1, 2))
    first_s = timer(lambda: answers.append(_solve(collection, spec, first, before=None)))
    later_s = timer(lambda: answers.append(_solve(collection, spec, later, before=answers[0])))
    return _Measured(rows=len(later[0].rows), first_s=first_s, later_s=later_s)


def _solve(
    collection: JointCollection, spec: EstimateSpec, windows: Sequence[RowCounts], *, before: Estimate | None
) -> Estimate:
    weighted = tuple((1.0, (counts,)) for counts in windows)
    return solve(collection, Question(series=spec, window_ms=0, final=True, windows=weighted, before=before))


def sample(collection: JointCollection, spec: EstimateSpec, reports: int, *, seed: int) -> tuple[RowCounts, ...]:
    """Draw the counts of reports of a population whose values are of unequal frequency and depend on each other.

    Where reports are linked, the same users report in some windows of a period; else there is one window.
    """
    rng = np.random.default_rng(seed)
    common = rng.random(reports)
    ranks = [np.where(rng.random(reports) < _DEPENDENT, common, rng.random(reports)) for _ in collection.sizes]
    values = np.stack(
        [(size * rank**2).astype(np.int64) for size, rank in zip(collection.sizes, ranks, strict=True)], axis=1
    )
    mechanism, entropy = collection.mechanism, SeededEntropy(seed)
    pseudonyms = collection.pseudonyms(reports, secrets=None, time_ms=0, entropy=entropy)
    permanent = mechanism.permanent(values.astype(np.intp), entropy)
    bits = list(collection.bits_of(spec.of))

    def window() -> RowCounts:
        packed = mechanism.packed(mechanism.instantaneous(permanent, entropy))
        told = np.unpackbits(packed, axis=1, bitorder="little")[:, bits]
        rows = np.concatenate([pseudonyms, np.packbits(told, axis=1, bitorder="little")], axis=1)
        return RowCounts.of(rows, bits=collection.pseudonym_bits + len(bits))

    linked = 1 if collection.linked_ms is None else min(collection.most_windows, _LINKED_WINDOWS)
    return tuple(window() for _ in range(linked))


def _line(small: float, large: float, rows: float, more_rows: float, *, at: float) -> float:
    """Return the time at a number of rows, on the line through two measured times."""
    slope = max(0.0, (large - small) / (more_rows - rows)) if more_rows > rows else 0.0
    return max(small if at >= rows else 0.0, large + slope * (at - more_rows))
