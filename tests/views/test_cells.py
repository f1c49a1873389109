"""Cells of numbers: how many there are, which one holds a number, and what they are called."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.questions.attributes import AskedAttribute
from stream_ldp.views.cells import MAX_CELLS, MIN_CELLS, ViewAxis, cells_of, guideline


def range_of(least: float, largest: float, count: int) -> ViewAxis:
    return ViewAxis(attribute=AskedAttribute(name="age", range=(least, largest)), size=count)


def test_a_cell_is_named_by_its_bounds() -> None:
    assert range_of(0, 100, 4).labels == ("[0,25)", "[25,50)", "[50,75)", "[75,100]")
    assert range_of(0, 1, 3).labels == ("[0,0.333333)", "[0.333333,0.666667)", "[0.666667,1]")


def test_an_edge_is_in_the_upper_cell_but_for_the_last() -> None:
    numbers = np.array([0.0, 24.9, 25.0, 50.0, 99.0, 100.0])
    assert range_of(0, 100, 4).holding(numbers).tolist() == [0, 0, 1, 2, 3, 3]


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 12, 60, 74, 256])
@pytest.mark.parametrize(("least", "largest"), [(0.0, 1.0), (16.0, 90.0), (-0.7, 0.4)])
def test_cells_of_whole_steps_end_midway_between_two_and_none_is_empty(
    steps: int, least: float, largest: float
) -> None:
    """A double at an edge may be in the lower cell, such as the second of twelve steps in the first of six."""
    attribute = AskedAttribute(name="age", range=(least, largest), step=(largest - least) / steps)
    numbers = np.array([attribute.encode(least + step * (largest - least) / steps) for step in range(steps + 1)])
    for cells in range(MIN_CELLS, MAX_CELLS + 1):
        axis = ViewAxis(attribute=attribute, size=cells_of(attribute, cells))
        assert axis.edges is not None
        held = np.histogram(numbers, axis.edges)[0]
        assert held.tolist() == np.bincount(axis.holding(numbers), minlength=axis.size).tolist()
        assert held.min() > 0


def test_cells_grow_with_users_and_epsilon_within_their_bounds() -> None:
    found = [guideline(users, epsilon=epsilon) for users in (1e3, 1e5, 1e7) for epsilon in (0.5, 1.0, 2.0)]
    assert found == [2, 2, 2, 4, 6, 10, 14, 16, 16]
    assert guideline(1, epsilon=0.01) == MIN_CELLS
    assert guideline(1e12, epsilon=4) == MAX_CELLS


@pytest.mark.parametrize("users", [1e4, 1e5, 1e6])
def test_ranges_of_half_end_at_an_edge(users: float) -> None:
    assert guideline(users, epsilon=1.0) % 2 == 0
