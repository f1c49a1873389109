"""The solver: what it publishes of a window, of an empty one, and of several that are remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream_ldp.client.table import table_of
from stream_ldp.collection import CollectionError
from stream_ldp.marginals.answer import Frequencies, Marginals, Numbers
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.statistics import ReportSums
from tests.marginals.examples import collection_of, marginals_of, rows_of, users
from tests.questions.examples import solved, sums_of
from tests.read_back import read_back

if TYPE_CHECKING:
    from stream_ldp.filtering.filtered import FilteredEstimate


def test_every_attribute_is_estimated_in_its_own_units() -> None:
    """20,000 users; each estimate is 6 standard errors off for 1 seed in 10^8."""
    marginals = marginals_of(collection_of())
    people = users(20_000)
    diet, age = marginals.of("diet").estimate, marginals.of("age").estimate
    assert isinstance(diet, Frequencies)
    assert isinstance(age, Numbers)
    truth = np.bincount(people["0"]) / len(people)
    assert np.all(np.abs(np.array(diet.raw) - truth) < 6 * np.array(diet.standard_error))
    assert abs(age.mean.raw - people["1"].mean()) < 6 * age.mean.standard_error
    assert age.distribution is not None
    assert age.distribution.points[0] == 0
    assert age.distribution.points[-1] == 100
    assert sum(each.reports for each in marginals.attributes) == marginals.reports == 20_000


def test_a_question_that_nobody_answered_has_no_estimate() -> None:
    collection = collection_of()
    rows = collection.questions.perturb(np.zeros(10, dtype=np.int64), users(10), entropy=SeededEntropy(3))
    marginals = solved(collection, (1.0, sums_of(collection, rows)))
    assert marginals.of("age").estimate is None
    assert marginals.of("age").reports == 0
    assert marginals.of("diet").reports == 10
    nobody = ReportSums.of(reports=0, values=np.zeros(collection.questions.counters, dtype=np.int64))
    assert all(each.estimate is None for each in solved(collection, (1.0, nobody)).attributes)


def test_remembered_windows_add_to_the_effective_reports_only() -> None:
    collection = collection_of(window=", memory: 0.5")
    sums = sums_of(collection, rows_of(collection, users(3_000)))
    marginals = solved(collection, (1.0, sums), (0.5, sums))
    assert marginals.reports == 3_000
    diet = marginals.of("diet")
    assert diet.effective_reports == pytest.approx(1.8 * diet.reports)


@pytest.mark.parametrize("mechanism", ["epsilon: 2", "epsilon: 2, oracle: o-rr", "epsilon: 2, mean: harmony-mean"])
def test_users_who_repeat_their_answers_have_the_errors_of_users_who_report_once(mechanism: str) -> None:
    rows = rows_of(collection_of(mechanism), users(2_000))
    often = collection_of(mechanism, window=", reports_per_user: 16")
    one = solved(collection_of(mechanism), (1.0, sums_of(often, rows)))
    all_of_them = solved(often, (1.0, sums_of(often, np.repeat(rows, 16, axis=0))))
    for first, repeated in zip(one.attributes, all_of_them.attributes, strict=True):
        assert repeated.reports == 16 * first.reports
        assert repeated.effective_reports == pytest.approx(first.effective_reports)
        assert [each.estimate for each in repeated.cells()] == pytest.approx(
            [each.estimate for each in first.cells()]
        )
        told = [[each.standard_error or 0.0 for each in found.cells()] for found in (first, repeated)]
        assert told[1] == pytest.approx(told[0])


def test_the_privacy_is_that_of_the_questions() -> None:
    marginals = marginals_of(collection_of("epsilon: 1.5"))
    assert 1.5 - 1e-7 < marginals.privacy.per_report <= 1.5
    assert marginals.privacy.lifetime == marginals.privacy.per_report


def test_a_window_whose_few_answers_show_no_value_is_answered_without_any() -> None:
    """Of 5 users in 64 cohorts, noise alone is seen; that none of the values stands out is no failure."""
    collection = collection_of("epsilon: 0.01, oracle: o-rr")
    found = [
        solved(collection, (1.0, sums_of(collection, rows_of(collection, users(5, seed), seed)))).of("diet").estimate
        for seed in range(8)
    ]
    shown = [each for each in found if isinstance(each, Frequencies)]
    assert any(each.values == () and each.dropped == ("meat", "fish", "plants") for each in shown)
    assert all(sum(each.projected) == pytest.approx(1.0) for each in shown if each.values)


def test_a_value_that_gets_all_has_a_share_of_1_whatever_the_noise() -> None:
    collection = SampledCollection.parse(
        "{collection: diets, mechanism: {kind: sampled, epsilon: 0.1, oracle: rappor}, "
        "attributes: [{name: diet, values: [meat, fish, plants]}], window: {size: 10s}, min_reports: 1}"
    )
    sums = ReportSums.of(reports=18, values=np.array([18, 7, 0, 0]))
    diet = solved(collection, (1.0, sums)).of("diet").estimate
    assert isinstance(diet, Frequencies)
    assert diet.projected == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("fewer", [0, 1])
def test_attributes_that_fewer_users_have_answered_are_withheld(fewer: int) -> None:
    collection = collection_of()
    everything = marginals_of(collection, 400)
    least = min(attribute.reports for attribute in everything.attributes)
    marginals = marginals_of(collection.model_copy(update={"min_reports": least + fewer}), 400)
    assert [attribute.reports for attribute in marginals.attributes] == [
        each.reports for each in everything.attributes
    ]
    for attribute, before in zip(marginals.attributes, everything.attributes, strict=True):
        few = attribute.reports < least + fewer
        assert attribute.withheld is few
        assert attribute.estimate == (None if few else before.estimate)
        assert any("withheld" in note for note in attribute.notes) is few
    assert any(attribute.withheld for attribute in marginals.attributes) is bool(fewer)


TRUE_DIET, TRUE_AGE = np.array([0.6, 0.3, 0.1]), 40.0


def windows(
    collection: SampledCollection, *, seed: int, count: int = 12, starts: tuple[int, ...] | None = None
) -> list[Marginals]:
    """Answer windows one after another, each with 1,500 new users; finals pass through their bytes."""
    answers: list[Marginals] = []
    for number in range(count):
        table = users(1_500, seed=1_000 * seed + number)
        sums = sums_of(collection, rows_of(collection, table, seed=5_000 * seed + number))
        window_ms, before = 10_000 * (number if starts is None else starts[number]), answers[-1:]
        answers.append(
            solved(collection, (1.0, sums), window_ms=window_ms, before=read_back(*before) if before else None)
        )
    return answers


def diet(marginals: Marginals) -> Frequencies:
    found = marginals.of("diet").estimate
    assert isinstance(found, Frequencies)
    return found


def age(marginals: Marginals) -> Numbers:
    found = marginals.of("age").estimate
    assert isinstance(found, Numbers)
    return found


def of(found: Frequencies | Numbers) -> FilteredEstimate:
    assert found.learnt is not None
    return found.learnt


def test_with_new_users_the_windows_before_halve_the_error_and_intervals_cover() -> None:
    """4 series of 8 scored windows: the ratio of squared errors is about 0.2, and 95 % intervals cover above 0.9."""
    collection, alone, learnt, covered = collection_of(window=", returning: 0"), [], [], []
    for seed in range(4):
        for each in windows(collection, seed=seed)[4:]:
            for found, truth, raw in ((diet(each), TRUE_DIET, diet(each).raw), (age(each), TRUE_AGE, None)):
                scale = 1.0 if raw is not None else 100.0
                own = np.array(raw if raw is not None else [age(each).mean.raw])
                alone.append(np.mean((own - truth) ** 2) / scale**2)
                learnt.append(np.mean((np.array(of(found).estimate) - truth) ** 2) / scale**2)
                distance = np.abs(np.array(of(found).estimate) - truth)
                covered += (distance <= 1.96 * np.array(of(found).standard_error)).tolist()
    assert np.mean(learnt) < 0.5 * np.mean(alone)
    assert np.mean(covered) > 0.9


def test_what_is_learnt_is_published_beside_the_window_alone() -> None:
    collection = collection_of(window=", returning: 0")
    first, second = windows(collection, seed=1, count=2)
    assert of(diet(first)).estimate == diet(first).raw
    assert (of(diet(first)).weight, of(diet(first)).drift) == (0.0, None)
    assert of(diet(second)).weight > 0.0
    assert of(diet(second)).drift is not None
    assert of(diet(second)).estimate != diet(second).raw
    plain = windows(collection_of(window=", returning: 0"), seed=1, count=2)[1]
    assert diet(plain).raw == diet(second).raw


def test_a_table_has_what_is_learnt_beside_the_window_alone() -> None:
    *_, second = windows(collection_of(window=", returning: 0"), seed=1, count=2)
    rows = table_of([second]).rows
    for attribute, quantity, found in (("diet", "frequency", diet(second)), ("age", "mean", age(second))):
        told = [row for row in rows if (row["attribute"], row["quantity"]) == (attribute, quantity)]
        assert tuple(row["learnt"] for row in told) == of(found).estimate
        assert tuple(row["learnt_error"] for row in told) == of(found).standard_error
    nothing = windows(collection_of(window=""), seed=1, count=1)[0]
    assert "learnt" not in table_of([nothing]).columns


@pytest.mark.parametrize("window", ["", ", returning: 1", ", memory: 0.5", ", hop: 5s"])
def test_nothing_is_learnt_where_windows_share_reports_or_all_users_return(window: str) -> None:
    assert diet(windows(collection_of(window=window), seed=1, count=1)[0]).learnt is None


def test_windows_of_which_half_return_take_less_from_the_past_than_new_ones() -> None:
    half, new = (
        of(diet(windows(collection_of(window=f", returning: {share}"), seed=2, count=4)[-1])) for share in (0.5, 0)
    )
    assert 0.0 < half.weight < new.weight
    assert max(half.standard_error) > max(new.standard_error)


def test_a_final_that_is_no_earlier_than_the_window_leaves_it_nothing() -> None:
    collection = collection_of(window=", returning: 0")
    assert of(diet(windows(collection, seed=1, count=2, starts=(3, 3))[1])).weight == 0.0


def test_a_temporal_prior_of_windows_that_share_reports_is_refused() -> None:
    with pytest.raises(CollectionError, match="leave out hop and memory"):
        type(collection_of()).parse(
            "{collection: c, mechanism: {kind: sampled, epsilon: 1}, attributes: [{name: a, values: [x, y]}],"
            " window: {size: 10s, hop: 5s}, prior: temporal}"
        )
