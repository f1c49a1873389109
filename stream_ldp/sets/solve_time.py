"""The time to solve a phase of an epoch, which does not depend on the number of reports: their sums are solved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.pipeline.solve_time import SolveTime
from stream_ldp.sets.plan import epoch_of_noise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.pipeline.solve_time import Timer
    from stream_ldp.sets.collection import ItemCollection


def solve_times(collection: ItemCollection, *, populations: Sequence[int], timer: Timer) -> Iterator[SolveTime]:
    """Measure the time to solve each phase.

    populations: numbers of reports in a window.
    """
    epoch = epoch_of_noise(collection.method)
    for series in collection.series:
        seconds = timer(lambda: next(epoch))
        for reports in populations:
            yield SolveTime(series=series.name, reports=reports, first_s=seconds, later_s=seconds)
