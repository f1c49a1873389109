"""A table of records as a population: whom it holds, and which table is refused."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stream_ldp.cli.inputs.population import load_population, sample
from stream_ldp.cli.inputs.table import Binning, columns_of
from stream_ldp.collection.records import Missing
from stream_ldp.errors import DataError, ParameterError
from stream_ldp.records.collection import JointCollection
from tests.client.examples import collection_of
from tests.pairs.examples import collection_of as pairs_collection


def test_nobody_reports_twice_where_there_are_enough_rows() -> None:
    population = np.arange(100).reshape(100, 1)
    generator = np.random.default_rng(1)
    assert sorted(sample(population, 100, generator).ravel()) == list(range(100))
    assert len(set(sample(population, 60, generator).ravel())) == 60
    assert sample(population, 60, generator).ravel().tolist() != list(range(60))
    drawn = sample(population, 1_000, generator).ravel()
    assert len(drawn) == 1_000
    # Each row is missed with probability 0.99^1000 = 4e-5.
    assert len(set(drawn)) > 95


def test_columns_are_found_by_name_and_others_left_out(tmp_path: Path) -> None:
    path = tmp_path / "people.csv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\ufeffage,mobility,bathing\n17,some,yes\n\n18,none,no\n")
    assert load_population(path, collection_of()).table.tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("bathing,age\nno,17\n", r"the first line has no column 'mobility'"),
        ("", r"no first line with the names of columns"),
        ("bathing,mobility\n", r"no records below the header line"),
        (
            "bathing,mobility\nno,some\nno,wheelchair\n",
            r":3: attribute 'mobility': the given value is not one of none",
        ),
        ("bathing,mobility\nno\n", r":2: 1 value for 2 columns"),
        ("bathing,mobility\nno,some,more\n", r":2: 3 values for 2 columns"),
        ('bathing,mobility\nno,"some\n', r"not CSV: unexpected end of data"),
        ("bathing,mobility\nno,s\udcffme\n", r"not text in UTF-8"),
    ],
)
def test_a_table_that_is_not_a_population_is_refused_without_repeating_a_value(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(DataError, match=problem) as refusal:
        load_population(path, collection_of())
    assert "wheelchair" not in str(refusal.value)


PEOPLE = JointCollection.parse(
    """
collection: people
mechanism: {kind: k-rr, epsilon: 2}
attributes:
  - {name: age, values: [young, old], missing: unknown}
  - {name: diet, values: [meat, fish]}
window: {size: 60s}
estimates:
  - {name: all, of: [age, diet]}
"""
)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_numbers_are_binned_at_the_input_and_rows_without_a_value_refused_or_counted(
    tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"people.{suffix}"
    frame = pd.DataFrame({"age": [3, 64, None, 18], "diet": ["fish", "meat", "fish", None]})
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    bins = Binning.of(["age=0,18,65"])
    with pytest.raises(DataError, match=r"(:5|row 4): attribute 'diet': the value is missing"):
        load_population(path, PEOPLE, bins=bins)
    found = load_population(path, PEOPLE, bins=bins, missing=Missing.SKIP)
    assert (found.table.tolist(), found.left_out) == ([[0, 1], [1, 0], [2, 1]], 1)
    with pytest.raises(ParameterError, match="3 bins for attribute 'age', which has 2 values"):
        load_population(path, PEOPLE, bins=Binning.of(["age=0,18,65,80"]))
    with pytest.raises(DataError, match="attribute 'age': the given number is not from 0 to 60"):
        load_population(path, PEOPLE, bins=Binning.of(["age=0,18,60"]))


def test_a_table_of_which_every_row_lacks_a_value_is_no_population(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,diet\nold,\n")
    with pytest.raises(DataError, match="every row lacks a value"):
        load_population(path, PEOPLE, missing=Missing.SKIP)


@pytest.mark.parametrize("name", ["people.jsonl", "people.jsonl.gz"])
def test_users_of_json_lines_hold_the_keys_that_their_line_has(tmp_path: Path, name: str) -> None:
    text = b'{"search": 30, "maps": "2.5"}\n\n{}\n{"photos": null, "maps": 99}\n'
    (path := tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    table = load_population(path, pairs_collection()).table
    assert np.nan_to_num(table["0"], nan=-5).tolist() == [30, -5, -5]
    assert np.nan_to_num(table["1"], nan=-5).tolist() == [2.5, -5, 10], "99 is beyond the range, and clipped"
    assert np.isnan(table["2"]).all()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"serch": 77}', "a key of the record is none of collection 'features'\n  -> write keys as"),
        ('{"search": "x77"}', "attribute 'search': the given value is not a number"),
        ('{"search": NaN}', "attribute 'search': the given value is not a number"),
        ('{"search": true}', "attribute 'search': expected a JSON string, a number, or null"),
        ('{"search": 77, "search": 1}', "a key is given twice: give each once"),
        ("[77]", "not a JSON object"),
        ('{"search": 77', "not JSON: Expecting ',' delimiter at column 14"),
    ],
)
def test_json_lines_that_hold_no_pairs_are_located_without_repeating_a_value(
    tmp_path: Path, line: str, problem: str
) -> None:
    path = tmp_path / "people.jsonl"
    path.write_text('{"search": 5}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(DataError) as refusal:
        load_population(path, pairs_collection())
    assert str(refusal.value).startswith(f"{path}:2: {problem}")
    assert "77" not in str(refusal.value)
    assert "serch" not in str(refusal.value)


def test_json_lines_of_attributes_are_rows_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "people.jsonl"
    path.write_text('{"id": 7, "diet": "fish", "age": 3}\n{"diet": "meat", "id": 8}\n', encoding="utf-8")
    assert load_population(path, PEOPLE, bins=Binning.of(["age=0,18,65"])).table.tolist() == [[0, 1], [2, 0]]
    assert columns_of(path) == ["id", "diet", "age"]
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"people\.jsonl: no records; it needs a JSON object on each line"):
        columns_of(path)
