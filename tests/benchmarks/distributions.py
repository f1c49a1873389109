"""Measure distributions of numbers against the methods of the literature, on generated numbers and Adult's.

python -m tests.benchmarks.distributions [--users 100000] [--repeats 5] [--adult adult.csv.gz]
python -m tests.benchmarks.distributions --beside [--repeats 5]

With `--beside`, it prints how many intervals hold of ranges that begin or end at or beside a number that many share.

The published methods are square wave with EMS (Li et al., 2020), hierarchical histograms (Kulkarni et al., 2019: four
parts a level, OUE, constrained inference) and AHEAD (Du et al., 2021), each as its authors describe it.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import json
import math
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.marginals.distribution import fit_distribution
from stream_ldp.marginals.numbers import estimate_distribution
from stream_ldp.mechanisms import PiecewiseResponse
from stream_ldp.mechanisms.piecewise import square_wave
from stream_ldp.pipeline.curve import Curve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

QUANTILES = (0.5, 0.95, 0.99)
_BINS = 256
_RANGES = 200
_MANY = 1_000_000
_TOPS = {"age": 100, "capital-gain": 100_000, "hours-per-week": 100}


def smoothed(channel: Floats, counts: Floats, *, tolerance: float = 1e-5) -> Floats:
    """Estimate a distribution by EM with smoothing (Li et al., 2020, Algorithm 1)."""
    found = np.full(len(channel), 1 / len(channel))
    for _ in range(2_000):
        posterior = found * (channel @ (counts / (found @ channel)))
        padded = np.pad(posterior / posterior.sum(), 1, mode="edge")
        smooth = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
        smooth /= smooth.sum()
        change, found = np.abs(smooth - found).max(), smooth
        if change < tolerance:
            break
    return found


def outcomes(response: PiecewiseResponse, numbers: Floats, random: np.random.Generator) -> Floats:
    """Let users with these numbers in [0, 1] answer, and count the outcomes."""
    place = numbers * response.steps
    low = np.minimum(place.astype(np.int64), response.steps - 1)
    points = low + (random.random(len(numbers)) < place - low)
    held = np.bincount(points, minlength=response.inputs)
    counts: Floats = np.sum(
        [random.multinomial(count, row) for count, row in zip(held, response.channel, strict=True)], axis=0
    ).astype(np.float64)
    return counts


def ours(numbers: Floats, epsilon: float, random: np.random.Generator) -> Curve:
    response = square_wave(epsilon)
    return fit_distribution(response.channel, outcomes(response, numbers, random)).curve(0.0, 1.0)


def ours_in_steps(numbers: Floats, epsilon: float, random: np.random.Generator) -> Curve:
    """Estimate whole numbers up to 100, of a `range` with a `step`."""
    response = square_wave(epsilon)
    found = estimate_distribution(response, outcomes(response, numbers, random), steps=100)
    if found is None:
        raise TypeError("a square wave shows a distribution")
    return found.curve(0.0, 1.0)


def square_wave_ems(numbers: Floats, epsilon: float, random: np.random.Generator) -> Curve:
    share = square_wave(epsilon).width / square_wave(epsilon).steps
    response = PiecewiseResponse(steps=_BINS, width=max(1, round(share * _BINS)), epsilon=epsilon)
    found = smoothed(response.channel, outcomes(response, numbers, random))
    return Curve.of(np.linspace(0, 1, _BINS + 1).tolist(), found.tolist(), [])


def _noisy(held: NDArray[np.int64], epsilon: float, random: np.random.Generator) -> Floats:
    """Estimate frequencies from the optimised unary encoding of users, of whom so many hold each value."""
    users, q = int(held.sum()), 1 / (math.exp(epsilon) + 1)
    sent = random.binomial(held, 0.5) + random.binomial(users - held, q)
    found: Floats = (sent / users - q) / (0.5 - q)
    return found


def hierarchical(numbers: Floats, epsilon: float, random: np.random.Generator, *, parts: int = 4) -> Curve:
    levels = round(math.log(_BINS, parts))
    bins = np.minimum((numbers * _BINS).astype(np.int64), _BINS - 1)
    groups = np.array_split(random.permutation(len(bins)), levels)
    raw = [
        _noisy(np.bincount(bins[of] // parts ** (levels - level), minlength=parts**level), epsilon, random)
        for level, of in enumerate(groups, start=1)
    ]
    up = [raw[-1]]
    for height, level in enumerate(reversed(raw[:-1]), start=2):
        weight = (parts**height - parts ** (height - 1)) / (parts**height - 1)
        up.append(weight * level + (1 - weight) * up[-1].reshape(-1, parts).sum(axis=1))
    above = np.ones(1)
    for level in reversed(up):
        children = level.reshape(-1, parts)
        above = (children + ((above - children.sum(axis=1)) / parts)[:, None]).ravel()
    return Curve(
        edges=np.linspace(0, 1, _BINS + 1),
        below=np.concatenate([[0], above.cumsum()]),
        deviations=np.zeros((0, _BINS + 1)),
    )


def ahead(numbers: Floats, epsilon: float, random: np.random.Generator, *, parts: int = 2) -> Curve:
    levels = round(math.log(_BINS, parts))
    bins = np.minimum((numbers * _BINS).astype(np.int64), _BINS - 1)
    groups = np.array_split(random.permutation(len(bins)), levels)
    variance = 4 * math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2 / (len(bins) / levels)
    threshold = math.sqrt((parts + 1) * variance)
    nodes, splits = [(0, _BINS)], [True]
    children: list[list[list[int]]] = []
    estimates: list[Floats] = []
    for of in groups:
        below: list[tuple[int, int]] = []
        of_nodes = []
        for (low, high), split in zip(nodes, splits, strict=True):
            width = (high - low) // parts if split and high - low >= parts else high - low
            of_nodes.append(list(range(len(below), len(below) + (high - low) // width)))
            below += [(start, start + width) for start in range(low, high, width)]
        children.append(of_nodes)
        starts = np.array([low for low, _ in below])
        held = np.bincount(np.searchsorted(starts, bins[of], side="right") - 1, minlength=len(below))
        estimates.append(_norm_sub(_noisy(held, epsilon, random)))
        nodes, splits = below, (estimates[-1] > threshold).tolist()
    spread, up = np.full(len(nodes), variance), [estimates[-1]]
    for level in range(levels - 1, 0, -1):
        sums = np.array([up[-1][each].sum() for each in children[level]])
        spreads = np.array([spread[each].sum() for each in children[level]])
        spread = 1 / (1 / variance + 1 / spreads)
        up.append(spread * (estimates[level - 1] / variance + sums / spreads))
    above = np.ones(1)
    for level, own in enumerate(reversed(up)):
        found = own.copy()
        for parent, each in enumerate(children[level]):
            found[each] += (above[parent] - found[each].sum()) / len(each)
        above = found
    edges = np.array([low for low, _ in nodes] + [_BINS]) / _BINS
    return Curve(edges=edges, below=np.concatenate([[0], above.cumsum()]), deviations=np.zeros((0, len(edges))))


def _norm_sub(found: Floats) -> Floats:
    positive = found > 0
    while True:
        shifted: Floats = np.where(positive, found + (1 - found[positive].sum()) / positive.sum(), 0.0)
        if (shifted >= 0).all():
            return shifted
        positive &= shifted > 0


METHODS: dict[str, Callable[[Floats, float, np.random.Generator], Curve]] = {
    "here": ours,
    "square wave, EMS": square_wave_ems,
    "hierarchical": hierarchical,
    "AHEAD": ahead,
}


def generated() -> Iterator[tuple[str, Floats]]:
    random = np.random.default_rng(1)
    yield "beta(2, 5)", random.beta(2, 5, 200_000)
    two = np.where(
        random.random(200_000) < 0.6, random.normal(0.25, 0.07, 200_000), random.normal(0.75, 0.1, 200_000)
    )
    yield "bimodal", two.clip(0, 1)
    ranks = random.zipf(1.5, 600_000)
    yield "Zipf", (ranks[ranks <= 1_000][:200_000] - 1) / 999


def adult(file: Path) -> Iterator[tuple[str, Floats]]:
    """Yield Adult's numbers, which the file has in bins, spread evenly over these, as whole numbers."""
    random = np.random.default_rng(9)
    domain = json.loads(file.with_name("adult.domain.json").read_text(encoding="utf-8"))
    labels = {each["name"]: each["labels"] for each in domain["attributes"]}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    for name, top in _TOPS.items():
        ends = [[int(part) for part in re.findall(r"\d+", label)] for label in labels[name]]
        lows = np.array([each[0] for each in ends])
        highs = np.array(
            [each[-1] + 1 if not label.endswith("+") else top for each, label in zip(ends, labels[name], strict=True)]
        )
        codes = np.array([int(row[name]) for row in rows])
        yield name, np.floor(lows[codes] + random.random(len(codes)) * (highs - lows)[codes]) / top


