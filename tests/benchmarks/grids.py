"""Measure ranges of two numbers against the methods of the literature, on generated numbers and Adult's.

python -m tests.benchmarks.grids [--users 100000] [--repeats 3] [--adult adult.csv.gz] [--held-out]

The cells and the shrinkage of the method were chosen with the first populations; the others are of other families.

The product is that of the ranges of each number alone, of which each user tells one. The uniform grid is the best of
one grid, of which each user tells the cell. HDG is that of Yang et al. (2020): grids of each number and of both, of
the guideline's powers of two, by OUE's variance, norm-sub, consistency, and the response matrix.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.statistics import ReportSums
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.questions.asking import asked_sums
from stream_ldp.views.collection import ViewsCollection
from stream_ldp.views.solve import solve
from tests.benchmarks.distributions import _noisy, _norm_sub, adult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from stream_ldp.records.answer import Estimate

    Floats = NDArray[np.float64]
    Answer = Callable[[Floats, Floats], tuple[float, float]]

_RANGES, _PEOPLE, _DOMAIN = 200, 200_000, 64
_TUNED = ("age", "hours-per-week")
_ALPHA_1, _ALPHA_2 = 0.7, 0.03
_FILE = """
collection: grids
mechanism: {{kind: sampled, epsilon: {epsilon}, ask: {ask}, users: {users}}}
attributes: [{{name: x, range: [0, 1]}}, {{name: y, range: [0, 1]}}]
estimates: [{{name: both, of: [x, y]}}]
window: {{size: 10s}}
"""


def populations() -> Iterator[tuple[str, Floats]]:
    random = np.random.default_rng(1)
    for correlation in (0.3, 0.8):
        drawn = random.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], _PEOPLE)
        yield f"normal, {correlation:g}", np.clip(0.5 + drawn / 6, 0, 1)
    first = random.random(_PEOPLE)[:, None] < 0.6
    one, other = random.normal([0.25, 0.3], 0.08, (_PEOPLE, 2)), random.normal([0.75, 0.65], 0.1, (_PEOPLE, 2))
    yield "bimodal", np.clip(np.where(first, one, other), 0, 1)


def held_out() -> Iterator[tuple[str, Floats]]:
    """Yield populations of other families, with which no part of the method was chosen."""
    random = np.random.default_rng(2)
    normal = random.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], _PEOPLE)
    heavy = normal / np.sqrt(random.chisquare(4, (_PEOPLE, 1)) / 4)
    ranks = heavy.argsort(axis=0).argsort(axis=0)
    betas = [np.sort(random.beta(*shape, _PEOPLE)) for shape in ((2, 5), (5, 2))]
    yield "t copula, beta", np.stack([each[of] for each, of in zip(betas, ranks.T, strict=True)], axis=1)
    shared = random.gamma(0.5, 1, (_PEOPLE, 1))
    uniform = (1 + random.exponential(1, (_PEOPLE, 2)) / shared) ** -0.5
    yield "Clayton copula, exponential", np.clip(-np.log(uniform) / 5, 0, 1)
    angle = random.random(_PEOPLE) * 2 * np.pi
    ring = 0.3 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + random.normal(0, 0.05, (_PEOPLE, 2))
    yield "ring", np.clip(0.5 + ring, 0, 1)
    counts = random.poisson(3, _PEOPLE)
    yield "counts, lognormal", np.stack([counts / 20, random.lognormal(counts / 4 - 3.5, 0.8)], axis=1).clip(0, 1)
    first = random.beta(3, 3, _PEOPLE)
    nothing = random.random(_PEOPLE) < 0.5 + 0.4 * (first < 0.5)
    yield "mostly 0", np.stack([first, np.where(nothing, 0, random.beta(1.5, 4, _PEOPLE))], axis=1)
    first = random.random(_PEOPLE)
    yield "falling line", np.stack([first, 1 - first + random.normal(0, 0.15, _PEOPLE)], axis=1).clip(0, 1)


def of_adult(file: Path, *pairs: tuple[str, str]) -> Iterator[tuple[str, Floats]]:
    found = dict(adult(file))
    for pair in pairs:
        yield ", ".join(pair), np.stack([found[name] for name in pair], axis=1)


def estimated(numbers: Floats, epsilon: float, seed: int, *, ask: str = "auto", design_for: int = 0) -> Estimate:
    """Solve a window of users with these pairs of numbers."""
    text = _FILE.format(epsilon=epsilon, ask=ask, users=design_for or len(numbers))
    collection = ViewsCollection.parse(text)
    people = collection.table([tuple(each) for each in numbers.tolist()])
    sums = asked_sums(collection.questions, people, entropy=SeededEntropy(seed), at_once=2**14)
    told = ((1.0, (ReportSums.of(reports=len(numbers), values=sums),)),)
    return solve(
        collection,
        WindowTask(series=collection.series[0], window_ms=0, final=True, windows=told, before=None),
    )


def here(numbers: Floats, epsilon: float, seed: int) -> Answer:
    return _asked(estimated(numbers, epsilon, seed))


def product(numbers: Floats, epsilon: float, seed: int) -> Answer:
    return _asked(estimated(numbers, epsilon, seed, ask="independent"))


def _asked(answer: Estimate) -> Answer:
    def share(low: Floats, high: Floats) -> tuple[float, float]:
        ranges = {name: (float(low[place]), float(high[place])) for place, name in enumerate("xy")}
        (cell,) = answer.within(ranges)
        return cell.estimate, cell.standard_error or 0.0

    return share


def _power_of_two(number: float) -> int:
    return int(2 ** max(1, round(math.log2(number))))


def _cells(users: float, epsilon: float) -> int:
    """The number of cells of each number in a grid of two, by the guideline of Yang et al. (2020)."""
    noise = math.sqrt(users / math.exp(epsilon))
    return _power_of_two(math.sqrt(2 * _ALPHA_2 * math.expm1(epsilon) * noise))


def _grid(numbers: Floats, cells: int, epsilon: float, random: np.random.Generator) -> Floats:
    at = np.minimum((numbers * cells).astype(np.int64), cells - 1)
    held = np.bincount(at @ (cells ** np.arange(at.shape[1])[::-1]), minlength=cells ** at.shape[1])
    return _norm_sub(_noisy(held, epsilon, random)).reshape([cells] * at.shape[1])


def _even(table: Floats) -> Answer:
    edges = [np.linspace(0, 1, size + 1) for size in table.shape]

    def share(low: Floats, high: Floats) -> tuple[float, float]:
        weights = [
            np.diff(np.clip(each, low[place], high[place])) * table.shape[place] for place, each in enumerate(edges)
        ]
        return float(weights[0] @ table @ weights[1]), 0.0

    return share


def uniform_grid(numbers: Floats, epsilon: float, seed: int) -> Answer:
    random = np.random.default_rng(seed)
    return _even(_grid(numbers, _cells(len(numbers), epsilon), epsilon, random))


def hdg(numbers: Floats, epsilon: float, seed: int) -> Answer:
    random = np.random.default_rng(seed)
    parts = np.array_split(random.permutation(len(numbers)), 3)
    users = len(numbers) / 3
    fine = _ALPHA_1**2 * users * math.expm1(epsilon) ** 2 / (2 * math.exp(epsilon))
    many = min(_DOMAIN, _power_of_two(fine ** (1 / 3)))
    few = min(many, _cells(users, epsilon))
    each = many // few
    one = [_grid(numbers[parts[place]][:, [place]], many, epsilon, random) for place in (0, 1)]
    both = _grid(numbers[parts[2]], few, epsilon, random)
    for _ in range(3):
        for place in (0, 1):
            # Weights by the number of noisy cells that are summed over.
            alone, together = one[place].reshape(few, each).sum(axis=1), both.sum(axis=1 - place)
            agreed = (alone / each + together / few) / (1 / each + 1 / few)
            one[place] = one[place] + np.repeat((agreed - alone) / each, each)
            both = both + np.expand_dims((agreed - together) / few, 1 - place)
        one, both = [_norm_sub(table) for table in one], _norm_sub(both.ravel()).reshape(few, few)
    return _even(_response_matrix(one, both, users=len(numbers)))


def _response_matrix(one: list[Floats], both: Floats, *, users: int) -> Floats:
    found, few, many = np.full((_DOMAIN, _DOMAIN), _DOMAIN**-2.0), len(both), len(one[0])
    for _ in range(100):
        before = found
        for place in (0, 1):
            sums = found.sum(axis=1 - place).reshape(many, -1).sum(axis=1)
            factors = np.repeat(one[place] / np.where(sums > 0, sums, 1.0), _DOMAIN // many)
            found = found * np.expand_dims(factors, 1 - place)
        sums = found.reshape(few, _DOMAIN // few, few, _DOMAIN // few).sum(axis=(1, 3))
        found = found * np.kron(both / np.where(sums > 0, sums, 1.0), np.ones((_DOMAIN // few, _DOMAIN // few)))
        if np.abs(found - before).sum() < 1 / users:
            break
    return found


METHODS: dict[str, Callable[[Floats, float, int], Answer]] = {
    "here": here,
    "product": product,
    "uniform grid": uniform_grid,
    "HDG": hdg,
}


def asked_about(numbers: Floats) -> list[tuple[Floats, Floats, float]]:
    """Draw ranges of a tenth, and then of half, of both numbers, each with its true share."""
    random, found = np.random.default_rng(7), []
    for width in (0.1, 0.5):
        for low in random.random((_RANGES, 2)) * (1 - width):
            high = low + width
            found.append((low, high, float(((numbers >= low) & (numbers <= high)).all(axis=1).mean())))
    return found


def errors(answer: Answer, asked: list[tuple[Floats, Floats, float]]) -> Floats:
    """Return the mean absolute error of the ranges of a tenth and of half, and the part within 1.96 errors."""
    told = np.array([answer(low, high) for low, high, _ in asked])
    missed = np.abs(told[:, 0] - [true for *_, true in asked])
    return np.array([missed[:_RANGES].mean(), missed[_RANGES:].mean(), (missed <= 1.96 * told[:, 1]).mean()])


def table(
    people: list[tuple[str, Floats]], *, users: int, repeats: int, epsilons: tuple[float, ...]
) -> Iterator[str]:
    heads = [f"{width}: {name}" for width in (".1", ".5") for name in METHODS]
    yield f"| numbers | epsilon | {' | '.join(heads)} | covered |"
    yield f"|---|{'---:|' * (len(heads) + 2)}"
    for name, numbers in people:
        asked = asked_about(numbers)
        for epsilon in epsilons:
            found = {
                method: np.mean(
                    [
                        errors(answer(np.random.default_rng(repeat).choice(numbers, users), epsilon, repeat), asked)
                        for repeat in range(repeats)
                    ],
                    axis=0,
                )
                for method, answer in METHODS.items()
            }
            shown = [f"{found[method][place]:.4f}".lstrip("0") for place in (0, 1) for method in METHODS]
            yield f"| {name} | {epsilon:g} | {' | '.join(shown)} | {found['here'][2]:.2f} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--epsilons", default="0.5,1,2")
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--held-out", action="store_true", help="populations with which nothing was chosen")
    given = parser.parse_args()
    pairs = [("age", "capital-gain"), ("capital-gain", "hours-per-week")] if given.held_out else [_TUNED]
    of = [
        *(held_out() if given.held_out else populations()),
        *(of_adult(given.adult, *pairs) if given.adult else ()),
    ]
    chosen = tuple(float(each) for each in given.epsilons.split(","))
    for line in table(of, users=given.users, repeats=given.repeats, epsilons=chosen):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
