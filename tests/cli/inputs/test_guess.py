"""What a table's columns are guessed to be, and which tables are refused."""

from pathlib import Path

import pytest

from stream_ldp.cli.inputs.guess import guess
from stream_ldp.errors import DataError


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no,some\nyes,full\nno,some\n", "the first line looks like a record"),
        ("31,no\n44,yes\n", "the first line looks like a record"),
        ('{"a": "x"}\n{"a": "y"}\n', "lines of JSON"),
        ("a;b\n1;2\n", "columns are separated by commas"),
        ("a,a\n1,2\n", "two columns have the same name"),
        ("a,b\n", "no records below the header line"),
        ("", "no first line"),
        ("a\n5\n5\n", "no column can be asked about"),
        ("a,b\n1\n", "1 value for 2 columns"),
    ],
)
def test_a_table_that_cannot_be_asked_about_is_refused_without_its_values(
    text: str, why: str, tmp_path: Path
) -> None:
    (file := tmp_path / "table.csv").write_text(text)
    with pytest.raises(DataError, match=why):
        guess(file)


def test_numbers_of_a_few_values_are_codes_and_of_more_are_put_in_bins(tmp_path: Path) -> None:
    rows = [f"{row % 5},{row % 40}" for row in range(400)]
    (file := tmp_path / "table.csv").write_text("\n".join(["code,age", *rows]))
    code, age = guess(file).attributes
    assert code.keys["values"] == ["0", "1", "2", "3", "4"]
    assert age.keys["bins"][1:-1] == [6, 13, 20, 26, 33] or len(age.keys["bins"]) == 7


def test_numbers_that_differ_in_nearly_all_rows_are_ids_only_if_they_are_whole(tmp_path: Path) -> None:
    (file := tmp_path / "table.csv").write_text("\n".join(["id,height", *(f"{n},{n / 7}" for n in range(100))]))
    found = guess(file)
    assert list(found.left_out) == ["id"]
    assert [each.keys["name"] for each in found.attributes] == ["height"]


def test_a_first_line_that_may_be_a_record_is_doubted_but_read(tmp_path: Path) -> None:
    (file := tmp_path / "table.csv").write_text("no,some\nyes,full\nno,none\n")
    assert guess(file).doubted == "no"
    file.write_text("bathing,mobility\nyes,full\nno,none\n")
    assert guess(file).doubted is None
