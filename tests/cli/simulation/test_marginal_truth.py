"""The truth of a simulation of a sampled collection: which window's marginals are compared with."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_ldp.cli.simulation.marginal_truth import MarginalTally, MarginalTruth
from stream_ldp.marginals.answer import Frequencies
from stream_ldp.pipeline.answer import WindowBounds
from tests.marginals.examples import collection_of, marginals_of, users


def test_marginals_are_compared_with_their_own_window_or_else_with_the_population(tmp_path: Path) -> None:
    collection, people = collection_of(), users(100)
    tally = MarginalTally(collection, people)
    tally.add(people[:30], time_ms=20_000)
    tally.add(people[30:40], time_ms=29_999)
    tally.add(people[40:], time_ms=30_000)
    tally.truth().save(tmp_path / "truth.json")
    truth = MarginalTruth.load(tmp_path / "truth.json")
    assert [each.reports for each in truth.windows] == [40, 60]
    marginals = marginals_of(collection, 100)
    found = truth.of(marginals)
    assert found is not None
    assert found["age"][0] == pytest.approx(people["1"][:40].mean())
    assert found["diet"][0] == pytest.approx((people["0"][:40] == 0).mean())
    elsewhere = marginals.model_copy(update={"window": WindowBounds(start_ms=0, end_ms=1)})
    population = truth.of(elsewhere)
    assert population is not None
    assert population["age"][0] == pytest.approx(people["1"].mean())
    assert truth.of(marginals_of(collection_of("epsilon: 1"), 100)) is None


def test_the_truth_of_candidates_is_that_of_those_with_an_estimate() -> None:
    frequencies = Frequencies(values=("c",), raw=(0.4,), standard_error=(0.1,), projected=(0.4,), dropped=("a", "b"))
    marginals = marginals_of(collection_of(), 100)
    diet = marginals.of("diet").model_copy(update={"estimate": frequencies})
    truth = MarginalTruth(
        collection=marginals.collection,
        fingerprint=marginals.fingerprint,
        labels={"diet": ("a", "b", "c")},
        population={"diet": (0.5, 0.2, 0.3)},
        windows=(),
    )
    assert truth.of(marginals.model_copy(update={"attributes": (diet,)})) == {"diet": (0.3,)}
