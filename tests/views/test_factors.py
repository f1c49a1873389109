"""The factors of the dependences of many pairs."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.views.factors import MAX_VALUES, factors_of
from stream_ldp.views.margins import centred

MARGINS = [np.full(size, 1 / size) for size in (2, 2, 3, 2, 4, 2, 3, 2)]
PAIRS = list(combinations(range(8), 2))


def loadings(seed: int) -> list[NDArray[np.float64]]:
    """What one factor changes in each attribute's margin."""
    rng = np.random.default_rng(seed)
    found = [rng.normal(size=len(each)) for each in MARGINS]
    return [0.1 * (each - each.mean()) for each in found]


def tables(
    information: float, *, factors: int, seed: int = 3
) -> dict[tuple[int, ...], tuple[NDArray[np.float64], float]]:
    rng = np.random.default_rng(seed)
    drawn = [loadings(number) for number in range(factors)]
    found: dict[tuple[int, ...], tuple[NDArray[np.float64], float]] = {}
    for i, j in PAIRS:
        noise = rng.normal(scale=information**-0.5, size=(len(MARGINS[i]), len(MARGINS[j])))
        true = sum((np.outer(each[i], each[j]) for each in drawn), np.zeros(noise.shape))
        found[i, j] = (true + centred(noise), information)
    return found


def test_factors_are_found_with_less_noise_than_each_pair_has() -> None:
    observed, true = tables(2e4, factors=1), tables(1e30, factors=1)
    found = factors_of(observed, MARGINS)
    assert found.rank == 1
    before = sum(((observed[of][0] - true[of][0]) ** 2).sum() for of in PAIRS)
    after = sum(((found.dependences[of] - true[of][0]) ** 2).sum() for of in PAIRS)
    assert after < before / 2
    unknowns = sum((len(MARGINS[i]) - 1) * (len(MARGINS[j]) - 1) for i, j in PAIRS)
    assert found.share == pytest.approx(12 / unknowns)


def test_noise_alone_has_hardly_ever_factors() -> None:
    """Seeded; with a chance of .1 each, more than 6 of 20 come in one seed of 400."""
    ranks = [factors_of(tables(1e4, factors=0, seed=seed), MARGINS).rank for seed in range(20)]
    assert max(ranks) <= 1
    assert sum(ranks) <= 6


def test_factors_keep_the_margins() -> None:
    for table in factors_of(tables(1e5, factors=2), MARGINS).dependences.values():
        assert table.sum(axis=0) == pytest.approx(np.zeros(table.shape[1]), abs=1e-9)
        assert table.sum(axis=1) == pytest.approx(np.zeros(table.shape[0]), abs=1e-9)


def test_a_few_pairs_and_very_wide_tables_have_none() -> None:
    few = dict(list(tables(1e6, factors=1).items())[:8])
    assert factors_of(few, MARGINS).rank == 0
    wide = [np.full(MAX_VALUES, 1 / MAX_VALUES), *MARGINS]
    assert factors_of(tables(1e6, factors=1), wide).rank == 0
