"""The test of independence of views."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import chdtrc

from stream_ldp.mechanisms import DirectResponse, FrequencyOracle, HadamardResponse, SeededEntropy, SubsetResponse
from stream_ldp.views.fitting import Fit
from stream_ldp.views.independence import dependence
from stream_ldp.views.tables import ViewTable

SIZES = (4, 3, 2)
EVEN, SKEWED = 1.0, 0.85
ORACLES: dict[str, Callable[[int], FrequencyOracle]] = {
    "k-rr": lambda size: DirectResponse(size=size, epsilon=2.0),
    "k-subset": lambda size: SubsetResponse(size=size, epsilon=2.0, members=2),
    "hadamard": lambda size: HadamardResponse(size=size, epsilon=2.0, hash_bits=1),
}


def margin(size: int, most: float) -> NDArray[np.float64]:
    """A distribution of which the first value has `most`, or as much as the others if that is 1."""
    return np.full(size, 1 / size) if most == 1.0 else np.array([most, *[(1 - most) / (size - 1)] * (size - 1)])


def told(
    views: Sequence[tuple[int, ...]],
    oracle: Callable[[int], FrequencyOracle],
    columns: Sequence[NDArray[np.int64]],
    *,
    seed: int,
) -> Fit:
    """The fit of real answers, of as many users to each view."""
    entropy, tables = SeededEntropy(seed), []
    for of, users in zip(views, np.array_split(np.arange(len(columns[0])), len(views)), strict=True):
        shape = tuple(SIZES[place] for place in of)
        asked = oracle(math.prod(shape))
        cells = np.ravel_multi_index(tuple(columns[place][users] for place in of), shape)
        sums = asked.sums(asked.perturb(cells, entropy=entropy))
        found = asked.estimate(sums, reports=len(users)).reshape(shape)
        tables.append(ViewTable(of=of, oracle=asked, reports=len(users), frequencies=found))
    return Fit(tables, sizes=SIZES)


PAIR, FOUR = [(0, 1)], [(0, 1), (0, 2), (1, 2), (0,)]


@pytest.mark.parametrize(
    ("oracle", "most", "views"),
    # Every day, each oracle, margin and number of views in some combination.
    [
        pytest.param(oracle, most, views, marks=() if views is PAIR and most == SKEWED else pytest.mark.long)
        for oracle in ORACLES
        for most in (EVEN, SKEWED)
        for views in (PAIR, FOUR)
        if (oracle, most, views) != ("k-rr", EVEN, FOUR)
    ]
    + [("k-rr", EVEN, FOUR)],
)
def test_independent_attributes_are_found_dependent_as_rarely_as_is_said(
    oracle: str, most: float, views: list[tuple[int, ...]]
) -> None:
    """Seeded, real answers of 6,000 users. Of 125 windows, one in twenty is 6.25, and 17 are four deviations more.

    The mean of as many statistics of chi-square, of six degrees of freedom, is 6 and off by 0.31. With the variance
    of uniform margins for skewed ones, a third of the windows is rejected.
    """
    rng, rejected, statistics = np.random.default_rng(3), 0, []
    for seed in range(125):
        columns = [rng.choice(size, 6_000, p=margin(size, most)) for size in SIZES]
        shown = dependence(told(views, ORACLES[oracle], columns, seed=seed), of=(0, 1))
        assert shown.freedom == 6
        statistics.append(shown.statistic)
        rejected += bool(chdtrc(shown.freedom, shown.statistic) < 0.05)
    assert rejected < 17
    assert np.mean(statistics) == pytest.approx(6.0, abs=1.0)


def test_attributes_that_depend_on_each_other_are_found() -> None:
    rng = np.random.default_rng(4)
    first = rng.choice(4, 20_000, p=margin(4, SKEWED))
    second = np.where(rng.random(20_000) < 0.8, first % 3, rng.choice(3, 20_000))
    columns = [first, second, rng.choice(2, 20_000)]
    fit = told([(0, 1), (0, 2), (1, 2)], ORACLES["k-rr"], columns, seed=5)
    pair, all_three = dependence(fit, of=(0, 1)), dependence(fit, of=(2, 1, 0))
    assert chdtrc(pair.freedom, pair.statistic) < 1e-6
    assert all_three.freedom == 6 + 3 + 2
    assert all_three.statistic > pair.statistic


def test_pairs_that_nobody_has_reported_show_nothing() -> None:
    fit = told([(0,), (1, 2)], ORACLES["k-rr"], [np.zeros(100, dtype=np.int64)] * 3, seed=6)
    assert dependence(fit, of=(0, 1)) == (0.0, 0)
    assert dependence(fit, of=(0, 1, 2)).freedom == 2


def test_what_windows_before_tell_makes_the_same_dependence_surer() -> None:
    rng = np.random.default_rng(7)
    columns = [rng.choice(size, 5_000) for size in SIZES]
    fit = told([(0, 1)], ORACLES["hadamard"], columns, seed=8)
    table, information = fit.measured[0, 1]
    followed = fit.with_measured({(0, 1): (table, 4.0 * information)})
    assert dependence(followed, of=(0, 1)).statistic == pytest.approx(4.0 * dependence(fit, of=(0, 1)).statistic)
