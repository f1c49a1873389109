"""An estimate asks for the counts of its attributes in every window, and goes on from its own last answer."""

from __future__ import annotations

import pytest

from stream_ldp.records.collection import JointCollection
from tests.client.examples import MINUTE_MS, collection_of, estimate_of
from tests.records.examples import TEXT, problems_of

#: An estimate of one of its attributes, which learns from all four but one.
AMONG = """
collection: care-survey
mechanism: {kind: rr-ldp, f: 0.5, p: 0.25, q: 0.75}
attributes:
  - {name: bathing, values: [no, yes]}
  - {name: dressing, values: [no, yes]}
  - {name: eating, values: [no, yes]}
  - {name: mobility, values: [none, some, full]}
window: {size: 60s}
estimates:
  - {name: care, of: [mobility, bathing], among: [mobility, bathing, dressing]}
"""


def test_an_estimate_counts_its_attributes_in_every_window_whatever_was_answered_before() -> None:
    joint, mobility = collection_of().estimates
    assert joint.statistic(None) == joint.statistic(estimate_of()) == ("bathing", "mobility")
    assert mobility.statistic(None) == ("mobility",)


def test_an_estimate_among_more_attributes_counts_the_rows_of_all_of_them() -> None:
    (estimate,) = JointCollection.parse(AMONG).estimates
    assert estimate.statistic(None) == ("mobility", "bathing", "dressing")


@pytest.mark.parametrize(
    ("among", "problem"),
    [
        ("[bathing, mobility]", "among: at least 3 needed"),
        ("[bathing, dressing, bathing]", "must be distinct"),
        ("[mobility, bathing, smoking]", "among.2: 'smoking' is not an attribute"),
        ("[bathing, dressing, eating]", "the attributes of the estimate are among them: add mobility"),
        ("[mobility, bathing, dressing], method: lasso", "among needs method em or lremh, and stop certificate"),
        ("[mobility, bathing, dressing], stop: paper", "among needs method em or lremh, and stop certificate"),
    ],
)
def test_attributes_among_which_an_estimate_cannot_be_are_refused(among: str, problem: str) -> None:
    (found,) = problems_of(AMONG.replace("[mobility, bathing, dressing]", among))
    assert problem in found


def test_linked_reports_are_not_learnt_from_among_others() -> None:
    (found,) = problems_of(f"{AMONG}linked: 7d\n")
    assert "leave among out" in found


def test_an_estimate_follows_the_last_one_of_its_own_name() -> None:
    _, mobility = collection_of().estimates
    assert mobility.follows(7 * MINUTE_MS) == ("mobility", None)


@pytest.mark.parametrize("spec", ["method: lasso", "stop: paper"])
def test_a_temporal_prior_needs_an_estimator_with_a_prior(spec: str) -> None:
    (problem,) = problems_of(TEXT.replace("mobility]}", f"mobility], {spec}, prior: temporal}}"))
    assert problem.endswith("estimates.0.prior: temporal needs method em or lremh, and stop certificate")


@pytest.mark.parametrize(
    ("estimate", "window", "temporal"),
    [
        ("", "", True),
        (", prior: temporal", "", True),
        (", prior: window", "", False),
        (", method: lasso", "", False),
        (", stop: paper", "", False),
        ("", ", hop: 30s", False),
        ("", ", memory: 0.5", False),
    ],
)
def test_windows_learn_from_each_other_where_they_can(estimate: str, window: str, temporal: bool) -> None:
    text = TEXT.replace("mobility]}", f"mobility]{estimate}}}").replace("60s}", f"60s{window}}}")
    collection = JointCollection.parse(text)
    assert collection.estimates[0].is_temporal(collection.window) is temporal
    assert collection.fingerprint == JointCollection.parse(TEXT).fingerprint


@pytest.mark.parametrize("window", ["hop: 30s", "memory: 0.5"])
def test_windows_that_share_reports_are_refused_a_temporal_prior(window: str) -> None:
    text = TEXT.replace("mobility]}", "mobility], prior: temporal}").replace("60s}", f"60s, {window}}}")
    (problem,) = problems_of(text)
    assert problem.endswith(
        "estimates.0.prior: temporal needs windows without reports in common: leave out hop and memory"
    )
