"""The plan of a sampled collection: the errors that it predicts are measured."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.marginals.answer import Frequencies, Numbers
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.marginals.plan import plan
from tests.marginals.examples import collection_of, marginals_of
from tests.plans import text_of


@pytest.mark.parametrize("mean", ["auto", "harmony-mean", "mean-est"])
def test_the_planned_errors_are_near_those_that_are_published(mean: str) -> None:
    """A mean is planned for the number with most noise, so that its error is at most as large."""
    collection = collection_of(f"epsilon: 2, mean: {mean}")
    planned = plan(collection, populations=(20_000,))
    marginals = marginals_of(collection, 20_000)
    diet, age, _ = planned.attributes
    published = marginals.of("diet").estimate
    assert isinstance(published, Frequencies)
    assert diet.errors[0].standard_error == pytest.approx(np.mean(published.standard_error), rel=0.1)
    number = marginals.of("age").estimate
    assert isinstance(number, Numbers)
    # What users hold varies as well, in the plan by as much as possible at 0 only.
    assert number.mean.standard_error < 1.1 * age.errors[0].standard_error
    assert sum(each.share for each in planned.attributes) == pytest.approx(1)


def test_it_says_what_a_report_takes_and_costs() -> None:
    planned = plan(collection_of())
    assert planned.bits == 8 + 7
    assert planned.report_bytes == 2
    assert planned.counters == (1 + 3) + (1 + 106) + (1 + 2)
    assert planned.state_bytes == 8 * planned.counters
    assert 2 - 1e-7 < planned.epsilon <= 2
    assert planned.changed == planned.epsilon
    assert [each.estimated for each in planned.attributes] == ["frequencies", "mean", "frequencies"]


def test_its_text_has_the_cost_and_the_error_of_each_attribute() -> None:
    text = text_of(plan(collection_of(), populations=(1_000,)))
    assert "all reports of a user's lifetime | epsilon 2.000, about one question" in text
    assert "age | mean | piecewise, 42 of 106 | 33.3% | " in text


def test_a_quantile_of_whole_steps_may_have_an_error_below_a_step() -> None:
    ages = SampledCollection.parse(
        "{collection: people, mechanism: {kind: sampled, epsilon: 2}, window: {size: 10s}, "
        "attributes: [{name: age, range: [0, 50], step: 1, quantiles: [0.5]}]}"
    )
    assert "age | quantile 0.5 | below a step" in text_of(plan(ages, populations=(1_000_000,)))


def test_it_says_the_errors_of_distributions_and_quantiles() -> None:
    text = text_of(plan(collection_of("epsilon: 2"), populations=(1_000, 100_000)))
    assert "Distributions, with the standard error to expect" in text
    assert "age | share in a tenth of the range | " in text
    (_, age, _) = plan(collection_of("epsilon: 2"), populations=(20_000,)).attributes
    planned = {about: errors[0].standard_error for about, errors in age.distribution}
    published = marginals_of(collection_of("epsilon: 2"), 20_000).of("age").estimate
    assert isinstance(published, Numbers)
    assert published.distribution is not None
    lows = np.arange(0.0, 100.0, 10.0)
    _, errors = published.distribution.curve.shares(lows, lows + 10)
    # The users are not spread as the bell of the plan.
    assert errors.mean() == pytest.approx(planned["share in a tenth of the range"], rel=0.5)
    assert plan(collection_of("epsilon: 2, mean: harmony-mean")).attributes[1].distribution == ()
