"""Measure works side by side: in turns, by the processor's time, as ratios of neighbouring runs."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Seconds that a sample takes at least: a clock of the processor's time ticks in microseconds.
_MIN_SECONDS = 0.02


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """A function that does some units of work, such as 100,000 reports."""

    run: Callable[[], object]
    units: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """A row of the table.

    work: what is done.
    unit: what a time is given for, such as "us a report"; its first word is the unit of time.
    now: as the package does it.
    against: the same work done otherwise, by name: the form before, a peer, or a limit that nothing can beat.
    """

    work: str
    unit: str
    now: Work
    against: dict[str, Work] = field(default_factory=dict)


def measured(comparison: Comparison, *, rounds: int, least: float = _MIN_SECONDS) -> dict[str, Any]:
    """Measure all works of a comparison in turns, and describe them as JSON.

    rounds: how often each is measured; medians are taken over the rounds, also of the ratios, whose two times are
        neighbours: what slows the machine down slows both.
    least: seconds that a sample takes at least, by repetition.
    """
    scale = {"us": 1e6, "ms": 1e3, "s": 1.0}[comparison.unit.split()[0]]
    works = {"now": comparison.now, **comparison.against}
    repeats = {name: _repeats(work, least) for name, work in works.items()}
    samples: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            samples[name].append(scale * _seconds(work, repeats[name]))
    return {"work": comparison.work, "unit": comparison.unit, **compared(samples.pop("now"), samples)}


def compared(now: Sequence[float], against: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Describe as JSON what took how long in each round, now and otherwise."""
    return {
        "now": _rounded(statistics.median(now)),
        "against": {
            name: {
                "time": _rounded(statistics.median(times)),
                "ratio": _rounded(statistics.median(other / ours for other, ours in zip(times, now, strict=True))),
            }
            for name, times in against.items()
        },
    }


def _repeats(work: Work, least: float) -> int:
    once = work.units * _seconds(work, 1)
    return max(1, round(least / max(once, 1e-6)))


def _seconds(work: Work, repeats: int) -> float:
    """Processor's seconds a unit."""
    began = time.process_time()
    for _ in range(repeats):
        work.run()
    return (time.process_time() - began) / (repeats * work.units)


def _rounded(number: float) -> float:
    return float(f"{number:.3g}")
