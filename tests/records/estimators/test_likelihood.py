"""Tests of the likelihood: contracted, it is still that of every single report."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.mechanisms import RRLDP, SeededEntropy, Support
from stream_ldp.mechanisms.k_rr import KRR
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import FloatArray, contraction, patterns
from stream_ldp.records.estimators.likelihood import Likelihood
from tests.records.estimators.examples import TINY_SIZES, channels, draw, drawn_rows, joints, likelihood_table


@given(data=st.data(), sizes=st.sampled_from(TINY_SIZES), channel=channels)
@pytest.mark.parametrize("largest", [2**22, 0, 1], ids=["as-it-chooses", "report-by-report", "one-a-block"])
def test_log_likelihood_and_gradient_are_those_of_the_table_of_reports_by_cells(
    data: st.DataObject, sizes: tuple[int, ...], channel: Support, largest: int
) -> None:
    counts, joint = data.draw(drawn_rows(sizes)), data.draw(joints(sizes))
    joint = 0.9 * joint + 0.1 / joint.size
    table = likelihood_table(counts, sizes=sizes, channel=channel)
    table /= table.max(axis=1, keepdims=True)
    z = table @ joint.ravel()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contraction, "LARGEST_ARRAY", largest)
        score = Likelihood.of(counts, sizes=sizes, supports=[channel] * len(sizes)).score(joint)
    assert score.log_likelihood == pytest.approx(float(counts.counts @ np.log(z)), rel=1e-9, abs=1e-9)
    gradient = (counts.counts / z) @ table / counts.reports
    np.testing.assert_allclose(score.gradient.ravel(), gradient, rtol=1e-9)


@pytest.mark.parametrize("sizes", [(8, 8), (3, 5, 2), (4, 17)])
def test_patterns_and_reports_give_the_same_score(sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    joint = np.random.default_rng(1).dirichlet(np.ones(int(np.prod(sizes)))).reshape(sizes)
    counts, channel = draw(joint, 3_000, f=0.3, seed=1)
    narrow = Likelihood.of(counts, sizes=sizes, supports=[channel] * len(sizes))
    monkeypatch.setattr(contraction, "LARGEST_ARRAY", 2_000)
    monkeypatch.setattr(patterns, "_NARROW_BITS", 0)
    wide = Likelihood.of(counts, sizes=sizes, supports=[channel] * len(sizes))
    assert wide.rows == len(counts.counts)
    assert narrow.score(joint).log_likelihood == pytest.approx(wide.score(joint).log_likelihood, rel=1e-12)
    np.testing.assert_allclose(narrow.score(joint).gradient, wide.score(joint).gradient, rtol=1e-9)


@pytest.mark.parametrize("sizes", [(4, 4), (2, 3, 2), (6, 5, 6), (18, 2)], ids=str)
def test_attributes_alone_have_the_likelihood_of_their_own_bits(sizes: tuple[int, ...]) -> None:
    """From a table of patterns, or from the rows of a tree, of which a few or all differ."""
    joint = np.random.default_rng(1).dirichlet(np.ones(int(np.prod(sizes)))).reshape(sizes)
    counts, channel = draw(joint, 1_000, f=0.3, seed=1)
    subject = Likelihood.of(counts, sizes=sizes, supports=[channel] * len(sizes))
    parts = np.split(counts.unpacked(), np.cumsum(sizes)[:-1], axis=1)
    for attributes in [*((j,) for j in range(len(sizes))), *combinations(range(len(sizes)), 2)]:
        shape = tuple(sizes[j] for j in attributes)
        bits = np.concatenate([parts[j] for j in attributes], axis=1)
        rows = np.repeat(np.packbits(bits, axis=1, bitorder="little"), counts.counts.astype(np.int64), axis=0)
        own = Likelihood.of(RowCounts.of(rows, bits=sum(shape)), sizes=shape, supports=[channel] * len(shape))
        marginal = joint.sum(axis=tuple(j for j in range(len(sizes)) if j not in attributes))
        found, expected = subject.select(*attributes).score(marginal), own.score(marginal)
        assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12)
        np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-9)


def test_rows_contracted_are_bounded_by_the_patterns_not_by_the_reports() -> None:
    """There are 2^8 - 1 patterns of 8 bits, since all clear says as little as all set."""
    joint = np.full((8, 8), 1 / 64)
    rows = []
    for reports in (20_000, 400_000):
        counts, channel = draw(joint, reports, f=0.5, seed=2, response=(0.5, 0.75))
        rows.append(Likelihood.of(counts, sizes=(8, 8), supports=[channel] * len((8, 8))).rows)
    assert rows[0] <= rows[1] == 255**2


@given(data=st.data(), sizes=st.sampled_from(TINY_SIZES), one=st.sampled_from([0.6, 1.0]))
def test_a_channel_that_never_sets_or_never_clears_a_bit_gives_no_nan(
    data: st.DataObject, sizes: tuple[int, ...], one: float
) -> None:
    zero = 0.0 if one < 1.0 else data.draw(st.sampled_from([0.0, 0.3]))
    joint: FloatArray = data.draw(joints(sizes))
    counts = data.draw(drawn_rows(sizes))
    channel = Support.of_bits(one=one, zero=zero)
    subject = Likelihood.of(counts, sizes=sizes, supports=[channel] * len(sizes))
    possible = likelihood_table(counts, sizes=sizes, channel=channel).max(axis=1) > 0
    assert subject.reports == pytest.approx(float(counts.counts[possible].sum()))
    if subject.reports:
        score = subject.score(joint)
        assert np.isfinite(score.log_likelihood)
        assert np.all(np.isfinite(score.gradient))


def test_rows_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"sizes \(2, 3\) have 5 bits, the rows have 6"):
        Likelihood.of(RowCounts.empty(6), sizes=(2, 3), supports=[Support.of_bits(one=0.7, zero=0.2)] * len((2, 3)))


def test_linked_users_are_scored_as_the_table_of_users_by_cells() -> None:
    sizes = (2, 3)
    rng = np.random.default_rng(1)
    odds = rng.choice([0.2, 0.5, 1.0, 1.5, 4.0], size=(40, 5))
    joint = rng.dirichlet(np.ones(6)).reshape(sizes)
    table = np.einsum("na,nb->nab", odds[:, :2], odds[:, 2:]).reshape(40, 6)
    score = Likelihood.of_linked(odds, sizes=sizes).score(joint)
    gradient = (1.0 / (table @ joint.ravel())) @ table / 40
    np.testing.assert_allclose(score.gradient.ravel(), gradient, rtol=1e-12)
    other = Likelihood.of_linked(odds, sizes=sizes).score(np.full(sizes, 1 / 6))
    expected = np.log(table @ joint.ravel()).sum() - np.log(table.mean(axis=1)).sum()
    assert score.log_likelihood - other.log_likelihood == pytest.approx(expected)


def test_one_linked_report_of_each_user_says_what_the_report_says() -> None:
    mechanism = RRLDP(sizes=(2, 3), f=0.25, p=0.25, q=0.75)
    values = np.random.default_rng(1).integers(2, size=(300, 2))
    rows = mechanism.perturb(values, entropy=SeededEntropy(1))
    ones = np.unpackbits(rows, axis=1, count=5, bitorder="little").astype(np.int64)
    plain = Likelihood.of(RowCounts.of(rows, bits=5), sizes=(2, 3), supports=mechanism.supports)
    linked = Likelihood.of_linked(mechanism.linked_odds(ones, np.ones(300, dtype=np.int64)), sizes=(2, 3))
    joint = np.array([[0.1, 0.2, 0.3], [0.2, 0.1, 0.1]])
    np.testing.assert_allclose(linked.score(joint).gradient, plain.score(joint).gradient, rtol=1e-12)


def test_odds_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"sizes \(2, 3\) have 5 values, the odds have 6"):
        Likelihood.of_linked(np.ones((1, 6)), sizes=(2, 3))


@pytest.mark.parametrize("cached", [2**16, 100], ids=["at-once", "in-parts"])
def test_all_pairs_at_once_say_what_each_pair_says_by_itself(cached: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = (4, 18, 3)
    joint = np.random.default_rng(1).dirichlet(np.ones(int(np.prod(sizes)))).reshape(sizes)
    counts, channel = draw(joint, 2_000, f=0.3, seed=1)
    subject = Likelihood.of(counts, sizes=sizes, supports=[channel] * 3)
    features = [np.square, np.sqrt, np.exp]
    monkeypatch.setattr(patterns, "CACHED", cached)
    products, squares = subject.mean_products_of_pairs(features)
    ends = np.cumsum([0, *sizes])
    for i, j in combinations(range(3), 2):
        pair, place = subject.of_few(i, j), np.s_[ends[i] : ends[i + 1], ends[j] : ends[j + 1]]
        np.testing.assert_allclose(products[place], pair.mean_products([features[i], features[j]]), rtol=1e-12)
        squared = [lambda x, of=features[each]: of(x) ** 2 for each in (i, j)]
        np.testing.assert_allclose(squares[place], pair.mean_products(squared), rtol=1e-12)


def test_reports_that_name_one_of_many_values_are_reported_by_the_value_alone() -> None:
    """Of 18 values, wide ones: 700 rows are 36 entries of a table, which say what the rows say one by one."""
    sizes, rng = (18, 2), np.random.default_rng(1)
    mechanism = KRR(sizes=sizes, attribute_epsilon=2.0)
    values = np.stack([rng.integers(size, size=700) for size in sizes], axis=1)
    bits = np.concatenate([np.eye(size, dtype=np.uint8)[values[:, j]] for j, size in enumerate(sizes)], axis=1)
    rows = RowCounts.of(np.packbits(bits, axis=1, bitorder="little"), bits=20)
    subject = Likelihood.of(rows, sizes=sizes, supports=mechanism.supports)
    assert subject.rows == 36
    joint = rng.dirichlet(np.ones(36)).reshape(sizes)
    of_value = [
        np.where(np.eye(size) == 1, 1.0, each.ratio) for size, each in zip(sizes, mechanism.supports, strict=True)
    ]
    cells = of_value[0][values[:, 0]][:, :, None] * of_value[1][values[:, 1]][:, None, :]
    z = (cells * joint).sum(axis=(1, 2))
    score = subject.score(joint)
    assert score.log_likelihood == pytest.approx(float(np.log(z).sum()), rel=1e-12)
    np.testing.assert_allclose(score.gradient, (cells / z[:, None, None]).mean(axis=0), rtol=1e-12)
