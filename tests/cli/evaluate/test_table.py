"""Columns of a table, as evaluations read them; joint evaluations test what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_ldp.cli.evaluate._table import read_columns
from stream_ldp.errors import DataError


def test_columns_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b,c\n1,2,3\n\n4,5,\n", encoding="utf-8")
    assert read_columns(path, ["c", "a"]) == [("3", ""), ("1", "4")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no first line with the names of columns"),
        ("a,b\n", "no records below the header line"),
        ("b\n1\n", "the first line has no column 'a'"),
        ("a,a\n1,2\n", "two columns have the name 'a'"),
        ("a,b\n1\n", "1 values for 2 columns"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_columns(path, ["a"])
