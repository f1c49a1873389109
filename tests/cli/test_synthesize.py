"""Tests of `stream-ldp synthesize`: records out of the log, and what is refused."""

import asyncio
import csv
import errno
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from stream_ldp import Reporter
from stream_ldp.cli import synthesize as module
from stream_ldp.cli.synthesize import synthesize
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.answer import moment
from stream_ldp.records.collection import JointCollection
from stream_ldp.testing import kafka_in_memory
from tests.client.examples import collection_of
from tests.in_memory import START_MS, report
from tests.marginals.examples import TEXT as SAMPLED
from tests.views.examples import TEXT as VIEWS
from tests.views.examples import collection_of as views_of
from tests.views.examples import users

Run = Callable[..., Result]


@pytest.mark.usefixtures("answered")
def test_records_are_as_many_as_reports_have_the_file_s_values_and_repeat(command_line: Run, survey: Path) -> None:
    result = command_line(synthesize, survey)
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert len(rows) == 600
    for attribute in collection_of().attributes:
        assert {row[attribute.name] for row in rows} <= set(attribute.values)
    assert "care-survey 2023-11-14T22:14:00Z: 600 records from 600 reports; structure: " in result.stderr
    assert command_line(synthesize, survey).stdout == result.stdout
    assert command_line(synthesize, survey, "--seed", "2").stdout != result.stdout


@pytest.mark.usefixtures("answered")
def test_records_go_to_a_csv_or_parquet_file(command_line: Run, survey: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra `analysis` is not installed")
    for name in ("records.csv", "records.parquet"):
        result = command_line(synthesize, survey, "--records", "50", "-o", str(tmp_path / name))
        assert result.exit_code == 0, result.output
    lines = (tmp_path / "records.csv").read_text().splitlines()
    table = parquet.read_table(tmp_path / "records.parquet")
    assert len(lines) - 1 == table.num_rows == 50
    assert lines[0].split(",") == table.column_names


def test_views_make_records_as_well(command_line: Run, tmp_path: Path) -> None:
    care, file = views_of(), tmp_path / "care.yaml"
    estimates = "[{name: care, of: [walks, bathes]}]"
    file.write_text(VIEWS.format(mechanism="epsilon: 4, ask: pairs", estimates=estimates, window=""))
    with kafka_in_memory(care, now_ms=START_MS) as kafka:

        async def send() -> None:
            async with Reporter(
                care, settings=kafka.settings, clock=kafka.clock, entropy=SeededEntropy(1)
            ) as reporter:
                await reporter.report_many(users(3_000), secrets=None)

        asyncio.run(send())
        kafka.close_windows()
        result = command_line(synthesize, file, "--method", "tree")
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert len(rows) == 3_000
    # Four of five do; the noise of a sixth of 3,000 users at epsilon 4 is a tenth of the distance to a half.
    assert sum(row["walks"] == row["bathes"] for row in rows) / 3_000 == pytest.approx(0.8, abs=0.1)
    assert "structure: tree, up to 2 attributes drawn together" in result.stderr


def test_published_records_are_those_that_the_log_makes_again(command_line: Run, survey: Path) -> None:
    survey.write_text(survey.read_text() + "synthesis: {records: 70, seed: 3, method: tree}\n")
    collection = JointCollection.load(survey)
    with kafka_in_memory(collection, now_ms=START_MS) as kafka:
        asyncio.run(report(kafka, collection, 600))
        kafka.close_windows()
        asyncio.run(report(kafka, collection, 900, seed=2))
        (*_, final) = kafka.close_windows()
        found = {
            options: command_line(synthesize, survey, *options)
            for options in [("--published",), (), ("--published", "--window", moment(START_MS))]
        }
        nothing = command_line(synthesize, survey, "--published", "--window", moment(final.window.end_ms))
        both = command_line(synthesize, survey, "--published", "--seed", "4")
    last, again, first = found.values()
    assert last.exit_code == again.exit_code == first.exit_code == 0, first.output
    assert len(last.stdout.splitlines()) == 71
    assert last.stdout == again.stdout != first.stdout
    assert "70 records from 900 reports, as published; structure: " in last.stderr
    assert "70 records from 600 reports, as published" in first.stderr
    assert (nothing.exit_code, both.exit_code) == (3, 2)
    assert "care-survey: no records of this window are published" in nothing.stderr
    assert "leave --records, --seed and --method out" in both.stderr


def test_a_window_without_reports_ends_with_3(command_line: Run, survey: Path) -> None:
    with kafka_in_memory(collection_of(), now_ms=START_MS):
        result = command_line(synthesize, survey)
    assert result.exit_code == 3
    assert "no window has a final answer yet" in result.stderr


def test_a_collection_without_records_is_refused(command_line: Run, tmp_path: Path) -> None:
    file = tmp_path / "sampled.yaml"
    file.write_text(SAMPLED.format(mechanism="epsilon: 1", window=""))
    result = command_line(synthesize, file)
    assert result.exit_code == 2
    assert "has no records: synthetic ones are made of collections of joint distributions" in result.stderr


@pytest.mark.usefixtures("answered")
def test_a_reader_of_the_output_who_has_enough_ends_the_command_without_a_word_of_files(
    command_line: Run, survey: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: object) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(module, "_write_csv", closed)
    result = command_line(synthesize, survey)
    assert result.exit_code == 1
    assert "written" not in result.output
