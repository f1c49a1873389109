"""Tests of `stream-ldp quarantine` on a cluster without faults; test_foreign_records.py has those with some."""

from pathlib import Path

from stream_ldp.kafka.settings import Settings
from tests.cli.on_kafka import run


def test_where_every_record_can_be_read_there_is_nothing_to_release(settings: Settings, care_file: Path) -> None:
    assert run(settings, "topics", "create", care_file).exit_code == 0
    assert run(settings, "quarantine", "list", care_file).stdout == "care: every record can be read\n"
    assert run(settings, "quarantine", "release", care_file).stdout == "care: nothing holds its finals back\n"


def test_missing_topics_are_named_with_the_command_that_creates_them(settings: Settings, care_file: Path) -> None:
    failed = run(settings, "quarantine", "list", care_file)
    assert failed.exit_code == 1
    assert "stream-ldp topics create" in failed.stderr
