"""The table of a known population: what occurs in it, and its users as a collection has them."""

from pathlib import Path

import numpy as np
import pytest

from stream_ldp.cli.evaluate.known_table import TableFile
from stream_ldp.collection.records import Missing
from stream_ldp.errors import DataError
from stream_ldp.kinds import parse_collection


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def people(tmp_path: Path) -> Path:
    return written(tmp_path / "people.csv", "a,b\n10,x\n9,\n10,y\n")


def test_values_are_those_that_occur_in_their_order(people: Path) -> None:
    table = TableFile(people, missing=None)
    assert table.columns == ["a", "b"]
    assert table.values("a") == ["9", "10"]
    assert table.values("b") == ["", "x", "y"]
    assert table.numbers("a").tolist() == [1, 0, 1]
    assert table.numbers("b").tolist() == [1, 0, 2]


@pytest.mark.parametrize("missing", list(Missing))
def test_what_is_missing_is_no_value_if_such_rows_are_left_out_or_refused(people: Path, missing: Missing) -> None:
    assert TableFile(people, missing=missing).values("b") == ["x", "y"]


def test_a_population_is_encoded_once_for_collections_with_the_same_attributes(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "{{collection: a, mechanism: {{kind: k-rr, epsilon: {epsilon}}}, attributes: {attributes}, "
    text += "estimates: [{{name: b, of: [b]}}], window: {{size: 1m}}}}"
    table = TableFile(people, missing=Missing.SKIP)

    def population(epsilon: int, values: str) -> object:
        attributes = f"[{{name: b, values: {values}}}]"
        collection = parse_collection(text.format(epsilon=epsilon, attributes=attributes))
        return table.population(collection, item_sets=False)

    first = population(1, "[x, y]")
    assert np.asarray(first).tolist() == [[0], [1]]
    assert population(2, "[x, y]") is first
    assert np.asarray(population(2, "[y, x]")).tolist() == [[1], [0]]
    assert capsys.readouterr().err.count("1 row without a value, left out") == 2


def test_sets_are_the_items_of_each_line(tmp_path: Path) -> None:
    table = TableFile(written(tmp_path / "sets.txt", "1 2\n\n3\n"), missing=None)
    assert table.item_sets == [["1", "2"], [], ["3"]]
    with pytest.raises(DataError, match="empty; it needs a user's items on each line"):
        _ = TableFile(written(tmp_path / "none.txt", ""), missing=None).item_sets
