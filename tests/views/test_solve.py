"""The solver of views: a window's sums become an estimate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.questions.questions import Table
from stream_ldp.records.answer import Estimate
from stream_ldp.views.collection import ViewsCollection
from stream_ldp.views.solve import solve
from tests.views.examples import (
    NUMBERS,
    collection_of,
    estimated,
    joint_of,
    numbers_of,
    solved,
    sums_of,
    task_of,
    users,
    workers,
)

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


def test_a_view_that_nobody_reported_is_listed_without_reports() -> None:
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
def test_views_that_fewer_users_have_reported_are_left_out(fewer: int) -> None:
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


def share_of(people: Table, ages: tuple[float, float], hours: tuple[float, float]) -> NDArray[np.bool_]:
    within = (people["0"] >= ages[0]) & (people["0"] <= ages[1])
    return np.asarray(within & (people["1"] >= hours[0]) & (people["1"] <= hours[1]))


def test_ranges_of_two_numbers_are_near_the_truth() -> None:
    """The errors are 2 %, and the product of both ranges is off by a quarter."""
    collection, people = numbers_of(), workers(40_000)
    answer = solved(collection, collection.series[0], sums_of(collection.questions, people))
    for ages, hours in (((53, 75), (45, 72)), ((30, 48), (20, 41)), ((60, 90), (10, 30))):
        (cell,) = answer.within({"age": ages, "hours": hours})
        true = share_of(people, ages, hours).mean()
        assert cell.standard_error is not None
        assert cell.standard_error < 0.03
        assert abs(cell.estimate - true) < 3.5 * cell.standard_error
        assert cell.labels == {"age": f"{ages[0]} to {ages[1]}", "hours": f"{hours[0]} to {hours[1]}"}
    (everybody,) = answer.within({"age": (16, 90), "hours": (-1, 200)})
    assert (everybody.estimate, everybody.standard_error) == (1.0, 0.0)
    (alone,) = answer.between(40, 60, of=["age"])
    assert alone.estimate == pytest.approx(((people["0"] >= 40) & (people["0"] <= 60)).mean(), abs=0.06)


def test_ranges_are_distinguished_by_a_list() -> None:
    collection, people = numbers_of(), workers(40_000)
    answer = solved(collection, collection.series[1], sums_of(collection.questions, people))
    ranges = {"hours": (45.0, 72.0), "age": (53.0, 75.0)}
    cells = list(type(answer).from_bytes(answer.to_bytes()).within(ranges, of=["sex"]))
    within = share_of(people, (53, 75), (45, 72))
    for number, cell in enumerate(cells):
        assert cell.labels["sex"] == "fm"[number]
        assert cell.standard_error is not None
        assert abs(cell.estimate - (within & (people["2"] == number)).mean()) < 3.5 * cell.standard_error
    (together,) = answer.within(ranges)
    assert sum(cell.estimate for cell in cells) == pytest.approx(together.estimate, abs=1e-3)


@pytest.mark.parametrize("ask", ["attributes 0.5 + pairs", "pairs"])
def test_ranges_of_whole_numbers_include_both_ends(ask: str) -> None:
    """Of seven working hours, two a day; without their step, ranges that end between days are off by 0.1 and more."""
    text = NUMBERS.format(mechanism=f"epsilon: 4, cells: 8, ask: {ask}").replace("[0, 100]", "[0, 14], step: 2")
    collection, people = ViewsCollection.parse(text), workers(40_000)
    people["1"] = 2 * np.round(people["1"] / 100 * 7)
    assert len(collection.axes[1].labels) == 3
    answer = solved(collection, collection.series[0], sums_of(collection.questions, people))
    answer = type(answer).from_bytes(answer.to_bytes())
    for low, high in ((0, 4), (6, 6), (6, 8), (7, 9), (5, 14), (14, 14)):
        (cell,) = answer.within({"hours": (low, high), "age": (16, 60)})
        true = share_of(people, (16, 60), (low, high)).mean()
        assert cell.standard_error is not None
        assert abs(cell.estimate - true) < 3.5 * cell.standard_error + 1e-6
        assert cell.standard_error < (0.03 if "attributes" in ask else 0.15)


def test_ranges_of_what_is_no_number_are_refused() -> None:
    collection = numbers_of()
    answer = solved(collection, collection.series[1], sums_of(collection.questions, workers(2_000)))
    for ranges, of, problem in (
        ({"sex": (0, 1)}, (), "'sex' has no `range`: the numbers of this estimate are age, hours"),
        ({"aeg": (20, 40)}, (), "'aeg' is not an attribute of this estimate; did you mean 'age'"),
        ({"age": (20, 40)}, ("age",), "named twice"),
        ({"age": (95, 99)}, (), "'age' is from 16 to 90"),
        ({"age": (40, 40)}, (), "got 40,40: one number alone has users only in a range with a `step`"),
    ):
        with pytest.raises(ParameterError, match=problem):
            list(answer.within(ranges, of=of))
    of_lists = estimated(collection_of())
    with pytest.raises(ParameterError, match="no numbers with a `range`"):
        list(of_lists.within({"walks": (0, 1)}))


def test_numbers_learn_from_previous_windows() -> None:
    collection = ViewsCollection.parse(
        NUMBERS.format(mechanism="epsilon: 2, ask: attributes 0.5 + pairs").replace("1s}", "1s, returning: 0}")
    )
    series, before = collection.series[0], None
    for window in range(3):
        sums = sums_of(collection.questions, workers(10_000, window), window)
        task = replace(task_of(collection, series, sums, window_ms=10_000 * window), before=before)
        before = solve(collection, task)
    assert before is not None
    assert before.temporal is not None
    assert before.temporal.users > 5_000
    (cell,) = before.within({"age": (53, 75), "hours": (45, 72)})
    people = workers(100_000)
    assert cell.estimate == pytest.approx(share_of(people, (53, 75), (45, 72)).mean(), abs=0.06)