def errors(curve: Curve, numbers: Floats, random: np.random.Generator) -> Floats:
    """Return the Wasserstein distance, the errors of random ranges and of quantiles, and the coverage of ranges."""
    held = np.sort(numbers)
    grid = np.linspace(0, 1, 2_001)
    found = [np.abs(curve.at(grid, side="right")[0] - np.searchsorted(held, grid, "right") / len(held)).mean()]
    within = []
    for width in (0.1, 0.5):
        missed = []
        for low in (random.random(_RANGES) * (1 - width)).tolist():
            share, error = curve.share(low, low + width)
            true = (np.searchsorted(held, low + width, "right") - np.searchsorted(held, low, "left")) / len(held)
            missed.append(abs(share - true))
            within.append(missed[-1] <= 1.96 * error)
        found.append(float(np.mean(missed)))
    found += [abs(curve.quantile(each) - float(np.quantile(held, each))) for each in QUANTILES]
    return np.array([*found, np.mean(within)])


#: Shares of users with one number, and ranges around it: from so far below it to so far above.
_SHARED = (0.03, 0.05, 0.1, 0.2)
_BESIDE = ((-20, -1), (-10, -1), (-5, -1), (-10, 0), (0, 10), (1, 5), (1, 10), (1, 20), (-2, 2), (-5, 5))


