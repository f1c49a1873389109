"""Ways to bound what any w windows cost, on streams that are still, drift, jump and alternate.

python -m tests.benchmarks.streams

Beside turns with what windows learn from each other, as shipped, there are the baselines of Ren et al. (2022,
"LDP-IDS: local differential privacy for infinite data streams"), as published: LBU and LPU divide budget and users
evenly over w windows; LBA absorbs the budget, and LPD and LPA distribute or absorb the users, of windows that repeat
the last release since it is nearer than a new estimate's error would be. In the last two columns, windows learn from
each other and absorb turns, too, by what earlier finals say alone. All are w-event private at the same epsilon, and
estimate frequencies by k-RR. Numbers are mean squared errors of the frequencies, times 10^4.
"""

import sys
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from stream_ldp.filtering.filtered import FilteredEstimate, filter_window

USERS, EPSILON, WIDTH, WINDOWS, REPEATS = 20_000, 1.0, 10, 120, 20

#: Fewest users of a publication, as LDP-IDS has it (u_min).
_FEWEST = 10

#: Mean square of what a final differs from the one before, in variances of a window, from which on it is new.
_SURPRISE = 3.0

Shares = NDArray[np.float64]

FIRST, LAST = np.array([0.5, 0.25, 0.15, 0.1]), np.array([0.2, 0.2, 0.25, 0.35])

#: What is true of all users in a window, by its number.
STREAMS: dict[str, Callable[[int], Shares]] = {
    "still": lambda _: FIRST,
    "drift": lambda number: FIRST + (LAST - FIRST) * number / (WINDOWS - 1),
    "jump": lambda number: FIRST if number < WINDOWS // 2 else LAST,
    "alternate": lambda number: FIRST if number // WIDTH % 2 else LAST,
}


def variance(epsilon: float, users: float) -> float:
    """Return the variance of a frequency by k-RR, on average over the values."""
    grown, values = np.exp(epsilon), len(FIRST)
    rare = (values - 2 + grown) / (grown - 1) ** 2
    return float((rare + (values - 2) / (values * (grown - 1))) / users)


def estimate(shares: Shares, epsilon: float, users: int, rng: np.random.Generator) -> Shares:
    """Let so many users report by k-RR, and estimate the frequencies without bias."""
    values = len(shares)
    p = np.exp(epsilon) / (np.exp(epsilon) + values - 1)
    q = (1 - p) / (values - 1)
    found: Shares = (rng.multinomial(users, q + (p - q) * shares) / users - q) / (p - q)
    return found


def lbu(truth: Callable[[int], Shares], rng: np.random.Generator) -> Iterator[Shares]:
    """All users report in each window, at epsilon / w."""
    return (estimate(truth(number), EPSILON / WIDTH, USERS, rng) for number in range(WINDOWS))


