"""This module measures how long some work takes, and says what the solves of a collection take here."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from stream_ldp.cli.displays.table_text import print_whole
from stream_ldp.kinds import kind_of
from stream_ldp.pipeline.solve_time import SolveTime, seconds, too_slow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream_ldp.collection import Collection

__all__ = ["measured", "show_solve_times", "solve_times"]


def measured(work: Callable[[], object]) -> float:
    """Do some work and return the seconds that it took a processor: other programs of the machine do not count."""
    began = time.thread_time()
    work()
    return time.thread_time() - began


def solve_times(collection: Collection, *, populations: Sequence[int]) -> list[SolveTime]:
    """Measure what the solves of a collection take on this machine; nothing if its kind cannot say."""
    times_of = kind_of(collection).solve_times
    if times_of is None:
        return []
    # The first solve of a process also imports the libraries of the estimators.
    list(times_of(collection, populations=populations[:1], timer=_once))
    return list(times_of(collection, populations=populations, timer=measured))


def show_solve_times(collection: Collection, times: Sequence[SolveTime]) -> None:
    """Print the times, and what they are too long for."""
    console = Console(highlight=False)
    populations = list(dict.fromkeys(each.reports for each in times))
    table = Table(
        "solved for",
        *(f"{reports:,} reports" for reports in populations),
        box=box.SIMPLE,
        title="Time of a solve on this machine: of the first window / of a later one",
        caption="Expect half as much to twice as much, depending on the data.",
    )
    for name in dict.fromkeys(each.series for each in times):
        shown = [f"{seconds(each.first_s)} / {seconds(each.later_s)}" for each in times if each.series == name]
        table.add_row(name, *shown)
    print_whole(console, table)
    for sentence in too_slow(collection, times):
        console.print(f"Too slow: {sentence}.", markup=False, soft_wrap=True)


def _once(work: Callable[[], object]) -> float:
    """Do some work, and say that it took for ever: after a solve that takes long, no larger sample is tried."""
    work()
    return math.inf
