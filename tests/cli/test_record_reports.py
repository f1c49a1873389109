"""Tests of `stream-ldp report` for collections of records: what is published, skipped, refused and said."""

from __future__ import annotations

import asyncio
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from aiokafka.errors import MessageSizeTooLargeError
from typer.testing import Result

from stream_ldp.cli.report import report
from stream_ldp.kafka.registry import Registration
from stream_ldp.kafka.settings import Settings
from tests.client.examples import collection_of, write_survey
from tests.client.fakes import FakeBroker
from tests.client.test_on_kafka import batches_of, create_topics

PERMANENT_ONLY = "{kind: rr-ldp, f: 0.25}"

#: The budget of users in tests of other things.
BUDGET = ("--budget", "inf")

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def application_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the directory of the default secret, so that it is never the developer's own."""
    directory = tmp_path / "settings"
    monkeypatch.setattr(typer, "get_app_dir", lambda _: str(directory))
    return directory


def csv_file(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "records.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def rows_sent(broker: FakeBroker, **changes: str) -> list[int]:
    return [int(row) for row in broker.decoded(collection_of(**changes)).rows[0].ravel()]


def published(result: Result) -> str:
    """Return the line about the reports, which comes before the line about the user's spending."""
    return result.stdout.splitlines()[0]


def test_a_file_that_is_not_the_registered_collection_is_refused_before_anything_is_spent(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    records = csv_file(tmp_path, "mobility,bathing", "some,no")
    broker.registered["care-survey"] = Registration.of(collection_of(mechanism=PERMANENT_ONLY))
    result = command_line(report, survey, records, "--secret-file", secret, *BUDGET)
    assert result.exit_code == 1
    assert "collection care-survey is registered with fingerprint " in result.stderr
    assert "mechanism.p (registered: none; here: 0.25)" in result.stderr
    assert "-> nothing is sent or spent with this file: use that of the workers" in result.stderr
    assert broker.sent == []
    broker.registered.clear()
    result = command_line(report, survey, records, "--secret-file", secret, *BUDGET)
    assert "3.154 nats spent" in result.stdout, "one report"


def test_records_of_a_csv_file_are_published(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    records = csv_file(tmp_path, "mobility,bathing", "some,no", "", '"some",no')
    result = command_line(report, survey, records, *BUDGET)
    assert (result.exit_code, result.stderr) == (0, "")
    assert published(result) == "2 reports of one user published"
    assert len(rows_sent(broker)) == 2


def test_a_user_has_the_same_permanent_response_in_every_run(
    broker: FakeBroker, command_line: Run, tmp_path: Path, application_directory: Path
) -> None:
    survey = write_survey(tmp_path / "survey.yaml", mechanism=PERMANENT_ONLY)
    records = csv_file(tmp_path, "bathing,mobility", *["no,some"] * 20)
    for _ in range(2):
        assert command_line(report, survey, records, *BUDGET).exit_code == 0
    assert len(set(rows_sent(broker, mechanism=PERMANENT_ONLY))) == 1
    assert stat.S_IMODE((application_directory / "secret").stat().st_mode) == 0o600


def test_another_secret_file_is_another_user(broker: FakeBroker, command_line: Run, tmp_path: Path) -> None:
    survey = write_survey(tmp_path / "survey.yaml", mechanism=PERMANENT_ONLY)
    records = csv_file(tmp_path, "bathing,mobility", "no,some")
    for user in range(40):
        assert (
            command_line(report, survey, records, "--secret-file", tmp_path / f"secret-{user}", *BUDGET).exit_code
            == 0
        )
    # All 40 alike: below 10^-10, as no response has a probability above 0.52.
    assert len(set(rows_sent(broker, mechanism=PERMANENT_ONLY))) > 1


def test_many_users_have_their_own_responses_and_no_secret(
    broker: FakeBroker, command_line: Run, tmp_path: Path, application_directory: Path
) -> None:
    survey = write_survey(tmp_path / "survey.yaml", mechanism=PERMANENT_ONLY)
    records = csv_file(tmp_path, "bathing,mobility", *["no,some"] * 40, "yes,full")
    result = command_line(report, survey, records, "--many-users")
    assert (result.exit_code, result.stdout, result.stderr) == (
        0,
        "41 reports of as many users published; what these users have spent is not counted\n",
        "",
    )
    assert len(set(rows_sent(broker, mechanism=PERMANENT_ONLY))) > 1
    assert not application_directory.exists()


def test_a_secret_file_is_refused_with_many_users(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    result = command_line(report, survey, survey, "--many-users", "--secret-file", tmp_path / "secret")
    assert result.exit_code == 2
    assert "a secret is one user's" in result.stderr
    assert broker.sent == []


def test_the_first_bad_line_ends_the_command_and_is_named_without_its_value(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    records = csv_file(tmp_path, "bathing,mobility", "no,some", "no,some", "no,wheelchair", "no,some")
    result = command_line(report, survey, records, *BUDGET)
    assert result.exit_code == 1
    assert published(result) == "2 reports of one user published"
    assert f"{records}:4: attribute 'mobility': the given value is not one of none, some, full" in result.stderr
    assert "wheelchair" not in result.output
    assert len(rows_sent(broker)) == 2


def test_nothing_after_a_bad_line_is_published_however_long_the_file(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    records = csv_file(tmp_path, "bathing,mobility", "no,some", "bad", *["no,some"] * 100_000)
    result = command_line(report, survey, records, *BUDGET)
    assert (result.exit_code, published(result)) == (1, "1 report of one user published")


def test_bad_lines_are_skipped_and_counted_when_asked(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    records = csv_file(tmp_path, "bathing,mobility", "no,some", *["no,bad"] * 15, "no,some")
    result = command_line(report, survey, records, "--skip-bad", *BUDGET)
    assert (result.exit_code, published(result)) == (0, "2 reports of one user published; 15 lines skipped")
    assert len(result.stderr.splitlines()) == 10, "the first ten are shown"
    assert f"skipped {records}:3: attribute 'mobility'" in result.stderr
    assert len(rows_sent(broker)) == 2


def test_lost_reports_end_the_command_with_the_number_published(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    broker.error = MessageSizeTooLargeError()
    result = command_line(report, survey, csv_file(tmp_path, "bathing,mobility", "no,some"), *BUDGET)
    assert result.exit_code == 1
    assert published(result) == "0 reports of one user published"
    assert "1 report to topic stream-ldp.care-survey.reports was not acknowledged" in result.stderr


def test_a_missing_topic_ends_the_command_with_the_cure(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    broker.topics.clear()
    result = command_line(report, survey, csv_file(tmp_path, "bathing,mobility", "no,some"), *BUDGET)
    assert result.exit_code == 1
    assert "topics create" in result.stderr


def test_an_unusable_secret_file_ends_the_command(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    survey.chmod(0o644)
    result = command_line(report, survey, csv_file(tmp_path), "--secret-file", survey)
    assert result.exit_code == 1
    assert "chmod 600" in result.stderr


def test_a_missing_file_ends_the_command(broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path) -> None:
    result = command_line(report, survey, tmp_path / "nothing", *BUDGET)
    assert result.exit_code == 1
    assert "No such file" in result.stderr


async def test_lines_are_reported_as_they_arrive_and_ctrl_c_does_not_wait_for_the_next(
    settings: Settings, survey: Path, tmp_path: Path
) -> None:
    await create_topics(settings)
    # A shell starts a job in the background with SIGINT ignored, and its children inherit that; a terminal's do not.
    terminal = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = "import typer; from stream_ldp.cli.report import report; typer.run(report)"
    flags = ["--secret-file", str(tmp_path / "secret"), "--topic-prefix", settings.topic_prefix, *BUDGET]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", f"{terminal}; {command}", str(survey), "-", "--brokers", settings.brokers, *flags),
        stdin=subprocess.PIPE,
    )
    assert process.stdin is not None
    try:
        async with asyncio.timeout(60):
            process.stdin.write(b"bathing,mobility\nno,some\n")
            await process.stdin.drain()
            while (await batches_of(settings)).counts.sum() < 1:
                assert process.returncode is None, "it ended before it was told to"
                await asyncio.sleep(0.1)
            process.send_signal(signal.SIGINT)
            assert await process.wait() != 0
    finally:
        if process.returncode is None:
            process.kill()
        process.stdin.close()
        await process.wait()
