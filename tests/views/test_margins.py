"""The margins of attributes, from all that pairs say of them."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.views.margins import margins_of
from stream_ldp.views.tables import MarginalTables

ROWS, COLUMNS = np.array([0.7, 0.2, 0.1]), np.array([0.8, 0.1, 0.05, 0.05])


def told(joint: NDArray[np.float64], *, information: float, seed: int) -> MarginalTables:
    """Add noise to a joint distribution, as a table whose cells are as uncertain tells it and its margins."""
    noisy = joint + np.random.default_rng(seed).normal(scale=information**-0.5, size=joint.shape)
    rows, columns = joint.shape
    found: MarginalTables = {(0,): (noisy.sum(axis=1), information / columns)}
    return found | {(1,): (noisy.sum(axis=0), information / rows), (0, 1): (noisy, information)}


def errors(joint: NDArray[np.float64], *, information: float) -> tuple[float, float]:
    """Return the root mean squared errors of the rows' margin, from the pair and from its sums alone."""
    found = []
    for seed in range(200):
        measured = told(joint, information=information, seed=seed)
        alone: MarginalTables = {of: value for of, value in measured.items() if len(of) == 1}
        found.append(
            [margins_of(each, sizes=joint.shape)[0].probability - joint.sum(axis=1) for each in (measured, alone)]
        )
    both, sums = np.sqrt((np.array(found) ** 2).mean(axis=(0, 2)))
    return float(both), float(sums)


def test_the_cells_of_a_pair_say_more_of_independent_attributes_than_its_sums() -> None:
    both, sums = errors(np.outer(ROWS, COLUMNS), information=2_500)
    assert both < 0.9 * sums


def test_the_sums_of_a_pair_decide_where_attributes_depend_on_each_other() -> None:
    joint = np.outer(ROWS, COLUMNS)
    joint[0, 0] -= 0.15
    joint[0, 1] += 0.15
    both, sums = errors(joint, information=1e6)
    assert both < 1.02 * sums


def test_weak_dependence_that_all_pairs_share_moves_margins_no_farther_than_noise() -> None:
    """Seeded: 30 windows of 12 attributes; each pair's dependence is half a standard error, and all of one sign.

    Where each pair alone says how far it may move a margin, the error is 1.11 times that of the sums alone.
    """
    margin, information, rng = np.array([0.8, 0.2]), 2_500.0, np.random.default_rng(3)
    truth = np.outer(margin, margin) + 0.01 * np.outer([1, -1], [1, -1])
    off = []
    for _ in range(30):
        pairs = {of: truth + rng.normal(scale=information**-0.5, size=(2, 2)) for of in combinations(range(12), 2)}
        sums: MarginalTables = {}
        for place in range(12):
            rows = [table.sum(axis=1 if of[0] == place else 0) for of, table in pairs.items() if place in of]
            sums[place,] = np.mean(rows, axis=0), information / 2 * len(rows)
        known: MarginalTables = {of: (table, information) for of, table in pairs.items()}
        off.append(
            [[each.probability - margin for each in margins_of(of, sizes=(2,) * 12)] for of in (sums | known, sums)]
        )
    both, alone = np.sqrt((np.array(off) ** 2).mean(axis=(0, 2, 3)))
    assert both < 1.05 * alone


def test_noise_moves_no_share_of_two_that_is_far_from_none() -> None:
    drawn = np.random.default_rng(0).normal(loc=0.15, scale=0.02, size=400)
    found = [
        margins_of({(0,): (np.array([share, 1 - share]), 0.02**-2)}, sizes=(2,))[0].probability[0] for share in drawn
    ]
    # The mean of 400 is off by a twentieth of an error.
    assert np.mean(found) == pytest.approx(0.15, abs=0.2 * 0.02)


def test_noise_that_drowns_a_margin_leaves_the_uniform_distribution() -> None:
    (found,) = margins_of({(0,): (np.array([-0.9, 0.2, 1.7]), 0.05)}, sizes=(3,))
    assert found.probability == pytest.approx(np.full(3, 1 / 3), abs=0.2)
    (found,) = margins_of({(0,): (np.array([-0.9, 0.2, 1.7]), 1e4)}, sizes=(3,))
    assert found.probability == pytest.approx([0, 0, 1], abs=0.02)


def test_attributes_that_nobody_reported_are_uniform() -> None:
    found = margins_of({(0,): (ROWS, 1e6)}, sizes=(3, 2))
    assert found[0].probability == pytest.approx(ROWS, abs=0.01)
    assert found[1].probability == pytest.approx([0.5, 0.5])


def test_uniform_attributes_say_nothing_of_each_other() -> None:
    uniform = np.full((3, 4), 1 / 12)
    for margin, _ in margins_of(told(uniform, information=1e12, seed=0), sizes=(3, 4)):
        assert margin == pytest.approx(np.full(len(margin), 1 / len(margin)), abs=1e-4)


def test_an_attribute_of_one_value_is_certain() -> None:
    joint = np.array([[0.3, 0.7]])
    found = margins_of(told(joint, information=1e5, seed=1), sizes=(1, 2))
    assert found[0].probability == pytest.approx([1.0])
    assert found[1].probability == pytest.approx([0.3, 0.7], abs=0.02)
