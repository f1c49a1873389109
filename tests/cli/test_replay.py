"""Tests of `stream-ldp replay`: what it says of a window, and its status."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from stream_ldp.cli.replay import replay
from stream_ldp.testing import KafkaInMemory, kafka_in_memory
from tests.client.examples import collection_of
from tests.in_memory import START_MS, report

Run = Callable[..., Result]


@pytest.mark.usefixtures("answered")
def test_equal_windows_end_with_0(command_line: Run, survey: Path) -> None:
    result = command_line(replay, survey)
    assert result.exit_code == 0, result.output
    both, one = result.stdout.splitlines()
    assert both == "care-survey bathing-mobility 2023-11-14T22:14:00Z/2023-11-14T22:15:00Z: equal, from 600 reports"
    by_name = command_line(replay, "care-survey", "--estimate", "mobility")
    assert by_name.stdout.splitlines() == [one]
    again = command_line(replay, survey, "--estimate", "mobility", "--window", "2023-11-14T22:14")
    assert again.stdout.splitlines() == [one]


def test_a_different_window_ends_with_4_and_says_where(
    answered: KafkaInMemory, command_line: Run, survey: Path
) -> None:
    topic = answered.settings.topic_names.reports("care-survey")
    answered.broker.put(topic, b"")
    batches = answered.batches("care-survey")
    with kafka_in_memory(collection_of(), now_ms=START_MS) as other:
        for answer in answered.broker.available(answered.settings.topic_names.answers_of("care-survey", "estimates")):
            other.broker.put(
                other.settings.topic_names.answers_of("care-survey", "estimates"), answer.value, key=answer.key
            )
        asyncio.run(report(other, collection_of(), 500, seed=2))
        result = command_line(replay, survey, "--estimate", "mobility")
    assert batches
    assert result.exit_code == 4
    assert "DIFFERENT in" in result.stdout
    assert "  reports: published 600, recomputed 500" in result.stdout
    assert " more" in result.stdout.splitlines()[-1]


def test_a_window_that_the_log_no_longer_holds_ends_with_3(
    answered: KafkaInMemory, command_line: Run, survey: Path
) -> None:
    answered.broker.beginnings[answered.settings.topic_names.reports("care-survey")] = 1
    result = command_line(replay, survey)
    assert result.exit_code == 3
    assert "the log no longer holds the window" in result.stderr


@pytest.mark.usefixtures("answered")
def test_other_attributes_are_written_as_a_table(command_line: Run, survey: Path, tmp_path: Path) -> None:
    result = command_line(replay, survey, "--of", "mobility", "--method", "em", "-o", tmp_path / "other.csv")
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO((tmp_path / "other.csv").read_text(encoding="utf-8"))))
    assert [row["mobility"] for row in rows] == ["none", "some", "full"]
    assert {row["series"] for row in rows} == {"ad-hoc"}
    assert "ad-hoc" in command_line(replay, survey, "--of", "mobility").stdout


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--method", "em"], "say which, by --of"),
        (["--of", "bathing", "--estimate", "mobility"], "--of estimates something else"),
        (["--of", "bath"], "did you mean 'bathing'"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    command_line: Run, survey: Path, flags: list[str], problem: str
) -> None:
    result = command_line(replay, survey, *flags)
    assert result.exit_code == 2
    assert problem in result.stderr
