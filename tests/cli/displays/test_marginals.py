"""The display of marginals: which are current, and what JSON adds to them."""

from __future__ import annotations

import json
from pathlib import Path

from stream_ldp.cli.displays.marginals import display
from stream_ldp.cli.simulation.marginal_truth import MarginalTally
from stream_ldp.pipeline.answer import WindowBounds
from tests.marginals.examples import collection_of, marginals_of, users

COLLECTION = collection_of()


def test_the_newest_are_the_last_final_one_and_that_of_the_open_window() -> None:
    shown = display(None, rows=3)
    final, provisional = marginals_of(COLLECTION, 100), marginals_of(COLLECTION, 50, final=False)
    later = provisional.model_copy(update={"window": WindowBounds(start_ms=30_000, end_ms=40_000)})
    shown.add(provisional)
    assert shown.newest() == [provisional]
    shown.add(final)
    assert shown.newest() == [final]
    shown.add(later)
    assert shown.newest() == [final, later]


def test_json_has_the_truth_once_it_is_known(tmp_path: Path) -> None:
    file, marginals = tmp_path / "truth.json", marginals_of(COLLECTION, 100)
    shown = display(file, rows=3)
    assert "truth" not in json.loads(shown.json(marginals))
    MarginalTally(COLLECTION, users(100)).truth().save(file)
    assert set(json.loads(shown.json(marginals))["truth"]) == {"diet", "age", "smokes"}
    assert "(" in shown.line(marginals)
