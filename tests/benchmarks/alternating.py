"""What windows that alternate learn from the last window, from the one a period before, and where it has to be found.

python -m tests.benchmarks.alternating

Frequencies of four values by k-RR at epsilon 1 from 2,000 users a window, others in each, over 8 days of 6 windows;
mean squared errors of the last 4 days, relative to those of each window alone.
"""

import sys
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from stream_ldp.collection import MAX_PERIOD
from stream_ldp.filtering.filtered import FilteredEstimate, filter_window
from stream_ldp.filtering.period import CYCLES, period_of

USERS, EPSILON, VALUES, PERIOD, DAYS, REPEATS = 2_000, 1.0, 4, 6, 8, 20

DAY, NIGHT = np.array([0.5, 0.25, 0.15, 0.1]), np.array([0.2, 0.2, 0.25, 0.35])

#: What is true of the users of a window, by its number.
STREAMS: dict[str, Callable[[int], NDArray[np.float64]]] = {
    "day and night alternate": lambda number: DAY if number % PERIOD < PERIOD // 2 else NIGHT,
    "the other population in each window": lambda number: DAY if number % 2 else NIGHT,
    "each window of a day differs": lambda number: DAY + (NIGHT - DAY) * (number % PERIOD) / (PERIOD - 1),
    "nothing changes": lambda _: DAY,
    "all drifts": lambda number: DAY + (NIGHT - DAY) * number / (DAYS * PERIOD),
}


def relative_errors(
    truth: Callable[[int], NDArray[np.float64]], *, repeats: int = REPEATS, seed: int = 1
) -> dict[str, float]:
    """Return the mean squared error of each way to learn, relative to that of windows alone."""
    rng = np.random.default_rng(seed)
    p = np.exp(EPSILON) / (np.exp(EPSILON) + VALUES - 1)
    q = (1 - p) / (VALUES - 1)
    errors: dict[str, list[float]] = {"alone": [], "last": [], "period": [], "found": []}
    for _ in range(repeats):
        finals: dict[str, list[FilteredEstimate]] = {"last": [], "period": [], "found": []}
        for number in range(DAYS * PERIOD):
            shares = truth(number)
            counts = rng.multinomial(USERS, q + (p - q) * shares)
            found = (counts / USERS - q) / (p - q)
            told = q + (p - q) * np.clip(found, 0.0, 1.0)
            noise = np.sqrt(told * (1 - told) / USERS) / (p - q)
            for way, lag in (("last", 1), ("period", PERIOD), ("found", _found(finals["found"]))):
                known = finals[way]
                elapsed = lag if len(known) >= lag else 1
                before = known[-elapsed] if known else None
                known.append(
                    filter_window(
                        before,
                        found,
                        noise,
                        returning=0.0,
                        reports=float(USERS),
                        elapsed=elapsed,
                        forgotten=elapsed if way == "found" else 1,
                        final=True,
                    )
                )
            if number >= DAYS * PERIOD // 2:
                errors["alone"].append(float(np.mean((found - shares) ** 2)))
                for way, known in finals.items():
                    errors[way].append(float(np.mean((np.array(known[-1].estimate) - shares) ** 2)))
    return {way: float(np.mean(each) / np.mean(errors["alone"])) for way, each in errors.items() if way != "alone"}


def _found(finals: Sequence[FilteredEstimate]) -> int:
    """Return how many windows before the one is that an answer learns from with `period: auto`."""
    numbers, errors = ([getattr(each, name) for each in finals] for name in ("estimate", "standard_error"))
    return (period_of(np.array(numbers), np.array(errors), most=MAX_PERIOD // CYCLES) if finals else None) or 1


def main() -> None:
    """Print the table."""
    sys.stdout.write("| stream | from the last window | from the window a period before | with `period: auto` |\n")
    sys.stdout.write("|---|---:|---:|---:|\n")
    for name, truth in STREAMS.items():
        found = relative_errors(truth)
        sys.stdout.write(f"| {name} | {found['last']:.2f} | {found['period']:.2f} | {found['found']:.2f} |\n")


if __name__ == "__main__":
    main()
