"""The truth of a simulation of item sets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream_ldp.cli.simulation.item_truth import ItemTruth
from stream_ldp.cli.simulation.truth import TruthError
from stream_ldp.sets.item_sets import ItemSets
from tests.cli.films import data_file
from tests.client.items import films


def test_a_file_that_holds_no_truth_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TruthError, match=r"cannot be read"):
        ItemTruth.load(tmp_path / "nothing")
    with pytest.raises(TruthError, match=r"not the truth of a simulation of item sets"):
        ItemTruth.load(data_file(tmp_path, json.dumps({"collection": "films"})))
    nobody = ItemTruth.of(films(), ItemSets.of([[], []]))
    assert nobody.top(3) == {}
