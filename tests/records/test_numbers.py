"""Ranges of numbers in joint distributions of cells."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError
from stream_ldp.pipeline.curve import Curve
from stream_ldp.records.numbers import Box, NumberAxis, even_curve, leading

CELLS = np.linspace(0.0, 1.0, 5)


def curve_of(numbers: NDArray[np.float64], deviations: int = 0) -> Curve:
    edges = np.linspace(0, 1, 129)
    below = np.searchsorted(np.sort(numbers), edges, side="right") / len(numbers)
    return Curve(edges=edges, below=below, deviations=np.zeros((deviations, 129)))


def axis_of(numbers: NDArray[np.float64], name: str = "x") -> NumberAxis:
    margin = np.histogram(numbers, CELLS)[0] / len(numbers)
    return NumberAxis.of(name, CELLS, margin, curve_of(numbers))


def people(correlation: float, count: int = 100_000) -> NDArray[np.float64]:
    drawn = np.random.default_rng(1).multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], count)
    return np.clip(0.5 + drawn / 6, 0, 1)


def box_of(numbers: NDArray[np.float64], low: tuple[float, float], high: tuple[float, float]) -> Box:
    joint = np.histogramdd(numbers, bins=[CELLS, CELLS])[0] / len(numbers)
    axes = {place: (axis_of(numbers[:, place]), low[place], high[place]) for place in (0, 1)}
    return Box(joint=joint, errors=0 * joint, deviations=np.zeros((0, 4, 4)), numbers=axes, kept=[])


def test_independent_numbers_have_the_product_of_their_shares() -> None:
    numbers = people(0.0)
    first, second = axis_of(numbers[:, 0]), axis_of(numbers[:, 1])
    joint = np.outer(first.shares(), second.shares())
    box = Box(
        joint=joint,
        errors=0 * joint,
        deviations=np.zeros((0, 4, 4)),
        numbers={0: (first, 0.2, 0.7), 1: (second, 0.1, 0.45)},
        kept=[],
    )
    expected = (first.parts(0.2, 0.7) @ first.shares()) * (second.parts(0.1, 0.45) @ second.shares())
    assert box.shares()[0] == pytest.approx(expected, abs=1e-9)


def test_a_range_of_whole_cells_is_the_sum_of_them() -> None:
    numbers = people(0.8)
    share, _ = box_of(numbers, (0.25, 0.0), (0.75, 0.5)).shares()
    true = ((numbers[:, 0] >= 0.25) & (numbers[:, 0] < 0.75) & (numbers[:, 1] < 0.5)).mean()
    assert share == pytest.approx(true, abs=2e-4)


def test_ranges_that_share_all_numbers_share_all_users() -> None:
    numbers = people(0.8)
    shares = [box_of(numbers, (low, 0.0), (low + 0.2, 1.0)).shares()[0] for low in (0.0, 0.2, 0.4, 0.6, 0.8)]
    assert sum(shares) == pytest.approx(1.0, abs=1e-6)


def test_interpolated_dependence_is_nearer_than_even_cells() -> None:
    """A range within a cell, on the diagonal, has more users than both numbers alone let expect."""
    numbers = people(0.8)
    box = box_of(numbers, (0.3, 0.3), (0.45, 0.45))
    share, error = box.shares()
    true = ((numbers >= 0.3) & (numbers <= 0.45)).all(axis=1).mean()
    even = float(box.numbers[0][0].parts(0.3, 0.45) @ box.joint @ box.numbers[1][0].parts(0.3, 0.45))
    assert abs(share - true) < 0.7 * abs(even - true)
    assert error > 0


@pytest.mark.parametrize("correlation", [0.3, 0.8, -0.95])
def test_ranges_that_cut_cells_are_as_far_off_as_their_errors(correlation: float) -> None:
    """The cells are exact, so all that is unknown is how users depend on each other within one."""
    numbers, random = people(correlation), np.random.default_rng(5)
    missed, errors = [], []
    for low in random.random((40, 2)) * 0.5:
        share, error = box_of(numbers, tuple(low), tuple(low + 0.5)).shares()
        missed.append(float(share) - ((numbers >= low) & (numbers <= low + 0.5)).all(axis=1).mean())
        errors.append(float(error))
    assert 0.3 < np.linalg.norm(missed) / np.linalg.norm(errors) < 1.5
    assert (np.abs(missed) < 1.96 * np.array(errors) + 1e-3).mean() > 0.9


def test_ranges_of_whole_cells_are_as_exact_as_the_cells() -> None:
    assert box_of(people(0.8), (0.25, 0.0), (0.75, 0.5)).shares()[1] == pytest.approx(0.0, abs=1e-9)


def test_errors_of_cells_add_up_as_their_covariance_says() -> None:
    numbers, moved = people(0.3), np.zeros((1, 4, 4))
    moved[0, 1, 1], moved[0, 2, 2] = 0.01, -0.01
    joint = box_of(numbers, (0.0, 0.0), (1.0, 1.0)).joint
    axis, other = axis_of(numbers[:, 0]), axis_of(numbers[:, 1])
    for high, expected in ((0.5, 0.01), (0.75, 0.0)):
        box = Box(
            joint=joint,
            errors=np.abs(moved[0]),
            deviations=moved,
            numbers={0: (axis, 0.25, high), 1: (other, 0.25, high)},
            kept=[],
        )
        assert box.shares()[1] == pytest.approx(expected, abs=2e-4)


def test_users_of_an_unknown_cell_are_spread_evenly_with_an_error() -> None:
    axis = NumberAxis.of("x", CELLS, np.full(4, 0.25), even_curve(CELLS, None))
    assert axis.parts(0.0, 0.125) == pytest.approx([0.5, 0, 0, 0])
    assert np.sqrt((axis.moved(0.0, 0.125) ** 2).sum(axis=0)) == pytest.approx([0.25, 0, 0, 0])
    assert (axis.moved(0.25, 0.75) == 0).all()


def test_an_axis_has_the_shares_of_its_cells() -> None:
    """The number alone may say otherwise: both are made to agree."""
    margin = np.array([0.1, 0.2, 0.3, 0.4])
    axis = NumberAxis.of("x", CELLS, margin, curve_of(people(0.0)[:, 0]))
    assert axis.shares() == pytest.approx(margin, abs=1e-8)
    assert axis.shares(finer=8).reshape(4, 8).sum(axis=1) == pytest.approx(margin, abs=1e-8)


def test_users_who_share_a_number_are_in_the_ranges_that_have_it() -> None:
    """A half has 0.4 and a quarter 0.5, the bound of two cells; all others are spread evenly."""
    curve = Curve.of([0.0, 0.4, 0.5, 1.0], [0.125, 0.5, 0.25, 0.125], [[0.01] * 3], exact=[False, True, True, False])
    margin = np.diff(curve.at_bounds(CELLS)[0])
    axis = NumberAxis.of("x", CELLS, margin, curve)
    for ends in ((0.0, 1.0), (0.3, 0.4), (0.41, 0.49), (0.4, 0.5), (0.45, 0.5), (0.5, 0.9), (0.51, 0.9), (0.25, 0.5)):
        assert axis.parts(*ends) @ margin == pytest.approx(curve.share(*ends)[0], abs=1e-6)
        assert axis.parts(*ends, finer=8) @ axis.shares(finer=8) == pytest.approx(curve.share(*ends)[0], abs=1e-6)
    without = axis.within(0.3, 0.4, below=True)
    assert axis.parts(*without) @ margin == pytest.approx(curve.share(0.3, 0.4, side="left")[0], abs=1e-6)


@pytest.mark.parametrize(
    ("ends", "problem"),
    [((0.4, 0.4), "smaller one first"), ((2.0, 3.0), "is from 0 to 1"), ((np.nan, 1.0), "smaller")],
)
def test_a_range_beyond_the_numbers_is_refused(ends: tuple[float, float], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        axis_of(people(0.0)[:, 0]).within(*ends)


def test_an_axis_that_lacks_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match="lack bounds"):
        NumberAxis(attribute="x", cells=(0.0, 0.5, 1.0), edges=(0.0, 1.0), below=(0.0, 1.0))
    with pytest.raises(ValueError, match="differ in number"):
        NumberAxis(attribute="x", cells=(0.0, 1.0), edges=(0.0, 1.0), below=(0.0,))


def test_leading_components_keep_the_covariance() -> None:
    random = np.random.default_rng(3)
    deviations = random.standard_normal((64, 3)) @ random.standard_normal((3, 10))
    found = leading(deviations)
    assert len(found) == 3
    assert found.T @ found == pytest.approx(deviations.T @ deviations, rel=1e-4, abs=1e-4)
