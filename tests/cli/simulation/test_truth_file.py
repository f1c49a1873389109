"""The file of a truth, of either kind: which is refused, and that it is replaced as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_ldp.cli.simulation.item_truth import ItemTruth
from stream_ldp.cli.simulation.truth import Truth
from stream_ldp.cli.simulation.truth_file import TruthError, TruthFile


@pytest.mark.parametrize(
    ("truth", "origin"), [(Truth, "a simulation, as"), (ItemTruth, "a simulation of item sets, as")]
)
@pytest.mark.parametrize("content", ["{}", '{"collection": "films"}', "no JSON"])
def test_a_file_that_holds_no_truth_is_refused(
    tmp_path: Path, truth: type[TruthFile], origin: str, content: str
) -> None:
    path = tmp_path / "truth.json"
    with pytest.raises(TruthError, match=r"cannot be read: No such file"):
        truth.load(path)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(TruthError, match=rf"not the truth of {origin}"):
        truth.load(path)


def test_a_reader_has_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    old, new = (ItemTruth(collection="films", fingerprint="", frequency={"Alien": each}) for each in (0.25, 0.5))
    old.save(path)
    with path.open("rb") as reader:
        new.save(path)
        assert ItemTruth.model_validate_json(reader.read()) == old
    assert ItemTruth.load(path) == new
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(TruthError, match=r"nowhere/truth\.json: cannot be written: No such file"):
        ItemTruth(collection="films", fingerprint="", frequency={}).save(tmp_path / "nowhere" / "truth.json")
