"""Tests of contractions: a table of patterns and a tree of prefixes are two ways to the same sums over all rows."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import contraction
from stream_ldp.records.estimators.contraction import NamedValues, PatternTable, PrefixTree, arrange
from stream_ldp.records.estimators.patterns import Patterns
from tests.records.estimators.examples import random_reports

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.records.estimators import FloatArray
    from stream_ldp.records.estimators.contraction import Contraction
    from stream_ldp.records.estimators.patterns import Feature

RATIOS = (0.2, 0.0, 0.5, 0.9, 0.1)
SHAPES = [(3,), (2, 2), (8, 8), (3, 5, 2), (2, 2, 2, 2, 2), (18, 3), (3, 18, 2), (17, 17)]


def likelihoods(counts: RowCounts, sizes: tuple[int, ...]) -> list[FloatArray]:
    """Make the likelihoods of each attribute's values, row by row."""
    parts = np.split(counts.unpacked(), np.cumsum(sizes)[:-1], axis=1)
    return [np.where(part, 1.0, ratio) for part, ratio in zip(parts, RATIOS, strict=False)]


def by_cell(factors: list[FloatArray]) -> FloatArray:
    """Multiply the factors of each row to a table of rows by cells."""
    return reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1), factors)


def table(patterns: list[Patterns], counts: FloatArray) -> Contraction:
    made = PatternTable.of(patterns, counts)
    assert made is not None
    return made


@pytest.mark.parametrize("sizes", SHAPES)
@pytest.mark.parametrize("largest", [2**22, 60, 1], ids=["whole", "in-blocks", "row-by-row"])
@pytest.mark.parametrize("combinations", [2, 0], ids=["with-a-head", "without-a-head"])
def test_a_tree_sums_over_rows_what_a_table_of_rows_by_cells_does(
    sizes: tuple[int, ...], largest: int, combinations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contraction, "LARGEST_ARRAY", largest)
    monkeypatch.setattr(contraction, "_COMBINATIONS_A_ROW", combinations)
    assert_sums(PrefixTree, sizes)


@pytest.mark.parametrize("sizes", SHAPES[:5])
def test_a_table_of_patterns_sums_over_rows_what_a_table_of_rows_by_cells_does(
    sizes: tuple[int, ...],
) -> None:
    assert_sums(table, sizes)


def assert_sums(make: Callable[[list[Patterns], FloatArray], Contraction], sizes: tuple[int, ...]) -> None:
    counts = random_reports(sizes, n=40_000 if make is table else 300)
    factors = likelihoods(counts, sizes)
    weights = counts.counts.astype(np.float64)
    made = make(Patterns.of(counts, sizes=sizes, ratios=RATIOS[: len(sizes)]), weights)
    joint = np.random.default_rng(2).dirichlet(np.ones(int(np.prod(sizes)))).reshape(sizes)
    rows = by_cell(factors)
    z = rows @ joint.ravel()
    # The order of the rows is the contraction's own: any function of them is compared by its sum.
    assert made.counts.sum() == weights.sum()
    forward = made.forward(joint)
    assert float(np.vdot(made.counts, np.log(forward))) == pytest.approx(float(weights @ np.log(z)), rel=1e-12)
    np.testing.assert_allclose(
        made.backward(made.counts / forward, [None] * len(sizes)).ravel(), (weights / z) @ rows, rtol=1e-12
    )
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(sizes[0], sizes[0]))).Q
    features = [lambda part: np.square(part) @ turn, *[None] * (len(sizes) - 1)]
    expected = weights @ by_cell([np.square(factors[0]) @ turn, *factors[1:]])
    np.testing.assert_allclose(made.backward(made.counts, features).ravel(), expected, rtol=1e-9, atol=1e-9)


def test_a_table_is_taken_where_patterns_are_few_and_a_tree_where_most_combinations_never_occur() -> None:
    few, many = random_reports((8, 8), n=40_000), random_reports((8, 8, 8), n=2_000)
    for sizes, counts, kind in (((8, 8), few, PatternTable), ((8, 8, 8), many, PrefixTree)):
        patterns = Patterns.of(counts, sizes=sizes, ratios=RATIOS[: len(sizes)])
        assert isinstance(arrange(patterns, counts.counts.astype(np.float64)), kind)


@pytest.mark.parametrize("largest", [2**22, 60], ids=["whole", "in-blocks"])
def test_rows_that_name_a_value_are_summed_as_a_table_does(largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    size, named = 30, np.array([4, 4, 7, 0, 29, 7])
    patterns = Patterns(support=np.eye(size, dtype=np.uint8)[named], codes=np.arange(6), levels=np.array([0.2, 1.0]))
    counts = np.array([3.0, 1.0, 2.0, 5.0, 1.0, 4.0])
    dense = table([patterns], counts)
    monkeypatch.setattr(contraction, "LARGEST_ARRAY", largest)
    found = NamedValues.of([patterns], counts)
    assert found is not None
    joint = np.random.default_rng(1).dirichlet(np.ones(size))
    np.testing.assert_allclose(found.forward(joint), dense.forward(joint).ravel())
    features: tuple[Feature | None, ...] = (None, lambda likelihoods: likelihoods**2)
    for feature in features:
        np.testing.assert_allclose(
            found.backward(found.counts, [feature]), dense.backward(dense.counts, [feature]).ravel()
        )
    chosen, of_each = found.select([0])
    assert (len(chosen), chosen[0].codes.tolist(), of_each.tolist()) == (1, list(range(6)), counts.tolist())


def test_reports_of_many_named_values_take_no_dense_product() -> None:
    size = 2_100
    patterns = Patterns(support=np.eye(size, dtype=np.uint8), codes=np.arange(size), levels=np.array([0.2, 1.0]))
    assert isinstance(arrange([patterns], np.ones(size)), NamedValues)