def peaked(users: int, peak: float, share: float, *, step: bool, random: np.random.Generator) -> Floats:
    """Draw numbers up to 100 of a bell, and of a share of users that have one number."""
    numbers = random.normal(38, 14, users).clip(0, 100)
    numbers = np.rint(numbers) if step else numbers
    numbers[random.random(users) < share] = peak
    return numbers / 100


def beside(*, users: tuple[int, ...], repeats: int, epsilons: tuple[float, ...]) -> Iterator[str]:
    """Yield the part of the intervals that hold, of ranges beside a peak, by its share of users."""
    yield f"| numbers | epsilon | users | {' | '.join(f'{share:.0%}' for share in _SHARED)} |"
    yield f"|---|{'---:|' * (2 + len(_SHARED))}"
    for step, epsilon, count in itertools.product((True, False), epsilons, users):
        covered = [
            np.mean([_held(count, share, epsilon, step=step, repeat=repeat) for repeat in range(repeats)])
            for share in _SHARED
        ]
        of = "whole, with a step" if step else "any"
        yield f"| {of} | {epsilon:g} | {count:,} | {' | '.join(f'{each:.2f}' for each in covered)} |"


def _held(users: int, share: float, epsilon: float, *, step: bool, repeat: int) -> float:
    random, peak = np.random.default_rng(repeat), (40, 22, 57)[repeat % 3]
    numbers = peaked(users, peak, share, step=step, random=random)
    curve = (ours_in_steps if step else ours)(numbers, epsilon, random)
    lows, highs = (np.array([_BESIDE]) + peak).T[..., 0] / 100
    shares, errors = curve.shares(lows, highs)
    held = np.sort(peaked(_MANY, peak, share, step=step, random=np.random.default_rng(0)))
    off = 1e-9
    true = (np.searchsorted(held, highs + off) - np.searchsorted(held, lows - off)) / _MANY
    return float(np.mean(np.abs(shares - true) <= 1.96 * errors))


def table(
    populations: list[tuple[str, Floats]], *, users: int, repeats: int, epsilons: tuple[float, ...]
) -> Iterator[str]:
    yield "| numbers | epsilon | method | wasserstein | ranges .1 | ranges .5 | median | 95 % | 99 % | covered |"
    yield "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|"
    for name, population in populations:
        for epsilon in epsilons:
            of_name = {"here, with a step": ours_in_steps} if _TOPS.get(name) == 100 else {}
            for method, estimate in (METHODS | of_name).items():
                found = []
                for repeat in range(repeats):
                    random = np.random.default_rng(repeat)
                    held = random.choice(population, users)
                    found.append(errors(estimate(held, epsilon, random), population, np.random.default_rng(7)))
                *means, covered = np.mean(found, axis=0).tolist()
                shown = [*(f"{each:.4f}" for each in means), f"{covered:.2f}" if method.startswith("here") else "-"]
                yield f"| {name} | {epsilon:g} | {method} | {' | '.join(shown)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--epsilons", default="0.5,1,2")
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--beside", action="store_true")
    given = parser.parse_args()
    of = [*generated(), *(adult(given.adult) if given.adult else ())]
    chosen = tuple(float(each) for each in given.epsilons.split(","))
    lines = (
        beside(users=(3_000, 10_000, 30_000, 100_000), repeats=given.repeats, epsilons=chosen)
        if given.beside
        else table(of, users=given.users, repeats=given.repeats, epsilons=chosen)
    )
    for line in lines:
        sys.stdout.write(line + "\n")
