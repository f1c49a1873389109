"""Previous windows make joint distributions of views better, as far as users are new, and errors stay true."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.records.answer import Estimate, FilteredMarginals, Temporal
from stream_ldp.views.collection import ViewsCollection
from stream_ldp.views.solve import fitted, solve
from stream_ldp.views.temporal import filter_all
from tests.read_back import read_back
from tests.views.examples import collection_of, sums_of, task_of, users

ALL = "[{name: care, of: [diet, walks, bathes]}]"
#: The share of all users with each diet, who walks or not, and bathes or not.
TRUTH = np.array(
    [
        [[0.6 * 0.8 / 3, 0.6 * 0.2 * 0.2], [0.4 * 0.2 / 3, 0.4 * 0.8 * 0.2]],
        [[0.6 * 0.8 / 3, 0.6 * 0.2 * 0.3], [0.4 * 0.2 / 3, 0.4 * 0.8 * 0.3]],
        [[0.6 * 0.8 / 3, 0.6 * 0.2 * 0.5], [0.4 * 0.2 / 3, 0.4 * 0.8 * 0.5]],
    ]
)


def windows(
    collection: ViewsCollection,
    *,
    seed: int,
    starts: Sequence[int] = range(8),
    count: int = 2_000,
    final: bool = True,
    turned: int = 99,
) -> list[Estimate]:
    """Answer windows one after another, each with new users; finals pass through their bytes.

    turned: number of the first window in which those walk who did not, and the other way round.
    """
    solved: list[Estimate] = []
    for number, start in enumerate(starts):
        people = users(count, seed=1_000 * seed + number)
        if number >= turned:
            people["0"] = 1 - people["0"]
        sums = sums_of(collection.questions, people, seed=5_000 * seed + number)
        task = task_of(collection, collection.series[0], sums, window_ms=10_000 * start)
        before = read_back(solved[-1]) if solved else None
        solved.append(solve(collection, replace(task, before=before, final=final)))
    return solved


def temporal(estimate: Estimate) -> Temporal:
    assert estimate.temporal is not None
    return estimate.temporal


def learnt(estimate: Estimate) -> FilteredMarginals:
    found = temporal(estimate).views
    assert found is not None
    return found


def test_with_new_users_the_windows_before_lower_the_error_and_intervals_cover() -> None:
    """6 series of 4 scored windows: the mean distance is about half, and 95 % intervals cover above 0.9."""
    collection = collection_of(estimates=ALL, window=", returning: 0")
    alone, with_past, covered = [], [], []
    for seed in range(6):
        for each in windows(collection, seed=seed)[4:]:
            alone.append(np.abs(np.array(temporal(each).alone).reshape(TRUTH.shape) - TRUTH).sum() / 2)
            with_past.append(each.distance(TRUTH))
            covered.append(np.abs(each.joint() - TRUTH) <= 1.96 * each.standard_errors())
    assert np.mean(with_past) < 0.7 * np.mean(alone)
    assert np.mean(covered) > 0.9


def test_a_population_that_changes_all_at_once_is_followed_within_two_windows() -> None:
    *_, jump, after = windows(
        collection_of(estimates=ALL, window=", returning: 0"), seed=1, starts=range(6), count=5_000, turned=4
    )
    assert temporal(jump).jumped
    assert jump.probability == temporal(jump).alone
    truth = TRUTH[:, ::-1]
    assert (
        after.distance(truth) <= 1.1 * np.abs(np.array(temporal(after).alone).reshape(truth.shape) - truth).sum() / 2
    )


def test_the_first_window_is_as_without_a_prior_and_leaves_its_margins_and_pairs() -> None:
    (first,) = windows(collection_of(estimates=ALL, window=", returning: 0"), seed=1, starts=[0])
    (plain,) = windows(collection_of(estimates=ALL), seed=1, starts=[0])
    assert first.probability == temporal(first).alone == plain.probability
    assert first.standard_error == plain.standard_error
    assert (temporal(first).users, temporal(first).drift) == (0.0, None)
    assert plain.temporal is None
    names = ("walks",), ("bathes",), ("diet",), ("walks", "bathes"), ("walks", "diet"), ("bathes", "diet")
    assert learnt(first).of == names
    assert len(learnt(first).coefficients.estimate) == 1 + 1 + 2 + 1 + 2 + 2


def test_what_a_window_says_alone_does_not_depend_on_those_before() -> None:
    *_, third = windows(collection_of(estimates=ALL, window=", returning: 0"), seed=1, starts=range(3))
    *_, plain = windows(collection_of(estimates=ALL), seed=1, starts=range(3))
    assert temporal(third).alone == plain.probability != third.probability
    assert temporal(third).users > 0.0
    assert third.standard_errors().mean() < plain.standard_errors().mean()


def test_attributes_that_the_window_before_did_not_tell_have_no_past() -> None:
    collection = collection_of(estimates=ALL, window=", returning: 0")
    first, second = windows(collection, seed=1, starts=range(2))
    left = learnt(first)
    narrow = left.model_copy(update={"of": left.of[:2], "coefficients": left.coefficients.taken(np.arange(2))})
    before = first.model_copy(update={"temporal": temporal(first).model_copy(update={"views": narrow})})
    people = users(2_000, seed=1_001)
    task = task_of(
        collection, collection.series[0], sums_of(collection.questions, people, seed=5_001), window_ms=10_000
    )
    found = solve(collection, replace(task, before=before))
    assert found.effective_reports == second.effective_reports
    estimates, whole = learnt(found).coefficients, learnt(second).coefficients
    assert estimates.estimate[2:] != whole.estimate[2:]
    assert len(estimates.estimate) == len(whole.estimate)
    assert estimates.weight > 0.0


def test_the_fit_of_all_estimates_is_the_published_one_of_each_attribute_that_it_alone_has() -> None:
    """Estimates that share an attribute have learnt different things of it: the first of them decides."""
    two = "[{name: first, of: [walks, bathes]}, {name: second, of: [diet]}, {name: third, of: [diet]}]"
    collection = collection_of(estimates=two, window=", returning: 0")
    first, second, _ = collection.series
    sums = [sums_of(collection.questions, users(2_000, seed=each), seed=each) for each in range(3)]
    finals: dict[str, Estimate] = {}
    for start, told in enumerate(sums):
        earlier = dict(finals)
        for series in (first, second):
            task = task_of(collection, series, told, window_ms=10_000 * start)
            finals[series.name] = solve(collection, replace(task, before=earlier.get(series.name), final=True))
    tables, alone = fitted(collection, task)
    fit = filter_all(collection, task, tables, alone, earlier=earlier)
    for name, of in (("first", (0, 1)), ("second", (2,))):
        np.testing.assert_allclose(fit.joint(of).probability, finals[name].joint(), atol=1e-3)
        assert np.abs(alone.joint(of).probability - finals[name].joint()).max() > 3e-3
    assert filter_all(collection, task, tables, alone, earlier={}).joint((0, 1)).probability.tolist() == (
        alone.joint((0, 1)).probability.tolist()
    )


def test_a_final_that_is_no_earlier_leaves_the_window_nothing() -> None:
    collection = collection_of(estimates=ALL, window=", returning: 0")
    assert temporal(windows(collection, seed=1, starts=(3, 3))[1]).users == 0.0


def test_a_provisional_estimate_leaves_nothing_to_the_next() -> None:
    (first,) = windows(collection_of(window=", returning: 0"), seed=1, starts=[0], final=False)
    assert learnt(first).coefficients.filter is None


def test_windows_of_which_half_return_take_less_from_the_past_than_new_ones() -> None:
    half, new = (
        temporal(windows(collection_of(window=f", returning: {share}"), seed=2, starts=range(4))[-1]).users
        for share in (0.5, 0)
    )
    assert 0.0 < half < new


def test_nobody_leaves_nothing() -> None:
    (nobody,) = windows(collection_of(window=", returning: 0"), seed=1, starts=[0], count=0)
    assert nobody.temporal is None


@pytest.mark.parametrize("window", ["", ", returning: 1", ", memory: 0.5", ", hop: 5s"])
def test_nothing_is_learnt_where_windows_share_reports_or_all_users_return(window: str) -> None:
    assert windows(collection_of(window=window), seed=1, starts=(0, 1))[1].temporal is None


def test_a_prior_can_be_left_out_and_is_refused_where_windows_share_reports() -> None:
    text = "[{{name: care, of: [walks, bathes], prior: {}}}]"
    kept = collection_of(estimates=text.format("window"), window=", returning: 0")
    assert windows(kept, seed=1, starts=(0, 1))[1].temporal is None
    with pytest.raises(CollectionError, match="leave out hop and memory"):
        collection_of(estimates=text.format("temporal"), window=", hop: 5s")
