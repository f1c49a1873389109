"""The error to expect of an estimate of records: measured on drawn users, by the estimator that will answer.

No formula has it: the error of the unbiased estimate is up to thousands of times that of what is published, which
allows for shares that are not negative, and is shrunk towards the product of its margins. So users of an assumed
population (`solve_time.drawn`) report and are solved for, a few times for each number of reports that is not too
large. Beyond, the error falls with the root of the number, as it does where reports decide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.evaluation.distance import average_variation_distance, joint_of
from stream_ldp.pipeline.solve_time import MAX_VALUES
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.quantity import quantity
from stream_ldp.records.solve import solve
from stream_ldp.records.solve_time import counted_of
from stream_ldp.steps import steps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream_ldp.records.answer import Estimate
    from stream_ldp.records.collection import JointCollection
    from stream_ldp.records.series import EstimateSpec
    from stream_ldp.records.solve_time import Drawn

#: Most reports that are drawn, and most rows times cells of one solve: either takes a tenth of a second or so.
_MOST, _ROW_CELLS = 30_000, 3_000_000
#: Repeats where solves are long, and fewest and most where they are short; and about the reports of all of them. The
#: distance of a few cells varies by a half from window to window, so that the mean of 24 is known to a tenth.
_LONG, _FEWEST, _REPEATS, _REPORTS = 3, 6, 24, 150_000


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedError:
    """The error of a joint distribution to expect.

    avd: mean average variation distance from the users who report.
    cell: root mean square of the error of a cell.
    """

    avd: float
    cell: float


def expected_errors(
    collection: JointCollection, spec: EstimateSpec, *, reports: Sequence[float], draw: Callable[[int, int], Drawn]
) -> list[ExpectedError | None]:
    """Measure the error of an estimate of a window by itself; None where an attribute has too many values to solve.

    reports: numbers of users who report once.
    draw: draws so many users of a seed, and their reports; see `drawn`.
    """
    sizes = collection.sizes_of(spec)
    if max(sizes) > MAX_VALUES:
        return [None] * len(reports)
    cells, possible = math.prod(sizes), math.prod(2.0**size - 1 for size in sizes)
    is_long = possible * cells > _ROW_CELLS
    most = max(1, _ROW_CELLS // cells) if is_long else _MOST
    measured: dict[int, ExpectedError] = {}
    found: list[ExpectedError | None] = []
    for each in reports:
        count = max(1, round(min(each, most, _MOST)))
        if count not in measured:
            repeats = _LONG if is_long else min(max(_FEWEST, _REPORTS // count), _REPEATS)
            seeds = steps(range(repeats), f"populations of {quantity(count, 'simulated user')}")
            measured[count] = _mean([_measured(collection, spec, draw(count, seed)) for seed in seeds])
        scale = math.sqrt(count / max(each, 1.0))
        found.append(ExpectedError(avd=scale * measured[count].avd, cell=scale * measured[count].cell))
    return found


def _mean(repeats: Sequence[tuple[float, float]]) -> ExpectedError:
    distances, squares = zip(*repeats, strict=True)
    return ExpectedError(avd=float(np.mean(distances)), cell=math.sqrt(float(np.mean(squares))))


def _measured(collection: JointCollection, spec: EstimateSpec, users: Drawn) -> tuple[float, float]:
    """Return the average variation distance of one estimate, and its mean squared error of a cell."""
    (counts, *_) = counted_of(collection, spec, users)
    task: WindowTask[EstimateSpec, Estimate] = WindowTask(
        series=spec, window_ms=0, final=True, windows=((1.0, (counts,)),), before=None
    )
    joint = solve(collection, task).joint()
    positions = list(collection.positions_of(spec.of))
    truth = joint_of(users.values[:, positions], collection.sizes_of(spec))
    return average_variation_distance(joint, truth), float(np.mean((joint - truth) ** 2))
