"""How many users a wanted error takes is a number with which it is predicted."""

import pytest

from stream_ldp.evaluation.prediction import predictions
from stream_ldp.evaluation.trial import first_metric
from stream_ldp.evaluation.wanted import users_for
from stream_ldp.kinds import kind_of, parse_collection
from tests.toy import COIN, Coins

EASY = (
    "{collection: c, window: {size: 60s}, mechanism: {kind: sampled, epsilon: 2}, "
    "attributes: [{name: a, values: [x, y]}]}"
)
RANKED = (
    "{collection: c, window: {size: 60s}, items: {size: 16}, mechanism: {kind: svim, epsilon: 2, k: 4, set_size: 2}}"
)


@pytest.mark.parametrize("text", [EASY, RANKED])
def test_the_number_of_users_has_the_wanted_error_as_it_is_predicted(text: str) -> None:
    """What is predicted of 2,000 users is wanted of a search that has only seen 500 and 8,000."""
    collection = parse_collection(text)
    evaluation = kind_of(collection).evaluation
    (wanted,) = predictions(collection, evaluation, users=[2_000])
    metric = first_metric(evaluation, wanted.metrics)
    assert metric is not None
    seen = predictions(collection, evaluation, users=[500, 8_000])
    (found,) = users_for(collection, evaluation, seen, wanted=wanted.metrics[metric])
    assert found == (wanted.series, metric, wanted.metrics[metric], found.users)
    assert found.users == pytest.approx(2_000, rel=0.4)


@pytest.mark.parametrize(("wanted", "least", "most"), [(0.4, 20, 20), (0.0005, 200_000, 2_000_000)])
def test_numbers_beyond_those_predicted_are_found(wanted: float, least: int, most: int) -> None:
    collection = parse_collection(EASY)
    evaluation = kind_of(collection).evaluation
    (found,) = users_for(collection, evaluation, predictions(collection, evaluation, users=[1_000]), wanted=wanted)
    assert found.users is not None
    assert least <= found.users <= most


def test_an_error_that_no_number_of_users_reaches_has_none() -> None:
    collection = parse_collection(EASY)
    evaluation = kind_of(collection).evaluation
    (found,) = users_for(collection, evaluation, predictions(collection, evaluation, users=[1_000]), wanted=1e-8)
    assert found.users is None


def test_nothing_is_found_of_a_kind_that_predicts_nothing(coins: Coins) -> None:
    assert users_for(coins, COIN.evaluation, [], wanted=0.1) == []
