"""Cells of numbers: how many there are, which one holds a number, and what they are called."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.questions.attributes import AskedAttribute
from stream_ldp.views.cells import MAX_CELLS, MIN_CELLS, ViewAxis, guideline


def cells_of(least: float, largest: float, count: int) -> ViewAxis:
    return ViewAxis(attribute=AskedAttribute(name="age", range=(least, largest)), size=count)


def test_a_cell_is_named_by_its_bounds() -> None:
    assert cells_of(0, 100, 4).labels == ("[0,25)", "[25,50)", "[50,75)", "[75,100]")
    assert cells_of(0, 1, 3).labels == ("[0,0.333333)", "[0.333333,0.666667)", "[0.666667,1]")


def test_an_edge_is_in_the_upper_cell_but_for_the_last() -> None:
    numbers = np.array([0.0, 24.9, 25.0, 50.0, 99.0, 100.0])
    assert cells_of(0, 100, 4).holding(numbers).tolist() == [0, 0, 1, 2, 3, 3]


def test_cells_grow_with_users_and_epsilon_within_their_bounds() -> None:
    found = [guideline(users, epsilon=epsilon) for users in (1e3, 1e5, 1e7) for epsilon in (0.5, 1.0, 2.0)]
    assert found == [2, 2, 2, 4, 6, 10, 14, 16, 16]
    assert guideline(1, epsilon=0.01) == MIN_CELLS
    assert guideline(1e12, epsilon=4) == MAX_CELLS


@pytest.mark.parametrize("users", [1e4, 1e5, 1e6])
def test_ranges_of_half_end_at_an_edge(users: float) -> None:
    assert guideline(users, epsilon=1.0) % 2 == 0
