"""The time that solves take, before a collection runs, and what it is too long for.

Time is measured by the caller: a `Timer` does some work and says how long it took.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from stream_ldp.collection import Collection
from stream_ldp.pipeline.provisionals import SHARE

#: Does some work, and returns the seconds that it took.
Timer = Callable[[Callable[[], object]], float]


#: Values of an attribute beyond which nothing is measured: the time of a solve may grow with the cube of their
#: number, and with so many it is a second.
MAX_VALUES = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class SolveTime:
    """The time to solve one window of one series.

    series: name of the series.
    reports: number of reports in the window.
    first_s: seconds for the first window, which starts from nothing.
    later_s: seconds for a later window, which starts from the answer before.
    """

    series: str
    reports: int
    first_s: float
    later_s: float


def seconds(time_s: float) -> str:
    """Show a time, given in seconds, with two digits at least."""
    number, unit = (time_s, "s") if time_s >= 1 else (1_000 * time_s, "ms")
    return f"{number:.0f} {unit}" if number >= 10 else f"{number:.2g} {unit}"


def too_slow(collection: Collection, times: Sequence[SolveTime]) -> Iterator[str]:
    """Say what the solves of a collection are too slow for, in sentences, for the fewest reports that show it."""
    window_s = collection.window.pane_ms / 1_000
    for series in collection.series:
        every_s = series.every_ms / 1_000
        for time in sorted((each for each in times if each.series == series.name), key=lambda each: each.reports):
            if time.later_s > SHARE * every_s:
                yield (
                    f"{series.name}: with {time.reports:,} reports a solve takes about {seconds(time.later_s)}, more "
                    f"than {SHARE:.0%} of `every`, {every_s:g} s: most provisional answers are skipped"
                )
                break
    for reports in sorted({time.reports for time in times}):
        all_s = sum(time.later_s for time in times if time.reports == reports)
        if all_s > window_s:
            yield (
                f"with {reports:,} reports in each window, the solves of a window take about {seconds(all_s)}, and a "
                f"window ends every {window_s:g} s: finals are later and later"
            )
            break
