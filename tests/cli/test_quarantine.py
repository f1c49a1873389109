"""Tests of `stream-ldp quarantine` on a cluster without faults; test_foreign_records.py has those with some."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from stream_ldp.cli import app
from stream_ldp.kafka.settings import Settings
from tests.service.test_preflight import CARE


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "care.yaml"
    file.write_text(CARE)
    return file


def _run(settings: Settings, *words: str | Path) -> Result:
    flags = ["--brokers", settings.brokers, "--topic-prefix", settings.topic_prefix]
    return CliRunner().invoke(app, [*map(str, words), *flags])


def test_where_every_record_can_be_read_there_is_nothing_to_release(settings: Settings, file: Path) -> None:
    assert _run(settings, "topics", "create", file).exit_code == 0
    assert _run(settings, "quarantine", "list", file).stdout == "care: every record can be read\n"
    assert _run(settings, "quarantine", "release", file).stdout == "care: nothing holds its finals back\n"


def test_missing_topics_are_named_with_the_command_that_creates_them(settings: Settings, file: Path) -> None:
    failed = _run(settings, "quarantine", "list", file)
    assert failed.exit_code == 1
    assert "stream-ldp topics create" in failed.stderr
