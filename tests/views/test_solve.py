"""The solver of views: a window's sums become an estimate."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.records.answer import Estimate
from tests.views.examples import collection_of, estimated, joint_of, solved, users

ESTIMATES = (
    "[{name: care, of: [bathes, walks]}, {name: all, of: [region, diet, walks]}, {name: apart, of: [walks, region]}]"
)


def test_an_estimate_has_the_axes_of_the_file_and_is_near_the_truth() -> None:
    collection = collection_of(estimates=ESTIMATES)
    care, whole = estimated(collection, 30_000), estimated(collection, 30_000, name="all")
    people = users(30_000)
    assert [axis.attribute for axis in care.axes] == ["bathes", "walks"]
    assert [axis.values for axis in whole.axes] == [("north", "south"), ("meat", "fish", "plants"), ("no", "yes")]
    assert care.distance(joint_of(people, (1, 0))) < 0.03
    assert whole.distance(joint_of(people, (3, 2, 0))) < 0.06


def test_an_estimate_says_what_it_is_made_of() -> None:
    care = estimated(collection_of(estimates=ESTIMATES))
    assert care.views is not None
    # Six pairs, of which one has neither of the two attributes.
    assert len(care.views) == 5
    assert sum(view.reports for view in care.views) == care.effective_reports < care.reports == 20_000
    assert (care.fit.method, care.fit.certified) == ("views", True)
    assert care.privacy.per_report == care.privacy.lifetime == pytest.approx(4.0, abs=1e-6)
    assert care.privacy.per_report <= 4.0


def test_the_gate_tells_dependence_from_noise() -> None:
    collection = collection_of(estimates=ESTIMATES)
    care, apart = estimated(collection), estimated(collection, name="apart")
    assert care.independence.dependent
    assert care.independence.p_value == 0.001, "a bound: so far out, the statistic is no chi-square"
    assert not apart.independence.dependent
    assert [len(each) for each in care.independence.marginals] == [2, 2]


def test_reports_that_favour_a_view_are_marked() -> None:
    collection = collection_of()
    honest = estimated(collection, 5_000).plausibility
    assert honest is not None
    assert not honest.flagged
    questions, people = collection.questions, users(6_000)
    sums = questions.sums(questions.perturb(np.repeat([0, 0, 1, 2, 3, 4], 1_000), people, entropy=SeededEntropy(1)))
    false = solved(collection, collection.series[0], sums).plausibility
    assert false is not None
    assert false.flagged


def test_a_view_that_nobody_told_is_listed_without_reports() -> None:
    collection = collection_of()
    questions, people = collection.questions, users(6_000)
    sums = questions.sums(questions.perturb(np.repeat([1, 2], 3_000), people, entropy=SeededEntropy(1)))
    care = solved(collection, collection.series[0], sums)
    assert care.views is not None
    assert {view.attributes: view.reports for view in care.views}["walks", "bathes"] == 0
    # One of the two attributes is told beside others, the other by nobody.
    assert care.joint() == pytest.approx(np.outer(care.independence.marginals[0], care.independence.marginals[1]))
    assert not care.independence.dependent
    assert np.isfinite(care.standard_errors()).all()


def test_the_message_is_read_back_as_it_was() -> None:
    care = estimated(collection_of())
    assert Estimate.from_bytes(care.to_bytes()) == care


def test_a_window_in_which_nobody_reported_says_nothing() -> None:
    care = estimated(collection_of(), 0)
    assert care.joint() == pytest.approx(np.full((2, 2), 0.25))
    assert (care.reports, care.effective_reports, care.independence.dependent) == (0, 0.0, False)
    assert np.isfinite(care.standard_errors()).all()


def test_a_window_of_one_report_is_answered() -> None:
    care = estimated(collection_of(), 1)
    assert care.joint().sum() == pytest.approx(1)
    assert np.isfinite(care.standard_errors()).all()


def test_an_estimate_from_answers_with_fresh_noise_says_what_one_report_costs() -> None:
    found = estimated(collection_of("epsilon: 6, per_report: 4, ask: pairs"))
    assert (found.privacy.per_report, found.privacy.lifetime) == pytest.approx((4.0, 6.0), abs=1e-6)
    assert found.privacy.per_report <= 4.0
    assert found.privacy.all_answers == pytest.approx(36.0, abs=1e-6)  # of a view with six cells
    assert "each report perturbs a permanent answer again" in found.privacy.assumption
    assert found.joint() == pytest.approx(joint_of(users(20_000), (0, 1)), abs=0.1)


@pytest.mark.parametrize("fewer", [0, 1])
def test_views_that_fewer_users_have_told_are_left_out(fewer: int) -> None:
    collection = collection_of(estimates=ESTIMATES)
    sums = collection.questions.sums(
        collection.questions.perturb(
            np.repeat([0, 1, 2, 3, 4, 5], [30, 300, 300, 300, 300, 300]), users(1_530), entropy=SeededEntropy(1)
        )
    )
    shy = collection.model_copy(update={"min_reports": 30 + fewer})
    series = next(series for series in shy.series if series.name == "all")
    estimate = solved(shy, series, sums)
    assert estimate.views is not None
    assert [view.withheld for view in estimate.views if view.reports == 30] == [bool(fewer)]
    assert not any(view.withheld for view in estimate.views if view.reports > 30)
    used = sum(view.reports for view in estimate.views if not view.withheld)
    assert estimate.effective_reports == used
    without = solved(collection, series, collection.questions.without([0], sums))
    assert (estimate.probability == without.probability) is bool(fewer)
