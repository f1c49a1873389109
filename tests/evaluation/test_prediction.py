"""The errors that plans predict are those of what is published, of the users that they are about."""

import math

import numpy as np
import pytest

from stream_ldp.evaluation.prediction import assumed_records, predictions
from stream_ldp.kinds import kind_of, parse_collection
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.evaluation import EVALUATION
from stream_ldp.records.series import EstimateSpec
from stream_ldp.records.solve import solve
from tests.records.examples import TOWNS_TEXT
from tests.toy import COIN, Coins

SURVEY = """
collection: survey
mechanism: {kind: rr-ldp, f: 0.25}
attributes:
  - {name: a, values: [x, y, z]}
  - {name: b, values: [x, y, z]}
  - {name: c, values: [x, y, z]}
window: {size: 60s}
estimates: ESTIMATES
"""


@pytest.mark.parametrize("mechanism", ["{kind: rr-ldp, f: 0.5, p: 0.25, q: 0.75}", "{kind: k-rr, epsilon: 1}"])
def test_the_error_to_expect_is_that_of_other_users_like_those_assumed(mechanism: str) -> None:
    """Seeded: 20 windows of users of the same population, drawn by other code, within a fifth."""
    collection = JointCollection.parse(
        f"collection: pair\nmechanism: {mechanism}\nwindow: {{size: 60s}}\n"
        "attributes: [{name: a, values: [x, y, z]}, {name: b, values: [no, yes]}]\n"
        "estimates: [{name: e, of: [a, b]}]\n"
    )
    (error,) = predictions(collection, EVALUATION, users=[4_000])
    rng = np.random.default_rng(7)
    distances, squares = [], []
    for seed in range(20):
        # Of these users, half of the values follow what is common where pairs are 0.15 from independent.
        told = rng.random((2, 4_000)) < 0.5 * math.sqrt(0.1 / 0.15)
        common, own = rng.random(4_000), rng.random((2, 4_000))
        levels = np.where(told, common, own) ** 2
        people = np.stack([(levels[0] * 3).astype(int), (levels[1] * 2).astype(int)], axis=1)
        rows = collection.mechanism.perturb(people, entropy=SeededEntropy(1_000 + seed))
        counts = RowCounts.of(rows, bits=collection.bits)
        task: WindowTask[EstimateSpec, Estimate] = WindowTask(
            series=collection.estimates[0], window_ms=0, final=True, windows=((1.0, (counts,)),), before=None
        )
        joint = solve(collection, task).joint()
        truth = np.zeros((3, 2))
        np.add.at(truth, tuple(people.T), 1 / len(people))
        distances.append(abs(joint - truth).sum() / 2)
        squares.append(((joint - truth) ** 2).mean())
    assert error.metrics["avd"] == pytest.approx(np.mean(distances), rel=0.2)
    assert error.metrics["rmse"] == pytest.approx(math.sqrt(np.mean(squares)), rel=0.2)


def test_repeated_reports_have_the_errors_of_fewer_users() -> None:
    once = JointCollection.parse(TOWNS_TEXT)
    often = once.model_copy(update={"window": once.window.model_copy(update={"reports_per_user": 16.0})})
    effect = once.mechanism.design_effect(reports_per_user=16.0)
    assert effect > 1
    few = predictions(once, EVALUATION, users=[round(100_000 / effect)])
    for plain, shared in zip(few, predictions(often, EVALUATION, users=[100_000]), strict=True):
        assert shared.metrics == pytest.approx(plain.metrics, rel=0.01)


def test_only_one_of_the_estimates_that_are_alike_is_measured_and_all_have_its_errors() -> None:
    text = SURVEY.replace("ESTIMATES", "[{name: ab, of: [a, b]}, {name: bc, of: [b, c]}, {name: a, of: [a]}]")
    collection = parse_collection(text)
    assert EVALUATION.assumed is not None
    assumed = EVALUATION.assumed(collection)
    assert assumed is not None
    assert [each.name for each in assumed.collection.estimates] == ["ab", "a"]
    errors = {each.series: each.metrics for each in predictions(collection, EVALUATION, users=[2_000])}
    assert errors["ab"] == errors["bc"] != errors["a"]


def test_errors_of_more_users_than_are_drawn_fall_with_the_root_and_their_squares_with_the_number() -> None:
    text = "{collection: c, window: {size: 60s}, mechanism: {kind: sampled, epsilon: 2}, attributes: [ATTRIBUTE]}"
    collection = parse_collection(text.replace("ATTRIBUTE", "{name: a, values: [x, y, z]}"))
    few, many = predictions(collection, kind_of(collection).evaluation, users=[100_000, 10_000_000])
    assert many.metrics["avd"] == pytest.approx(few.metrics["avd"] / 10)
    assert many.metrics["mse"] == pytest.approx(few.metrics["mse"] / 100)


def test_the_errors_of_a_table_are_those_of_its_users() -> None:
    """Seeded: users of one value have joint distributions that shrinkage finds, with less than half of the errors."""
    collection = parse_collection(SURVEY.replace("ESTIMATES", "[{name: ab, of: [a, b]}]"))
    (assumed,) = predictions(collection, EVALUATION, users=[2_000])
    (alike,) = predictions(collection, EVALUATION, users=[2_000], population=np.zeros((500, 3), dtype=np.int64))
    assert alike.metrics["avd"] < 0.5 * assumed.metrics["avd"]
    assert predictions(collection, EVALUATION, users=[2_000]) == [assumed]


def test_a_kind_that_assumes_no_users_predicts_nothing_without_a_table(coins: Coins) -> None:
    assert predictions(coins, COIN.evaluation, users=[100]) == []


def test_a_ranking_is_not_predicted_beyond_the_users_who_are_drawn() -> None:
    """No power of the number of users is known with which its quality rises; that of the error is."""
    collection = parse_collection(
        "{collection: c, window: {size: 60s}, items: {size: 16}, "
        "mechanism: {kind: svim, epsilon: 4, k: 2, set_size: 2}}"
    )
    few, many = predictions(collection, kind_of(collection).evaluation, users=[100_000, 10_000_000])
    assert many.metrics.keys() == {"mse"}
    assert few.metrics.keys() == {"ndcg", "f1", "mse"}
    assert many.metrics["mse"] == pytest.approx(few.metrics["mse"] / 100)


def test_the_error_of_a_mean_is_predicted_by_its_formula_and_no_quantile_of_assumed_users() -> None:
    """Of a normal error, the mean of its size is sqrt(2 / pi) of its root mean square, with no chance in either."""
    text = "{collection: c, window: {size: 60s}, mechanism: {kind: sampled, epsilon: 2}, attributes: [ATTRIBUTE]}"
    collection = parse_collection(text.replace("ATTRIBUTE", "{name: a, range: [0, 8]}"))
    mean, distribution = predictions(collection, kind_of(collection).evaluation, users=[500])
    assert mean.metrics["avd"] == pytest.approx(math.sqrt(2 / math.pi * mean.metrics["mse"]), rel=0.001)
    assert distribution.metrics.keys() == {"wasserstein", "range_tenth", "range_half"}


@pytest.mark.parametrize(("dependence", "least", "most"), [(0.02, 0.01, 0.04), (0.15, 0.1, 0.2)])
def test_assumed_pairs_are_as_far_from_independent_as_is_said(dependence: float, least: float, most: float) -> None:
    people = assumed_records((6, 8), 200_000, seed=1, dependence=dependence)
    joint = np.zeros((6, 8))
    np.add.at(joint, tuple(people.T), 1 / len(people))
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    assert least < abs(joint - independent).sum() / 2 < most
