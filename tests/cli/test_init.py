"""A collection file is drafted from a table: what becomes an attribute, what is left out, and what is refused."""

import random
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from stream_ldp.cli import app
from stream_ldp.cli.inputs.population import load_population
from stream_ldp.kinds import load_collection


@pytest.fixture
def people(tmp_path: Path) -> Path:
    draw = random.Random(1)
    rows = [
        f"{row},{draw.choice(['', *range(18, 90)])},{draw.lognormvariate(10, 0.5):.2f},{draw.choice('mf')},"
        f"{draw.choice(['no', 'yes', 'NA'])},2024-01-{draw.randint(10, 28)},NZ,user-{draw.random()}"
        for row in range(500)
    ]
    (file := tmp_path / "People of 2024.csv").write_text(
        "\n".join(["id,age,income,sex,smokes,joined,country,handle", *rows]) + "\n"
    )
    return file


def init(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["init", *map(str, arguments)])


def test_a_draft_reads_the_table_that_it_was_made_from(people: Path, tmp_path: Path) -> None:
    done = init(people, "--output", tmp_path / "drafted.yaml")
    assert done.exit_code == 0, done.output
    collection = load_collection(tmp_path / "drafted.yaml")
    assert collection.name == "people-of-2024"
    attributes = {each["name"]: each for each in collection.document["attributes"]}
    assert list(attributes) == ["age", "income", "sex", "smokes"]
    assert attributes["sex"]["values"] == ["f", "m"]
    assert attributes["smokes"]["missing"] == "NA"
    assert attributes["age"]["missing"] == "unknown"
    assert len(load_population(people, collection).table) == 500  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ("id", "nearly all of its values differ"),
        ("handle", "nearly all of its values differ"),
        ("joined", "it has dates"),
        ("country", "it has one value"),
    ],
)
def test_a_column_that_makes_no_attribute_is_left_out_with_its_reason_and_cannot_be_chosen(
    people: Path, tmp_path: Path, column: str, why: str
) -> None:
    done = init(people, "--output", tmp_path / "drafted.yaml")
    assert f"{column} is left out: {why}" in done.stderr
    chosen = init(people, "--output", tmp_path / "chosen.yaml", "--of", f"age,{column}")
    assert chosen.exit_code == 2
    assert f"--of {column}: {why}" in chosen.stderr
    assert not (tmp_path / "chosen.yaml").exists()


def test_a_file_that_exists_is_replaced_only_if_that_is_said(people: Path, tmp_path: Path) -> None:
    file = tmp_path / "drafted.yaml"
    file.write_text("mine")
    assert "exists already" in init(people, "--output", file).stderr
    assert file.read_text() == "mine"
    assert init(people, "--output", file, "--force").exit_code == 0


def test_one_column_is_a_collection_of_one_attribute(tmp_path: Path) -> None:
    (file := tmp_path / "table.csv").write_text("answer\n" + "no\nyes\n" * 20)
    assert init(file, "--output", tmp_path / "drafted.yaml").exit_code == 0
    assert [each["name"] for each in load_collection(tmp_path / "drafted.yaml").document["attributes"]] == ["answer"]


def test_a_first_line_that_may_be_a_record_is_pointed_out(tmp_path: Path) -> None:
    (file := tmp_path / "table.csv").write_text("no,some\nyes,full\nno,none\n")
    done = init(file, "--output", tmp_path / "drafted.yaml")
    assert done.exit_code == 0
    assert "no names a column and is one of its values: the first line has to name the columns" in done.stderr


def test_a_window_that_is_no_duration_is_refused_by_the_name_of_its_option(tmp_path: Path) -> None:
    (data := tmp_path / "people.csv").write_text("a,b\nx,y\nx,z\nq,z\nq,y\n")
    refused = init(data, "--window", "5x", "--yes")
    assert refused.exit_code == 2
    assert "--window: '5x' is not a duration" in refused.stderr
