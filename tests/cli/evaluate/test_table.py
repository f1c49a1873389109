"""Columns of a table, as evaluations read them; joint evaluations test what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_ldp.cli.evaluate._table import MissingInTable, read_columns
from stream_ldp.cli.inputs.table import Binning
from stream_ldp.errors import DataError

NO_BINS = Binning.of(None)


def test_columns_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b,c\n1,2,3\n\n4,5,\n", encoding="utf-8")
    assert read_columns(path, ["c", "a"], bins=NO_BINS, missing=MissingInTable.VALUE) == [("3", ""), ("1", "4")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no first line with the names of columns"),
        ("a,b\n", "no records below the header line"),
        ("b\n1\n", "the first line has no column 'a'"),
        ("a,a\n1,2\n", "two columns have the name 'a'"),
        ("a,b\n1\n", "1 value for 2 columns"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_columns(path, ["a"], bins=NO_BINS)


def test_rows_without_a_value_are_refused_left_out_or_counted_as_one_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,\n,2\n3,4\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"table\.csv:2: attribute 'b': the value is missing, as in 1 more row\n  -> "
    ):
        read_columns(path, ["a", "b"], bins=NO_BINS)
    assert read_columns(path, ["a", "b"], bins=NO_BINS, missing=MissingInTable.SKIP) == [("3",), ("4",)]
    assert "2 rows without a value, left out" in capsys.readouterr().err
    kept = read_columns(path, ["a", "b"], bins=NO_BINS, missing=MissingInTable.VALUE)
    assert kept == [("1", "", "3"), ("", "2", "4")]
    assert "2 rows without a value, which counts as a value of its own" in capsys.readouterr().err


def test_numbers_are_replaced_by_those_of_their_bins(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text('age\n3\n64.5\n""\n18\n', encoding="utf-8")
    bins = Binning.of(["age=0,18,65"])
    assert read_columns(path, ["age"], bins=bins, missing=MissingInTable.VALUE) == [("0", "1", "-1", "1")]
    path.write_text("age\n3\n99\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"table\.csv:3: attribute 'age': the given number is not from 0 to 65"):
        read_columns(path, ["age"], bins=bins)
