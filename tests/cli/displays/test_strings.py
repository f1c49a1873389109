"""The display of rankings of strings: what JSON and lines add to them."""

from __future__ import annotations

import json
from pathlib import Path

from stream_ldp.cli.displays.strings import display
from stream_ldp.cli.simulation.string_truth import StringTally
from tests.strings.examples import WORDS, collection_of, ranking_of, users

COLLECTION = collection_of()


def test_json_has_the_truth_once_it_is_known(tmp_path: Path) -> None:
    file, ranking = tmp_path / "truth.json", ranking_of(COLLECTION, 20_000)
    shown = display(file, rows=3)
    assert "truth" not in json.loads(shown.json(ranking))
    StringTally(COLLECTION, users(COLLECTION, 20_000)).truth().save(file)
    document = json.loads(shown.json(ranking))
    assert set(WORDS) <= set(document["truth"])
    assert document["found"] >= 5
    assert "found=" in shown.line(ranking)
    shown.add(ranking)
    assert shown.newest() == [ranking]
