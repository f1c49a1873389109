"""This benchmark measures the errors of what is made of joint distributions: marginals, conditionals and sums.

python -m tests.benchmarks.joint_sums prints, of tables of `families` with 2, 3 and 5 attributes, 1,000 and 20,000
users and the five noises of `joint_widths`, and of single cells, marginals of one and two attributes, conditionals
given one, sums of random cells and differences of two cells: the share of intervals of 95 % that hold the truth, and
their width over that of intervals by the root mean square of the distances in as many draws, which no estimator can
know. Beside both stand those of the upper bounds without `effects`. There are 8 draws of each of 60 settings, and it
takes some minutes. An argument, such as nltcs.csv, is a table to draw users and random attributes from instead, whose
values are numbers from 0.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from stream_ldp.evaluation.distance import joint_of
from stream_ldp.mechanisms import RRLDP, SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.distribution import Axis, distribution
from stream_ldp.records.estimators import Solution, estimator
from tests.benchmarks.families import FAMILIES, generate
from tests.benchmarks.joint_widths import NOISES

FloatArray = NDArray[np.float64]

USERS, ATTRIBUTES, DRAWS = (1_000, 20_000), (2, 3, 5), 8
#: Least share of what is measured, random sums and differences of a table, and most cells of a table of attributes.
LEAST, RANDOM, MOST_CELLS = 0.01, 10, 600


class Number(NamedTuple):
    """A number that is made of a joint: its kind and place, its distance from the truth, its error, and the bound."""

    kind: str
    place: tuple[object, ...]
    distance: float
    error: float
    bound: float


def numbers(found: Solution, truth: FloatArray, rng: np.random.Generator) -> Iterator[Number]:
    """Iterate over what is measured of an estimate."""
    axes = [Axis(attribute=str(j), values=tuple(map(str, range(size)))) for j, size in enumerate(found.joint.shape)]
    names, marginals = [axis.attribute for axis in axes], found.independence.marginals
    assert found.effects is not None
    known = (found.effects, [each.tolist() for each in marginals])
    wanted: list[tuple[str, list[str], list[str]]] = [
        ("cells", names, []),
        *(("one attribute", [name], []) for name in names),
    ]
    if len(names) > 2:
        wanted += [("two attributes", list(of), []) for of in combinations(names, 2)]
    wanted += [("given one", [of], [given]) for of, given in zip(names, names[1:] + names[:1], strict=True)]
    for kind, of, given in wanted:
        ours, theirs = (
            distribution(axes, found.joint, found.standard_error, of=of, given=given, effects=each)
            for each in (known, None)
        )
        true = distribution(axes, truth, found.standard_error, of=of, given=given).probability
        often = distribution(axes, truth, found.standard_error, of=[*given, *of]).probability >= LEAST
        off = ours.probability - true
        for cell in map(tuple, np.argwhere(often & np.isfinite(off)).tolist()):
            place = (*of, *given, *cell)
            yield Number(kind, place, off[cell], ours.standard_error[cell], theirs.standard_error[cell])
    cells = truth.size
    for kind, number in product(("sum", "difference"), range(RANDOM)):
        weights = np.zeros(cells)
        chosen = rng.choice(cells, 2 if kind == "difference" else rng.integers(2, max(3, cells // 2)), replace=False)
        weights[chosen] = 1.0
        weights[chosen[0]] = -1.0 if kind == "difference" else 1.0
        if (np.abs(weights) * truth.ravel())[chosen].max() < LEAST:
            continue
        whole = weights.reshape(truth.shape)
        error = np.sqrt(found.effects.of_sum(whole, found.standard_error, known[1]))
        bound = float((np.abs(whole) * found.standard_error).sum())
        yield Number(kind, (number,), float((whole * (found.joint - truth)).sum()), float(error), bound)


def populations() -> Iterator[tuple[FloatArray | None, NDArray[np.int64] | None, tuple[int, ...], int, str]]:
    """Iterate over joint distributions, or records, with their sizes, numbers of users and noises."""
    settings = list(product(USERS, NOISES))
    if len(sys.argv) < 2:
        for family, attributes in product(FAMILIES, ATTRIBUTES):
            joint = generate(family, attributes, np.random.default_rng([list(FAMILIES).index(family), attributes, 0]))
            for users, noise in settings[attributes % 3 :: 3]:
                yield joint, None, joint.shape, users, noise
        return
    records = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1, dtype=np.int64)
    rng = np.random.default_rng(5)
    for number, (attributes, (users, noise)) in enumerate(product(ATTRIBUTES, settings)):
        while True:
            part = records[:, rng.choice(records.shape[1], attributes, replace=False)]
            sizes = tuple(int(column.max()) + 1 for column in part.T)
            if np.prod(sizes) <= MOST_CELLS:
                break
        if number % 2 == 0:
            yield None, part, sizes, users, noise


def main() -> None:
    """Print the table."""
    ours = estimator("em", stop="certificate", delta=0.001)
    found: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for joint, records, sizes, users, noise in populations():
        draws: dict[tuple[object, ...], list[Number]] = defaultdict(list)
        mechanism = RRLDP(sizes=sizes, **NOISES[noise])
        for seed in range(DRAWS):
            rng = np.random.default_rng([seed, users])
            if joint is not None:
                cells = rng.choice(joint.size, users, p=joint.ravel())
                people = np.stack(np.unravel_index(cells, sizes), axis=1)
            else:
                assert records is not None
                people = records[rng.integers(0, len(records), users)]
            rows = RowCounts.of(mechanism.perturb(people, entropy=SeededEntropy(seed)), bits=mechanism.bits)
            solution = ours.estimate(rows, sizes=sizes, supports=mechanism.supports)
            for each in numbers(solution, joint_of(people, sizes), np.random.default_rng(1)):
                draws[each.kind, each.place].append(each)
        for (kind, _), some in draws.items():
            if len(some) == DRAWS:
                off, error, bound = np.array([each[2:] for each in some], dtype=np.float64).T
                rms = float(np.sqrt(np.mean(off**2)))
                held = [float(np.mean(np.abs(off) <= 1.96 * each)) for each in (error, bound, rms)]
                found[str(kind)].append((*held, float(error.mean()), float(bound.mean()), rms))
    table = Table("of", "numbers", "held", "by bounds", "by distances", "width", "of bounds")
    for kind, measured in found.items():
        held, bounds, ideal, error, bound, rms = np.array(measured).T
        numbers_of = (held.mean(), bounds.mean(), ideal.mean(), error.sum() / rms.sum(), bound.sum() / rms.sum())
        table.add_row(kind, f"{len(measured):,}", *(f"{number:.3f}" for number in numbers_of))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
