"""Evaluation of joint distributions: to the truth of the users drawn, in one window and in many."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.evaluation.experiment import each_repeat
from stream_ldp.evaluation.trial import Trial
from stream_ldp.mechanisms import RRLDP
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.evaluation import asked, measure_windows
from tests.evaluation.runs import evaluated, numbers

#: Two attributes, (0, 0) five times of ten, (0, 1) twice, (1, 2) three times.
PEOPLE = np.array([[0, 0]] * 5 + [[0, 1]] * 2 + [[1, 2]] * 3)
#: Two attributes that mostly agree.
DEPENDENT = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [60, 5, 5, 30], axis=0)
#: Inverts one bit in 4 billion: reports are their records.
NOISELESS = "kind: rr-ldp, f: 0.0000000005"


def collection_of(
    mechanism: str = "kind: rr-ldp, f: 0.25",
    *,
    estimate: str = "method: em",
    ages: str = "[a, b, c]",
    window: str = "size: 1m",
    more: str = "",
) -> JointCollection:
    return JointCollection.parse(
        f"""
collection: care
mechanism: {{{mechanism}}}
attributes: [{{name: bathing, values: [no, yes]}}, {{name: age, values: {ages}}}]
estimates: [{{name: both, of: [bathing, age], {estimate}}}, {{name: age, of: [age]}}]
window: {{{window}}}
{more}
"""
    )


def test_every_estimate_is_compared_with_the_users_drawn() -> None:
    found = evaluated(collection_of(), PEOPLE, repeats=2, users=200)
    assert list(found) == ["both", "age"]
    for score in found.values():
        metrics = numbers(score)
        assert 0 < metrics["avd"] < 0.3
        assert 0 <= metrics["coverage"] <= 1
        assert metrics["width"] > 0
        assert metrics["iterations"] > 0
        assert metrics["certified"] == 1.0
        assert score.seconds == 1.0
    mechanism = RRLDP(sizes=(2, 3), f=0.25)
    assert numbers(found["both"])["epsilon"] == mechanism.epsilon()
    assert numbers(found["both"])["epsilon_lifetime"] == mechanism.epsilon(reports=np.inf)


def test_without_noise_the_truth_is_found() -> None:
    (score, _) = evaluated(collection_of(NOISELESS, estimate="stop: paper, delta: 0.000001"), PEOPLE).values()
    assert numbers(score)["avd"] < 1e-3


def trial_of(collection: JointCollection, population: Any = PEOPLE, *, users: int = 10) -> Trial[JointCollection]:
    (drawn,) = each_repeat(1, rows=len(population), users=users, seed=3)
    return Trial(
        collection=collection,
        people=population[drawn.users],
        population=population,
        apart=population[:0],
        sampling=drawn.sampling,
        noise=drawn.noise,
        drawing=0,
        clock=lambda: 0.0,
    )


def test_each_user_reports_their_own_record_once() -> None:
    collection = collection_of(NOISELESS)
    task = asked(trial_of(collection))(collection.estimates[0])
    ((_, (counts,)),) = task.counts(RowCounts)
    bits = counts.unpacked()
    columns = (bits[:, :2].argmax(axis=1), bits[:, 2:].argmax(axis=1), counts.counts)
    assert sorted(zip(*(column.tolist() for column in columns), strict=True)) == [(0, 0, 5), (0, 1, 2), (1, 2, 3)]


def test_a_sample_of_the_users_reports_and_linked_reports_have_pseudonyms() -> None:
    sampled = collection_of(more="sample: 0.5")
    assert 60 < asked(trial_of(sampled, users=200))(sampled.estimates[0]).reports < 140
    linked = collection_of("kind: rr-ldp, f: 0.1, p: 0.5, q: 0.75", estimate="method: em", more="linked: 4m")
    assert asked(trial_of(linked, users=200))(linked.estimates[0]).reports == 200
    assert set(evaluated(linked, PEOPLE)) == {"both", "age"}


def windows(collection: JointCollection, population: Any = DEPENDENT, **options: Any) -> dict[str, float]:
    given = {"windows": 16, "returning": 0.0, "drift": None} | options
    users = given.pop("users", 500)
    found = evaluated(
        collection, population, users=users, repeats=2, seed=1, measure=partial(measure_windows, **given)
    )
    return numbers(found["both"])


NOISY = "kind: rr-ldp, f: 0.1, p: 0.5, q: 0.75"
two = partial(collection_of, mechanism=NOISY, ages="[a, b]")


def test_windows_that_learn_from_each_other_err_less_if_nobody_returns() -> None:
    alone = windows(two(estimate="method: em, prior: window"))
    learning = windows(two(window="size: 1m, returning: 0"))
    assert learning["avd"] < 0.8 * alone["avd"]
    assert {"avd", "coverage", "width", "last_avd", "last_coverage"} <= set(alone)


def test_means_are_over_the_last_three_quarters_of_the_windows() -> None:
    """Of two windows, the second alone."""
    found = windows(two(), windows=2)
    assert found["avd"] == found["last_avd"]
    found = windows(two(), windows=8)
    assert found["avd"] != found["last_avd"]


def test_a_drift_moves_the_truth() -> None:
    """Rows are ordered by their record, so that the first and the last window have no record in common."""
    steady, moving = (windows(two(mechanism=NOISELESS), drift=drift) for drift in (None, np.arange(100)))
    assert steady["avd"] < 0.05
    assert moving["avd"] < 0.05
    assert moving != steady


def test_linked_reports_err_less_than_pooled_ones() -> None:
    """Seeded, so that it never changes."""
    linked = two(more="linked: 16m", estimate="method: em")
    alone = two(estimate="method: em, prior: window")
    pooled = two(window="size: 16m, hop: 1m, reports_per_user: 16")
    assert windows(linked, returning=1.0)["last_avd"] < 0.65 * windows(pooled, returning=1.0)["last_avd"]
    assert windows(linked)["last_avd"] == pytest.approx(windows(alone)["last_avd"], rel=0.01)


def test_pooled_reports_are_held_against_all_users_who_sent_them() -> None:
    """The users of the last of 4 windows differ from all by more than the noise of all reports together.

    Seeded: it never changes.
    """
    pooled = two(mechanism="kind: rr-ldp, f: 0.01", window="size: 4m, hop: 1m")
    found = windows(pooled, windows=4, users=1_000)
    assert found["last_coverage"] > 0.8


def test_windows_have_no_sample() -> None:
    with pytest.raises(ParameterError, match="leave `sample` out"):
        windows(two(more="sample: 0.5"))


def test_users_who_take_turns_are_others_in_the_next_window() -> None:
    """Seeded. Windows of the same users learn nothing from each other; those of others do."""
    fixed = two(mechanism="kind: rr-ldp, f: 0.5")
    turned = two(mechanism="kind: rr-ldp, f: 0.5", more="rotate: 4")
    same, others = windows(fixed, returning=1.0), windows(turned)
    assert others["avd"] < 0.9 * same["avd"]
    assert others["coverage"] > 0.8
