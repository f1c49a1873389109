"""The truth of a simulation: which users it is of, which answers it is compared with, and its file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_ldp.cli.simulation.truth import Truth, TruthError, TruthTally, truth_in
from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.sets.item_sets import ItemSets
from tests.cli.displays.examples import FILMS_TRUTH
from tests.client.examples import MINUTE_MS, collection_of, estimate_of
from tests.client.items import films


def truth_of_two_windows(path: Path) -> Truth:
    values = np.array([[0, 0], [1, 2], [1, 2]])
    tally = TruthTally(collection_of(), values)
    tally.add(values[:1], time_ms=0)
    tally.add(values[1:2], time_ms=MINUTE_MS - 1)
    tally.add(values[1:], time_ms=MINUTE_MS)
    tally.truth().save(path)
    return Truth.load(path)


def test_an_answer_is_compared_with_its_own_window_or_else_with_the_population(tmp_path: Path) -> None:
    truth = truth_of_two_windows(tmp_path / "truth.json")
    assert [each.users for each in truth.windows] == [2, 2]
    few, many = ("", ("no", "none")), ("", ("yes", "full"))
    for minute, joint in enumerate([{few: 0.5, many: 0.5}, {many: 1.0}, {few: 1 / 3, many: 2 / 3}]):
        window = WindowBounds(start_ms=minute * MINUTE_MS, end_ms=(minute + 1) * MINUTE_MS)
        assert truth.of(estimate_of(window=window)) == pytest.approx(joint)


@pytest.mark.parametrize("changes", [{"fingerprint": "0" * 32}, {"estimate": "other"}])
def test_an_estimate_of_something_else_has_no_truth(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert truth_of_two_windows(tmp_path / "truth.json").of(estimate_of(**changes)) is None


def test_nothing_is_true_of_sets_that_hold_nothing() -> None:
    nobody = TruthTally(films(), ItemSets.of([[], []])).truth()
    assert (nobody.population.users, nobody.population.numbers("items")) == (2, {})


@pytest.mark.parametrize("content", ["{}", '{"collection": "films"}', "no JSON"])
def test_a_file_that_holds_no_truth_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "truth.json"
    with pytest.raises(TruthError, match=r"cannot be read: No such file"):
        Truth.load(path)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(TruthError, match=r"not the truth of a simulation, as `simulate --truth` writes it"):
        Truth.load(path)


def test_a_reader_has_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    old, new = FILMS_TRUTH, FILMS_TRUTH.model_copy(update={"collection": "other"})
    old.save(path)
    with path.open("rb") as reader:
        new.save(path)
        assert Truth.model_validate_json(reader.read()) == old
    assert Truth.load(path) == new
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(TruthError, match=r"nowhere/truth\.json: cannot be written: No such file"):
        FILMS_TRUTH.save(tmp_path / "nowhere" / "truth.json")


def test_a_file_that_is_not_there_yet_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    assert truth_in(None, estimate_of()) is None
    assert truth_in(path, estimate_of()) is None
    truth_of_two_windows(path)
    assert truth_in(path, estimate_of()) is not None
