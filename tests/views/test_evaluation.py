"""Evaluation of views: the joint distributions of what users tell."""

import pytest

from tests.evaluation.runs import evaluated, numbers
from tests.views.examples import collection_of, users

ESTIMATES = "[{name: one, of: [walks, bathes]}, {name: other, of: [diet, bathes]}]"


def test_every_estimate_is_compared_with_what_the_formula_expects() -> None:
    """The pairs depend on each other by .3 and .1, which single attributes cannot show. Seeded."""
    pairs, singles = (
        evaluated(collection_of(mechanism, estimates=ESTIMATES), users(5_000), users=4_000, repeats=2, seed=1)
        for mechanism in ("epsilon: 4, ask: pairs", "epsilon: 4, ask: independent")
    )
    assert list(pairs) == ["one", "other"]
    assert {score.metrics["chosen"] for score in pairs.values()} == {"pairs"}
    assert {score.metrics["chosen"] for score in singles.values()} == {"attributes"}
    assert numbers(pairs["one"])["avd"] < 0.05 < 0.15 < numbers(singles["one"])["avd"]
    for score in pairs.values():
        metrics = numbers(score)
        assert metrics["avd_expected"] == pytest.approx(metrics["avd"], rel=0.8)
        assert metrics["coverage"] > 0.6
        assert score.seconds == 1.0
