"""The display of counts of places: what JSON and lines add to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream_ldp.cli.displays.places import display
from stream_ldp.cli.simulation.place_truth import PlaceTally
from tests.places.examples import collection_of, counts_of, users

COLLECTION = collection_of()


def test_json_has_the_truth_once_it_is_known(tmp_path: Path) -> None:
    file, counts = tmp_path / "truth.json", counts_of(COLLECTION, 2_000)
    shown = display(file, rows=3)
    assert "truth" not in json.loads(shown.json(counts))
    PlaceTally(COLLECTION, users(2_000)).truth().save(file)
    document = json.loads(shown.json(counts))
    assert document["truth"] == pytest.approx([(users(2_000)["0"] == place).sum() for place in range(5)])
    assert "(" in shown.line(counts)
    shown.add(counts)
    assert shown.newest() == [counts]
