"""Tables in files, and the bins of their numbers."""

import gzip
from pathlib import Path

import pandas as pd
import pytest

from stream_ldp.cli.inputs.table import Binning, columns_of, read_rows, text_of
from stream_ldp.errors import DataError, ParameterError
from stream_ldp.extras import MissingExtra


def test_rows_of_csv_and_parquet_come_with_their_place(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [3, None], "diet": ["fish", "meat"], "id": [7, 8]})
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    csv = list(read_rows(tmp_path / "people.csv", ["diet", "age"]))
    assert csv == [
        (f"{tmp_path}/people.csv:2", {"diet": "fish", "age": "3.0"}),
        (f"{tmp_path}/people.csv:3", {"diet": "meat", "age": ""}),
    ]
    parquet = list(read_rows(tmp_path / "people.parquet", ["diet", "age"]))
    assert [place for place, _ in parquet] == [f"{tmp_path}/people.parquet: row {number}" for number in (1, 2)]
    assert parquet[0][1] == {"diet": "fish", "age": 3.0}


def test_a_parquet_file_that_cannot_be_used_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.parquet"
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        list(read_rows(path, ["age"]))
    path.write_text("age\n3\n")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        list(read_rows(path, ["age"]))
    pd.DataFrame({"age": [3]}).to_parquet(path)
    with pytest.raises(DataError, match="there is no column 'diet'"):
        list(read_rows(path, ["diet"]))
    pd.DataFrame({"age": []}).to_parquet(path)
    with pytest.raises(DataError, match="no rows"):
        list(read_rows(path, ["age"]))

    def missing(module: str) -> None:
        raise ModuleNotFoundError(module)

    monkeypatch.setattr("stream_ldp.extras.import_module", missing)
    with pytest.raises(MissingExtra, match=r"stream-ldp\[analysis\]"):
        list(read_rows(path, ["age"]))


def test_a_first_line_that_is_not_csv_is_named(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text('"age' + "x" * 200_000 + '",id\n1,2\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"table\.csv:1: not CSV: field larger than field limit"):
        columns_of(path)


@pytest.mark.parametrize(("separator", "shown"), [(";", "';'"), ("\t", r"'\\t'")])
def test_columns_that_other_characters_separate_are_pointed_out(tmp_path: Path, separator: str, shown: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"age{separator}diet\n3{separator}fish\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=f"no column 'diet': it has one column, with {shown} in its name; columns are"
    ):
        list(read_rows(path, ["diet"]))


def test_a_number_is_replaced_by_its_bin() -> None:
    bins = Binning.of(["age=0,18,65", "a=b=1,2"])
    assert bins.binned("age", "17.5") == "[0,18)"
    assert bins.binned("age", 65, labels=["young", "old"]) == "old"
    assert bins.binned("age", "") == ""
    assert bins.binned("diet", "fish") == "fish"
    assert "a=b" in bins.edges
    with pytest.raises(DataError, match="attribute 'age': the given value is not a number"):
        bins.binned("age", "old")


@pytest.mark.parametrize("option", ["age", "age=", "age=3", "age=3,2", "age=a,b", "=1,2,x"])
def test_an_option_that_states_no_bins_is_refused(option: str) -> None:
    with pytest.raises(ParameterError, match="age=0,18,65,120"):
        Binning.of([option])


def test_bins_of_no_column_are_refused() -> None:
    with pytest.raises(ParameterError, match="'age' is not one of diet, id"):
        Binning.of(["age=1,2"]).require(["diet", "id"])
    with pytest.raises(ParameterError, match="once each"):
        Binning.of(["age=1,2", "age=1,3"])


TEXT = "\ufeffname\r\n" + "ä\r\n" * 100_000


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz"])
def test_text_is_the_same_gzipped_or_not_without_its_byte_order_mark(tmp_path: Path, name: str) -> None:
    data = TEXT.encode()
    (path := tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with text_of(path) as file:
        assert file.read() == TEXT[1:]


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("cut.gz", gzip.compress(TEXT.encode())[:-20], "it is not gzip, or damaged or cut short"),
        ("plain.gz", TEXT.encode(), "it is not gzip, or damaged or cut short"),
        ("late.csv", TEXT.encode() + b"\xff", "not text in UTF-8; the name of a gzipped file must end in .gz"),
        ("missing.csv", None, "cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_read_to_its_end_is_named_with_the_reason(
    tmp_path: Path, name: str, data: bytes | None, problem: str
) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)

    def read() -> None:
        with text_of(path) as file:
            for _ in file:
                pass

    with pytest.raises(DataError) as refusal:
        read()
    assert str(refusal.value).startswith(f"{path}: ")
    assert str(refusal.value).endswith(problem)
