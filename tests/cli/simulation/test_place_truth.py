"""The truth of a simulation of places: which window's counts are compared with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stream_ldp.cli.simulation.place_truth import PlaceTally, PlaceTruth
from stream_ldp.pipeline.answer import WindowBounds
from tests.places.examples import collection_of, counts_of, users


def test_counts_are_compared_with_their_own_window_or_else_with_the_population(tmp_path: Path) -> None:
    collection, people = collection_of(), users(100)
    tally = PlaceTally(collection, people)
    tally.add(people[:30], time_ms=20_000)
    tally.add(people[30:40], time_ms=29_999)
    tally.add(people[40:], time_ms=30_000)
    tally.truth().save(tmp_path / "truth.json")
    truth = PlaceTruth.load(tmp_path / "truth.json")
    assert [sum(each.counts) for each in truth.windows] == [40, 60]
    counts = counts_of(collection, 50)
    assert truth.of(counts) == tuple(np.bincount(people["0"][:40], minlength=5).astype(float))
    elsewhere = truth.of(counts.model_copy(update={"window": WindowBounds(start_ms=0, end_ms=1)}))
    assert elsewhere == pytest.approx(np.bincount(people["0"], minlength=5) / 2)
    assert truth.of(counts_of(collection_of("epsilon: [1]"), 0)) is None
