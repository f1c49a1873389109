"""An estimate asks for the counts of its attributes in every window, and goes on from its own last answer."""

from __future__ import annotations

from tests.client.examples import MINUTE_MS, collection_of, estimate_of


def test_an_estimate_counts_its_attributes_in_every_window_whatever_was_answered_before() -> None:
    joint, mobility = collection_of().estimates
    assert joint.statistic(None) == joint.statistic(estimate_of()) == ("bathing", "mobility")
    assert mobility.statistic(None) == ("mobility",)


def test_an_estimate_follows_the_last_one_of_its_own_name() -> None:
    _, mobility = collection_of().estimates
    assert mobility.follows(7 * MINUTE_MS) == ("mobility", None)
