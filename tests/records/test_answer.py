"""Tests of the message of an estimates topic, on which consumers in any language rely."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.pipeline.answer import Published
from stream_ldp.pipeline.solver_state import HEADER
from stream_ldp.records.answer import Estimate, Fit, Independence, Linked, Privacy, Temporal, View
from tests.client.examples import estimate_of

probabilities = st.floats(0, 1)


def message(**changes: Any) -> bytes:
    """Make a message as JSON with some of its top-level fields replaced."""
    return json.dumps(json.loads(estimate_of().to_bytes()) | changes).encode()


@given(st.lists(probabilities, min_size=6, max_size=6), st.floats(allow_nan=False, allow_infinity=False, min_value=0))
def test_numbers_are_read_back_to_the_last_bit(cells: list[float], effective: float) -> None:
    joint = np.array(cells).reshape(2, 3)
    sent = estimate_of(probability=joint.tolist(), effective_reports=effective)
    received = Estimate.from_bytes(sent.to_bytes())
    assert received.joint().tobytes() == joint.tobytes()
    assert received.effective_reports.hex() == effective.hex()
    assert received == sent


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{}", id="an empty object"),
        pytest.param(b"\xff\xfe", id="not UTF-8"),
        pytest.param(message(schema_version=2), id="another schema version"),
        pytest.param(message(effective_reports=float("nan")), id="not a number"),
        pytest.param(message(reports=-1), id="fewer reports than none"),
    ],
)
def test_what_is_not_an_estimate_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="Estimate"):
        Estimate.from_bytes(data)


def test_cells_that_do_not_fit_their_axes_are_refused() -> None:
    with pytest.raises(ValueError, match="6 cells, there are 1"):
        estimate_of(probability=[1.0])
    with pytest.raises(ValueError, match="6 cells, there are 7"):
        estimate_of(standard_error=[0.0] * 7)


@pytest.mark.parametrize(
    "cells",
    [["0.1"] * 6, [None] * 6, [True] * 6, [float("nan")] * 6, [[0.1] * 3] * 2, [{}] * 6],
)
@pytest.mark.parametrize("name", ["probability", "standard_error"])
def test_cells_that_are_no_numbers_are_refused(name: str, cells: list[Any]) -> None:
    with pytest.raises(ValueError, match="number"):
        Estimate.from_bytes(message(**{name: cells}))


def test_marginals_and_what_is_left_to_the_next_window_have_the_shape_of_the_axes() -> None:
    sent = json.loads(estimate_of().to_bytes())
    with pytest.raises(ValueError, match=r"marginals of \(2, 3\) values, there are \(2,\)"):
        Estimate.from_bytes(message(independence=sent["independence"] | {"marginals": [[0.5, 0.5]]}))
    cells = [0.1] * 6
    left = {"mean": cells, "variances": cells, "permanent": [0.1] * 4, "scores": cells, "evidence": []}
    temporal = {"alone": cells, "users": 1.0, "drift": None, "jumped": False}
    value = message(temporal=temporal)
    with pytest.raises(ValueError, match="6 cells, there are 4"):
        Estimate.from_record(value, ((HEADER, json.dumps({"/temporal/filter": left}).encode()),))
    assert Estimate.from_bytes(value).temporal is not None


def test_the_distance_between_distributions_is_half_their_absolute_difference() -> None:
    estimate = estimate_of(probability=[[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
    assert estimate.distance(np.array([[0.0, 0.5, 0.5], [0.0, 0.0, 0.0]])) == 0.5
    assert estimate.distance(estimate.joint()) == 0.0


def test_a_judgement_has_the_fit_the_dependence_and_the_privacy() -> None:
    judged = estimate_of().judgement()
    assert judged.evidence == (
        "12,345 reports",
        "lremh from previous, 7 iterations; at most 1e-07 nats below the maximum likelihood, within tolerance",
        "the attributes depend on each other (p < 0.001)",
    )
    assert judged.facts == {"certified": "yes", "dependent": "yes"}
    assert judged.privacy == ("epsilon 1.500 a report, 7.800 a lifetime: the record does not change",)
    assert judged.previous == ()


@pytest.mark.parametrize(
    ("dependent", "said"),
    [
        (True, "the attributes depend on each other, and one may be a function of the others (p = 0.42)"),
        (
            False,
            "no significant dependence: the attributes may be independent, and one may as well be a function of the "
            "others (p = 0.42)",
        ),
    ],
)
def test_a_test_of_independence_says_that_an_attribute_may_be_a_function(dependent: bool, said: str) -> None:
    independence = Independence(
        marginals=((0.6, 0.4), (0.5, 0.5)), statistic=1, p_value=0.42, dependent=dependent, may_be_function=True
    )
    assert str(independence) == said


def test_a_judgement_has_what_speaks_against_an_estimate() -> None:
    doubtful = estimate_of(
        effective_reports=20_000.4,
        fit=Fit(method="em", stop="paper", start="uniform", iterations=1, certificate=3.25, certified=False),
        independence=Independence(
            marginals=((0.6, 0.4), (0.1, 0.35, 0.55)), statistic=1, p_value=0.42, dependent=False
        ),
    ).judgement()
    assert doubtful.evidence == (
        "12,345 reports, worth 20,000 of different users in one window",
        "em from uniform, 1 iterations; at most 3.2 nats below the maximum likelihood, NOT within tolerance",
        "no significant dependence: the attributes may be independent (p = 0.42)",
    )
    assert doubtful.facts == {"certified": "no", "dependent": "no"}


def test_a_judgement_says_of_which_views_an_estimate_is_made() -> None:
    views = (View(attributes=("bathing",), reports=3), View(attributes=("mobility",), reports=0))
    assert "fitted to 1 of 2 views in 7 sweeps" in estimate_of(views=views).judgement().evidence[1]


def test_a_judgement_says_what_previous_windows_contribute_if_they_do() -> None:
    alone = (0.15, 0.2, 0.25, 0.0, 0.15, 0.25)
    temporal = Temporal(alone=alone, users=1_234.5, drift=0.001, jumped=False)
    sentence = "previous windows weigh as much as 1,234 users and move the answer by 0.0500"
    assert estimate_of(temporal=temporal).judgement().previous == (sentence,)
    assert estimate_of(temporal=temporal.model_copy(update={"users": 0.0})).judgement().previous == ()


def test_a_judgement_says_what_linking_tells_and_whose_reports_were_linked() -> None:
    linked = Linked(users=1_000, reports=7_000, reports_per_user=1.0, returning=0.75, privacy="one pseudonym for 7d")
    judged = estimate_of(linked=linked).judgement()
    assert judged.privacy[1] == "one pseudonym for 7d"
    assert judged.evidence[-1] == (
        "7,000 reports of the period, of 1,000 users, of whom 75% reported in the previous window"
    )
    assert judged.facts == {"users": "1000", "certified": "yes", "dependent": "yes"}
    first = estimate_of(linked=linked.model_copy(update={"returning": None})).judgement()
    assert first.evidence[-1] == "7,000 reports of the period, of 1,000 users"


def test_a_judgement_has_what_readers_of_finals_could_learn() -> None:
    published = Published.among("20,000", epsilon=0.1189, delta=1e-8, hidden="any two records")
    known = estimate_of(privacy=Privacy(per_report=1.5, lifetime=7.8, assumption="any", published=published))
    assert known.judgement().privacy[-1] == (
        "(epsilon, delta) = (0.119, 1e-08) against readers of final answers who trust the service, for a user who "
        "reports once among 20,000 honest reports: any two records"
    )


def test_the_score_of_an_estimate_is_its_distance_to_the_truth() -> None:
    score = estimate_of(probability=[[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]).score({("", ("no", "some")): 1.0})
    assert {name: str(measure) for name, measure in score.items()} == {"distance": "0.5000"}