def lpu(truth: Callable[[int], Shares], rng: np.random.Generator) -> Iterator[Shares]:
    """One w-th of the users reports in each window, at epsilon."""
    return (estimate(truth(number), EPSILON, USERS // WIDTH, rng) for number in range(WINDOWS))


def _dissimilarity(found: Shares, release: Shares, noise: float) -> float:
    """Estimate how far a window is from the last release, without the noise of the look."""
    return float(np.mean((found - release) ** 2)) - noise


def lba(truth: Callable[[int], Shares], rng: np.random.Generator) -> Iterator[Shares]:
    """Absorb the budget of windows without a release."""
    unit = EPSILON / (2 * WIDTH)
    release, last, spent = np.full(len(FIRST), 1 / len(FIRST)), -1, 0.0
    for number in range(WINDOWS):
        look = estimate(truth(number), unit, USERS, rng)
        nullified = spent / unit - 1
        if last >= 0 and number - last <= nullified:
            yield release
            continue
        absorbed = number - (last + max(nullified, 0.0))
        budget = unit * min(absorbed, WIDTH)
        if _dissimilarity(look, release, variance(unit, USERS)) > variance(budget, USERS):
            release, last, spent = estimate(truth(number), budget, USERS, rng), number, budget
        yield release


def lpd(truth: Callable[[int], Shares], rng: np.random.Generator) -> Iterator[Shares]:
    """Give half of the users that are left to each release."""
    release, taken = np.full(len(FIRST), 1 / len(FIRST)), [0] * WINDOWS
    looking = USERS // (2 * WIDTH)
    for number in range(WINDOWS):
        look = estimate(truth(number), EPSILON, looking, rng)
        users = (USERS // 2 - sum(taken[max(0, number - WIDTH + 1) : number])) // 2
        if users >= _FEWEST and _dissimilarity(look, release, variance(EPSILON, looking)) > variance(EPSILON, users):
            release, taken[number] = estimate(truth(number), EPSILON, users, rng), users
        yield release


def lpa(truth: Callable[[int], Shares], rng: np.random.Generator) -> Iterator[Shares]:
    """Absorb the users of windows without a release."""
    unit = USERS // (2 * WIDTH)
    release, last, taken = np.full(len(FIRST), 1 / len(FIRST)), -1, 0
    for number in range(WINDOWS):
        look = estimate(truth(number), EPSILON, unit, rng)
        nullified = taken / unit - 1
        if last >= 0 and number - last <= nullified:
            yield release
            continue
        users = unit * int(min(number - (last + max(nullified, 0.0)), WIDTH))
        if _dissimilarity(look, release, variance(EPSILON, unit)) > variance(EPSILON, users):
            release, last, taken = estimate(truth(number), EPSILON, users, rng), number, users
        yield release


def _filtered(before: FilteredEstimate | None, found: Shares, users: int) -> FilteredEstimate:
    """Learn from a window as the service does where users take turns."""
    grown, values = np.exp(EPSILON), len(FIRST)
    p = grown / (grown + values - 1)
    q = (1 - p) / (values - 1)
    told = q + (p - q) * np.clip(found, 0.0, 1.0)
    errors = np.sqrt(told * (1 - told) / users) / (p - q)
    return filter_window(before, found, errors, returning=1 / WIDTH, reports=float(users), elapsed=1, final=True)


def _is_new(found: Shares, before: FilteredEstimate | None, users: int) -> bool:
    """Decide whether a final differs from the one before by more than its error, which both say in public."""
    if before is None:
        return True
    surprise = np.mean((found - np.array(before.estimate)) ** 2) / variance(EPSILON, users)
    return bool(surprise > _SURPRISE)


def turns(truth: Callable[[int], Shares], rng: np.random.Generator) -> Iterator[Shares]:
    """One w-th of the users has a turn in each window, which learns from previous windows: `rotate` as shipped."""
    before: FilteredEstimate | None = None
    for number in range(WINDOWS):
        before = _filtered(before, estimate(truth(number), EPSILON, USERS // WIDTH, rng), USERS // WIDTH)
        yield np.array(before.estimate)


def keeping(truth: Callable[[int], Shares], rng: np.random.Generator) -> Iterator[Shares]:
    """A quarter of the turns is kept for the window after a final that is new; all windows learn, as in `turns`."""
    before: FilteredEstimate | None = None
    unit, kept, is_new = USERS // WIDTH, 0, True
    for number in range(WINDOWS):
        kept = min(kept + unit // 4, WIDTH * unit // 4)
        users = unit - unit // 4 + (kept if is_new else 0)
        kept = 0 if is_new else kept
        found = estimate(truth(number), EPSILON, users, rng)
        is_new = _is_new(found, before, users)
        before = _filtered(before, found, users)
        yield np.array(before.estimate)


def skipping(truth: Callable[[int], Shares], rng: np.random.Generator) -> Iterator[Shares]:
    """The window after a final that is not new is skipped, and the next has its turns; all learn, as in `turns`."""
    before: FilteredEstimate | None = None
    skipped, is_new = False, True
    for number in range(WINDOWS):
        if before is not None and not is_new and not skipped:
            skipped = True
        else:
            users = USERS // WIDTH * (1 + skipped)
            found, skipped = estimate(truth(number), EPSILON, users, rng), False
            is_new = _is_new(found, before, users)
            before = _filtered(before, found, users)
        yield np.array(before.estimate)


WAYS: dict[str, Callable[[Callable[[int], Shares], np.random.Generator], Iterator[Shares]]] = {
    "LBU": lbu,
    "LBA": lba,
    "LPU": lpu,
    "LPD": lpd,
    "LPA": lpa,
    "`rotate`, with previous windows": turns,
    "and turns kept": keeping,
    "or windows skipped": skipping,
}


def errors_of(stream: str, *, repeats: int = REPEATS, seed: int = 1) -> dict[str, float]:
    """Return the mean squared error of each way on a stream, from the w-th window on."""
    truth = STREAMS[stream]
    true = np.array([truth(number) for number in range(WINDOWS)])
    found = {}
    for way, play in WAYS.items():
        rng = np.random.default_rng(seed)
        squares = [((np.array(list(play(truth, rng))) - true)[WIDTH:] ** 2).mean() for _ in range(repeats)]
        found[way] = float(np.mean(squares))
    return found


def main() -> None:
    """Print the table."""
    sys.stdout.write(f"| stream | {' | '.join(WAYS)} |\n|---|{'---:|' * len(WAYS)}\n")
    for stream in STREAMS:
        found = errors_of(stream)
        sys.stdout.write(f"| {stream} | {' | '.join(f'{1e4 * found[way]:.2f}' for way in WAYS)} |\n")


if __name__ == "__main__":
    main()
