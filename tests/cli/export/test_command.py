"""Final answers are exported as rows, each once, whatever takes them and however often it is begun."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import pytest
from typer.testing import Result

from stream_ldp.cli.export import command
from stream_ldp.cli.export.command import export
from stream_ldp.cli.export.sink import ParquetFolder, SinkAway, SinkError
from stream_ldp.pipeline.rows import Row, rows_of
from tests.client.answer_topics import published
from tests.client.examples import of_minute

Run = Callable[..., Result]
FINALS = [of_minute(minute) for minute in (1, 2, 3)]


def exported(command_line: Run, *arguments: object) -> Result:
    with published(*FINALS, of_minute(4, final=False)):
        return command_line(export, "care-survey", *arguments)


def test_lines_have_every_cell_of_every_final_and_nothing_provisional(command_line: Run) -> None:
    done = exported(command_line)
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["window_start"] for row in rows[::6]] == [f"1970-01-01T00:0{minute}:00Z" for minute in (1, 2, 3)]
    assert len(rows) == 18
    assert not any(isinstance(value, list | dict) for row in rows for value in row.values())


def test_a_window_is_in_duckdb_once_however_often_it_is_exported(command_line: Run, tmp_path: Path) -> None:
    file = tmp_path / "answers.duckdb"
    for _ in range(2):
        done = exported(command_line, "--to", "duckdb", "--target", file)
        assert done.exit_code == 0, done.output
        assert "18 rows of 3 final answers written" in done.stderr
    with duckdb.connect(str(file)) as found:
        rows = found.sql(
            "SELECT cell_labels->>'mobility', estimate, extract(epoch FROM window_end) FROM answer_rows "
            "WHERE cell_name = 'yes, full' ORDER BY window_start"
        ).fetchall()
        assert found.sql("SELECT count(*), count(DISTINCT window_start) FROM answer_rows").fetchone() == (18, 3)
    assert rows == [("full", 0.25, 60.0 * minute) for minute in (2, 3, 4)]


def test_an_archive_has_a_file_for_each_answer_by_month(command_line: Run, tmp_path: Path) -> None:
    for _ in range(2):
        assert exported(command_line, "--to", "parquet", "--target", tmp_path).exit_code == 0
    files = sorted(file.relative_to(tmp_path) for file in tmp_path.rglob("*.*"))
    assert len(files) == 3
    assert {str(file.parent) for file in files} == {"care-survey/1970-01"}
    assert {file.suffix for file in files} == {".parquet"}
    table = duckdb.sql(f"SELECT count(*), sum(estimate) FROM '{tmp_path}/*/*/*.parquet'")
    count, total = table.fetchone() or (0, 0.0)
    assert (count, round(total, 9)) == (18, 3.0)


@pytest.mark.parametrize("name", ["../../../elsewhere", "/elsewhere", "..", "a\0b", "x" * 300, "ä" * 60])
def test_an_archive_stays_in_its_directory_whatever_an_estimate_is_called(name: str, tmp_path: Path) -> None:
    archive = ParquetFolder(tmp_path / "a" / "b" / "archive")
    archive.open()
    archive.write(list(rows_of(FINALS[0].model_copy(update={"estimate": name}))))
    (file,) = (each for each in tmp_path.rglob("*") if each.is_file())
    assert file.parent == tmp_path / "a" / "b" / "archive" / "care-survey" / "1970-01"


def test_since_leaves_out_what_is_older(command_line: Run) -> None:
    done = exported(command_line, "--since", "1970-01-01T00:02:00Z")
    assert len(done.stdout.splitlines()) == 12


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--to", "postgres"], "--to postgres needs --target"),
        (["--target", "here"], "--target is for files and databases"),
        (["--to", "duckdb", "--target", "x.duckdb", "--table", "Robert'; DROP"], "use at most 63 lower-case letters"),
    ],
)
def test_what_cannot_be_meant_is_refused(command_line: Run, arguments: list[str], why: str) -> None:
    done = exported(command_line, *arguments)
    assert done.exit_code == 2
    assert why in done.stderr


def test_a_table_of_another_schema_is_refused_by_the_column_that_it_lacks(command_line: Run, tmp_path: Path) -> None:
    file = tmp_path / "answers.duckdb"
    with duckdb.connect(str(file)) as other:
        other.execute("CREATE TABLE answer_rows (fingerprint TEXT, estimate TEXT)")
    done = exported(command_line, "--to", "duckdb", "--target", file)
    assert done.exit_code == 1
    assert "table answer_rows is not one of rows: it has no column collection_name of type TEXT" in done.stderr
    assert "another table by --table" in done.stderr
    assert exported(command_line, "--to", "duckdb", "--target", file, "--table", "others").exit_code == 0


def test_a_folder_that_cannot_be_made_is_named(command_line: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = exported(command_line, "--to", "parquet", "--target", tmp_path / "file" / "archive")
    assert done.exit_code == 1
    assert "file/archive: cannot be written: Not a directory" in done.stderr


class Flaky:
    """A sink that is away some times before it takes the rows of an answer."""

    def __init__(self, away: int) -> None:
        self.away = away
        self.opened = 0
        self.rows: list[bytes] = []

    def open(self) -> None:
        self.opened += 1

    def write(self, rows: Sequence[Row]) -> None:
        if self.away:
            self.away -= 1
            raise SinkAway("the disk is full")
        self.rows += [row.key for row in rows]

    def close(self) -> None:
        pass


def test_a_sink_that_is_away_is_waited_for_and_gets_each_row_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "_PAUSE_SECONDS", 0.001)
    sink, rows = Flaky(away=3), list(rows_of(FINALS[0]))
    asyncio.run(command._write(sink, rows, waits=True))
    assert sink.rows == [row.key for row in rows]
    assert sink.opened == 3
    assert capsys.readouterr().err.count("the disk is full: waiting for it") == 1
    with pytest.raises(SinkError, match="the disk is full"):
        asyncio.run(command._write(Flaky(away=1), rows, waits=False))
