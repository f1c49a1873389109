"""A table of records as a population: whom it holds, and which table is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from stream_ldp.cli.inputs.population import PopulationError, load_population, sample
from tests.client.examples import collection_of


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
    assert load_population(path, collection_of()).tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("bathing,age\nno,17\n", r"the first line has no column 'mobility'"),
        ("", r"no column 'bathing'"),
        ("bathing,mobility\n", r"no rows below the first line"),
        (
            "bathing,mobility\nno,some\nno,wheelchair\n",
            r":3: attribute 'mobility': the given value is not one of none",
        ),
        ("bathing,mobility\nno\n", r":2: not as many values as there are columns, 2"),
        ("bathing,mobility\nno,some,more\n", r":2: not as many values as there are columns, 2"),
        ('bathing,mobility\nno,"some\n', r"cannot be read: unexpected end of data"),
        ("bathing,mobility\nno,s\udcffme\n", r"cannot be read"),
    ],
)
def test_a_table_that_is_not_a_population_is_refused_without_repeating_a_value(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(PopulationError, match=problem) as refusal:
        load_population(path, collection_of())
    assert "wheelchair" not in str(refusal.value)
