"""Tests of writing tables: the form follows from what is asked for, then from the file's name."""

from pathlib import Path

import pytest
import typer

from stream_ldp.cli.table_output import TableFormat, form_of, write_table
from stream_ldp.client.table import Table, table_of


@pytest.fixture
def table() -> Table:
    return table_of([], level=0.95)


def test_the_form_is_that_of_the_files_name_unless_another_is_asked_for() -> None:
    assert form_of(None, None) is TableFormat.TEXT
    assert form_of(None, Path("answers.parquet")) is TableFormat.PARQUET
    assert form_of(TableFormat.JSON, Path("answers.csv")) is TableFormat.JSON


@pytest.mark.parametrize(
    ("form", "output", "hint"),
    [(None, Path("answers.xls"), "say --format"), (TableFormat.PARQUET, None, "--output FILE.parquet")],
)
def test_a_form_that_cannot_be_written_is_refused_with_what_to_say_instead(
    form: TableFormat | None, output: Path | None, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit):
        form_of(form, output)
    assert hint in capsys.readouterr().err


def test_a_file_that_cannot_be_written_ends_the_command_with_the_reason(
    table: Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit):
        write_table(table, TableFormat.CSV, tmp_path / "nowhere" / "answers.csv")
    assert "cannot be written: No such file or directory" in capsys.readouterr().err
