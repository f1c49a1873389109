"""Tests of the dependence that finals show."""

import numpy as np
import pytest

from stream_ldp.collection.located import Misplaced
from stream_ldp.errors import ParameterError
from stream_ldp.records.answer import Estimate
from stream_ldp.records.distribution import Axis
from stream_ldp.views.dependence import ShownDependence, expecting, shown_dependence
from tests.client.examples import estimate_of
from tests.views.examples import collection_of, estimated, joint_of, users

AUTO = collection_of("epsilon: 4, ask: auto")
PAIRS = collection_of("epsilon: 4, ask: pairs", estimates="[{name: three, of: [walks, bathes, region]}]")


def test_the_dependence_of_finals_is_that_of_the_users() -> None:
    shown = shown_dependence(AUTO, [estimated(PAIRS, 200_000, name="three")])
    table = users(200_000)
    truth = []
    for of in ((0, 1), (0, 3), (1, 3)):
        joint = joint_of(table, of)
        truth.append(np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum() / 2)
    assert shown.pairs == 3
    # A sixth of 200,000 users tell a pair at epsilon 4: an error of .003 a cell.
    assert shown.mean == pytest.approx(np.mean(truth), abs=0.01)


def test_each_pair_counts_once_as_its_last_final_has_it() -> None:
    axes = (Axis(attribute="walks", values=("no", "yes")), Axis(attribute="bathes", values=("no", "yes")))

    def final(start_ms: int, probability: list[list[float]]) -> Estimate:
        window = {"start_ms": start_ms, "end_ms": start_ms + 10_000}
        changes = {"axes": axes, "probability": probability, "standard_error": [[0.1, 0.1], [0.1, 0.1]]}
        return estimate_of(**changes).model_copy(update={"window": type(estimate_of().window)(**window)})

    even, same = [[0.25, 0.25], [0.25, 0.25]], [[0.5, 0.0], [0.0, 0.5]]
    assert shown_dependence(AUTO, [final(10, even), final(0, same)]) == ShownDependence(mean=0.0, pairs=1)
    assert shown_dependence(AUTO, [final(0, even), final(10, same)]) == ShownDependence(mean=0.5, pairs=1)


def test_pairs_that_nobody_has_reported_say_nothing() -> None:
    single = collection_of(
        "epsilon: 4, ask: [[walks], [bathes], [diet, region]]", estimates="[{name: one, of: [diet]}]"
    )
    with pytest.raises(ParameterError, match="have no two attributes of this collection together: have some pairs"):
        shown_dependence(AUTO, [estimated(single, 1_000, name="one")])
    auto = collection_of("epsilon: 0.1, ask: auto, users: 200", estimates="[{name: both, of: [walks, bathes]}]")
    assert auto.mechanism_spec.design(auto.attributes).name == "attributes"
    with pytest.raises(ParameterError, match="have no two attributes"):
        shown_dependence(AUTO, [estimated(auto, 1_000, name="both")])


def test_only_a_design_that_is_chosen_expects_a_dependence() -> None:
    found = expecting(AUTO, ShownDependence(mean=0.1637, pairs=6))
    assert found.mechanism_spec.dependence == 0.164
    assert expecting(AUTO, ShownDependence(mean=0.0, pairs=6)).mechanism_spec.dependence == 0.001
    with pytest.raises(Misplaced, match=r"only `ask: auto` chooses views .* asks about pairs"):
        expecting(PAIRS, ShownDependence(mean=0.1, pairs=6))
