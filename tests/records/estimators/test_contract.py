"""Tests of the promises that every form of every method makes."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from stream_ldp.mechanisms import Support
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import Method, Stop
from tests.records.estimators.examples import draw, expected_counts, solve

FORMS = list(product(Method, Stop))
#: What single bits do not settle, the paper's LASSO settles by the order of the cells.
IDENTIFIED = [form for form in FORMS if form[1] is Stop.CERTIFICATE or form[0] is Method.EM]
CERTIFIED = [(Method.EM, Stop.CERTIFICATE), (Method.LREMH, Stop.CERTIFICATE)]

TRUTH = np.random.default_rng(1).dirichlet(np.ones(12)).reshape(2, 3, 2)


def swapped(counts: RowCounts, order: list[int]) -> RowCounts:
    """Reorder the bits of the reports."""
    rows = np.packbits(counts.unpacked()[:, order], axis=1, bitorder="little")
    every = RowCounts.of(np.repeat(rows, counts.counts.astype(np.int64), axis=0), bits=counts.bits)
    assert every.reports == counts.reports
    return every


def plain(part: Any) -> Any:
    return part.tolist() if isinstance(part, np.ndarray) else part.model_dump()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("reports", [0, 1, 2, 50])
def test_few_reports_or_none_give_finite_numbers_that_json_can_hold(form: tuple[Method, Stop], reports: int) -> None:
    counts, channel = draw(TRUTH, reports, f=0.5, seed=2, response=(0.5, 0.75))
    solution = solve(*form, counts, sizes=TRUTH.shape, channel=channel)
    assert solution.joint.sum() == pytest.approx(1, abs=1e-12)
    assert solution.joint.min() >= 0
    json.dumps(asdict(solution), default=plain, allow_nan=False)


@pytest.mark.parametrize("form", FORMS)
def test_reports_that_the_channel_cannot_produce_say_nothing(form: tuple[Method, Stop]) -> None:
    """A channel that never sets a false bit: 11 of two bits is impossible, 00 possible."""
    rows = np.packbits(
        np.array([[1, 0, 0, 1], [1, 1, 0, 1], [0, 0, 1, 0]], dtype=np.uint8), axis=1, bitorder="little"
    )
    solution = solve(*form, RowCounts.of(rows, bits=4), sizes=(2, 2), channel=Support.of_bits(one=0.5, zero=0.0))
    assert np.all(np.isfinite(solution.joint))
    assert np.all(np.isfinite(solution.standard_error))
    none = solve(*form, RowCounts.of(rows[1:2], bits=4), sizes=(2, 2), channel=Support.of_bits(one=0.5, zero=0.0))
    np.testing.assert_array_equal(none.joint, np.full((2, 2), 0.25))
    assert not none.certified


@pytest.mark.parametrize("form", IDENTIFIED)
def test_attributes_in_another_order_have_the_same_joint_in_that_order(form: tuple[Method, Stop]) -> None:
    counts, channel = draw(TRUTH, 4_000, f=0.4, seed=3)
    one = solve(*form, counts, sizes=(2, 3, 2), channel=channel)
    other = solve(*form, swapped(counts, [2, 3, 4, 5, 6, 0, 1]), sizes=(3, 2, 2), channel=channel)
    # Pairs are fitted one after the other, until they are right to a hundredth of a user.
    np.testing.assert_allclose(other.joint, one.joint.transpose(1, 2, 0), rtol=0, atol=0.01 / 4_000)
    np.testing.assert_allclose(other.standard_error, one.standard_error.transpose(1, 2, 0), rtol=0.01)
    assert other.independence.statistic == pytest.approx(one.independence.statistic, abs=1e-6)


@pytest.mark.parametrize("form", IDENTIFIED)
def test_values_in_another_order_have_the_same_probabilities(form: tuple[Method, Stop]) -> None:
    """LASSO ends within a gap, and where it ends depends on the order: its cells differ by 1e-6."""
    counts, channel = draw(TRUTH, 4_000, f=0.4, seed=4)
    one = solve(*form, counts, sizes=(2, 3, 2), channel=channel)
    other = solve(*form, swapped(counts, [0, 1, 4, 2, 3, 5, 6]), sizes=(2, 3, 2), channel=channel)
    np.testing.assert_allclose(other.joint, one.joint[:, [2, 0, 1]], rtol=0, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_the_number_of_threads_does_not_show_in_the_ninth_digit(form: tuple[Method, Stop]) -> None:
    truth = np.random.default_rng(5).dirichlet(np.ones(18 * 12)).reshape(18, 12)
    counts, channel = draw(truth, 4_000, f=0.3, seed=5)
    joints = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            joints.append(solve(*form, counts, sizes=truth.shape, channel=channel).joint)
    np.testing.assert_allclose(joints[0], joints[1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_weighted_reports_count_by_their_weight(form: tuple[Method, Stop]) -> None:
    counts, channel = draw(TRUTH, 2_000, f=0.4, seed=6)
    plain = solve(*form, counts.scaled(3.0), sizes=TRUTH.shape, channel=channel)
    rows = np.repeat(counts.rows, 3 * counts.counts.astype(np.int64), axis=0)
    thrice = solve(*form, RowCounts.of(rows, bits=counts.bits), sizes=TRUTH.shape, channel=channel)
    np.testing.assert_allclose(plain.joint, thrice.joint, rtol=0, atol=1e-9)
    np.testing.assert_allclose(plain.standard_error, thrice.standard_error, rtol=0, atol=1e-9)


@pytest.mark.parametrize("form", [*CERTIFIED, (Method.EM, Stop.PAPER)])
def test_with_a_billion_reports_the_true_joint_is_found(form: tuple[Method, Stop]) -> None:
    channel = Support.of_bits(one=0.9, zero=0.1)
    counts = expected_counts(TRUTH, channel=channel, reports=1e9)
    atol = 0.005 if form[1] is Stop.PAPER else 1e-4
    np.testing.assert_allclose(solve(*form, counts, sizes=TRUTH.shape, channel=channel).joint, TRUTH, atol=atol)


def test_em_and_lremh_reach_the_same_maximum() -> None:
    counts, channel = draw(TRUTH, 4_000, f=0.4, seed=7)
    em, lremh = (solve(*form, counts, sizes=TRUTH.shape, channel=channel) for form in CERTIFIED)
    assert em.certified
    assert lremh.certified
    np.testing.assert_allclose(em.joint, lremh.joint, atol=5e-4)


@pytest.mark.parametrize("form", CERTIFIED)
def test_the_start_does_not_change_the_maximum(form: tuple[Method, Stop]) -> None:
    counts, channel = draw(TRUTH, 4_000, f=0.4, seed=8)
    cold = solve(*form, counts, sizes=TRUTH.shape, channel=channel)
    warm = solve(*form, counts, sizes=TRUTH.shape, channel=channel, start=np.eye(12)[3].reshape(2, 3, 2))
    assert (cold.start == "previous", warm.start) == (False, "previous")
    np.testing.assert_allclose(warm.joint, cold.joint, atol=5e-4)
