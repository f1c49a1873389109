"""Measure how long some work takes, and say what the solves of a collection take here."""

import time
from collections.abc import Callable, Sequence

from stream_ldp.collection import Collection
from stream_ldp.kinds import kind_of, load_solver
from stream_ldp.pipeline.plan import Section
from stream_ldp.pipeline.solve_time import SolveTime, seconds, too_slow


def measured(work: Callable[[], object]) -> float:
    """Do some work and return the seconds that it took a processor: other programs of the machine do not count."""
    began = time.thread_time()
    work()
    return time.thread_time() - began


def solve_times(collection: Collection, *, populations: Sequence[int]) -> list[SolveTime]:
    """Measure what the solves of a collection take on this machine; nothing if it cannot be said."""
    times_of = kind_of(collection).solve_times
    if times_of is None:
        return []
    load_solver(collection)  # or the first solve would import it
    return list(times_of(collection, populations=populations, timer=measured))


def _both(time: SolveTime) -> str:
    """Show both times of a solve, with their unit once if it is the same."""
    first, later = seconds(time.first_s), seconds(time.later_s)
    (number, unit), other = first.split(), later.split()[1]
    return f"{number} / {later}" if unit == other else f"{first} / {later}"


def solve_section(collection: Collection, times: Sequence[SolveTime]) -> Section:
    """Return the times as a section of a plan, with what they are too long for."""
    if not times:
        return Section(title="How long a solve takes is not measured for this collection.")
    return Section(
        title="Time of a solve on this machine, by reports: the first window / a later one",
        columns=("solved for", *(f"{reports:,}" for reports in dict.fromkeys(each.reports for each in times))),
        rows=tuple(
            (
                name,
                *(_both(each) for each in times if each.series == name),
            )
            for name in dict.fromkeys(each.series for each in times)
        ),
        notes=(
            "Expect half as much to twice as much, depending on the data.",
            *(f"Too slow: {sentence}." for sentence in too_slow(collection, times)),
        ),
    )
