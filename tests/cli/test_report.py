"""Tests of `stream-ldp report`: whose records it reports, which of them it refuses, and what it prints."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
from aiokafka.errors import MessageSizeTooLargeError
from typer.testing import Result

from stream_ldp.cli.inputs.records import Format, RecordReader, lines_of
from stream_ldp.cli.report import report
from stream_ldp.kafka.settings import Settings
from tests.client.examples import collection_of, write_survey
from tests.client.fakes import FakeBroker
from tests.client.test_on_kafka import batches_of, create_topics

PERMANENT_ONLY = "{kind: rr-ldp, f: 0.25}"

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


def test_records_of_a_csv_file_are_published(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    records = csv_file(tmp_path, "mobility,bathing", "some,no", "", '"some",no')
    result = command_line(report, survey, records)
    assert (result.exit_code, result.stderr) == (0, "")
    assert published(result) == "2 reports of one user published"
    assert len(rows_sent(broker)) == 2


def test_a_user_has_the_same_permanent_response_in_every_run(
    broker: FakeBroker, command_line: Run, tmp_path: Path, application_directory: Path
) -> None:
    survey = write_survey(tmp_path / "survey.yaml", mechanism=PERMANENT_ONLY)
    records = csv_file(tmp_path, "bathing,mobility", *["no,some"] * 20)
    for _ in range(2):
        assert command_line(report, survey, records).exit_code == 0
    assert len(set(rows_sent(broker, mechanism=PERMANENT_ONLY))) == 1
    assert stat.S_IMODE((application_directory / "secret").stat().st_mode) == 0o600


def test_another_secret_file_is_another_user(broker: FakeBroker, command_line: Run, tmp_path: Path) -> None:
    survey = write_survey(tmp_path / "survey.yaml", mechanism=PERMANENT_ONLY)
    records = csv_file(tmp_path, "bathing,mobility", "no,some")
    for user in range(40):
        assert command_line(report, survey, records, "--secret-file", tmp_path / f"secret-{user}").exit_code == 0
    # All 40 alike: below 10^-10, as no response has a probability above 0.52.
    assert len(set(rows_sent(broker, mechanism=PERMANENT_ONLY))) > 1


def test_many_users_have_their_own_responses_and_no_secret(
    broker: FakeBroker, command_line: Run, tmp_path: Path, application_directory: Path
) -> None:
    survey = write_survey(tmp_path / "survey.yaml", mechanism=PERMANENT_ONLY)
    records = csv_file(tmp_path, "bathing,mobility", *["no,some"] * 40, "yes,full")
    result = command_line(report, survey, records, "--many-users")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "41 reports of as many users published\n", "")
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
    result = command_line(report, survey, records)
    assert result.exit_code == 1
    assert published(result) == "2 reports of one user published"
    assert f"{records}:4: attribute 'mobility': the given value is not one of none, some, full" in result.stderr
    assert "wheelchair" not in result.output
    assert len(rows_sent(broker)) == 2


def test_nothing_after_a_bad_line_is_published_however_long_the_file(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    records = csv_file(tmp_path, "bathing,mobility", "no,some", "bad", *["no,some"] * 100_000)
    result = command_line(report, survey, records)
    assert (result.exit_code, published(result)) == (1, "1 reports of one user published")


def test_bad_lines_are_skipped_and_counted_when_asked(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    records = csv_file(tmp_path, "bathing,mobility", "no,some", *["no,bad"] * 15, "no,some")
    result = command_line(report, survey, records, "--skip-bad")
    assert (result.exit_code, published(result)) == (0, "2 reports of one user published; 15 lines skipped")
    assert len(result.stderr.splitlines()) == 10, "the first ten are shown"
    assert f"skipped {records}:3: attribute 'mobility'" in result.stderr
    assert len(rows_sent(broker)) == 2


def test_lost_reports_end_the_command_with_the_number_published(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    broker.error = MessageSizeTooLargeError()
    result = command_line(report, survey, csv_file(tmp_path, "bathing,mobility", "no,some"))
    assert result.exit_code == 1
    assert published(result) == "0 reports of one user published"
    assert "1 reports to topic stream-ldp.care-survey.reports were not acknowledged" in result.stderr


def test_a_missing_topic_ends_the_command_with_the_cure(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    broker.topics.clear()
    result = command_line(report, survey, csv_file(tmp_path, "bathing,mobility", "no,some"))
    assert result.exit_code == 1
    assert "topics create" in result.stderr


def test_an_unusable_secret_file_ends_the_command(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    result = command_line(report, survey, csv_file(tmp_path), "--secret-file", survey)
    assert result.exit_code == 1
    assert "chmod 600" in result.stderr


def test_a_missing_file_ends_the_command(broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path) -> None:
    result = command_line(report, survey, tmp_path / "nothing")
    assert result.exit_code == 1
    assert "No such file" in result.stderr


# Lines and what is wrong with them.


def read(*lines: str | bytes, form: Format = Format.AUTO, skip: list[str] | None = None) -> tuple[int, str | None]:
    """Return the number of records, and the problem that ended the reading."""
    reader = RecordReader(collection_of(), form=form, source="it", on_skip=None if skip is None else skip.append)
    records = reader.read(line.encode() if isinstance(line, str) else line for line in lines)
    return len(records), reader.problem


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["bathing,mobility", "no,some"], id="csv"),
        pytest.param(["\ufeffbathing,mobility\r", "no,some\r", "\r"], id="csv as a spreadsheet writes it"),
        pytest.param(["", '{"mobility": "some", "bathing": "no"}'], id="json"),
    ],
)
def test_a_record_is_read(lines: list[str]) -> None:
    assert read(*lines) == (1, None)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["bathing,mobility", "no"], "it:2: 1 values under 2 columns"),
        (["bathing,mobility", "no,some,x"], "it:2: 3 values under 2 columns"),
        (["bathing,mobility", 'no,"some'], "it:2: not CSV: unexpected end of data"),
        (["bathing,mobility", b"no,\xff"], "it:2: not UTF-8"),
        (['{"bathing": "no"}'], "it:1: attribute 'mobility' is missing"),
        (['{"bathing": "no", "mobility": 1}'], "it:1: attribute 'mobility': expected a JSON string"),
        ([f'{{"bathing": "no", "mobility": {"1" * 5_000}}}'], "it:1: attribute 'mobility': expected a JSON string"),
        (['{"bathing": "no", "bathing": "yes"}'], "it:1: a key is given twice"),
        (['{"bathing": "no", '], "it:1: not JSON: Expecting property name enclosed in double quotes at column 19"),
        (['{"bathing": "no", "mobilty": "some"}'], "did you mean 'mobility'?"),
    ],
)
def test_the_problem_with_a_line_is_named(lines: list[str | bytes], problem: str) -> None:
    count, found = read(*lines)
    assert count == 0
    assert found is not None
    assert problem in found


def test_a_json_list_is_refused_as_a_record() -> None:
    assert read("[]", form=Format.JSONL)[1] == 'it:1: not a JSON object: expected {"attribute": "value", ...}'


@pytest.mark.parametrize("first", ["no,some", "bathing", "bathing,mobility,more", "bathing,bathing,mobility"])
def test_a_line_that_is_not_a_header_is_neither_skipped_nor_repeated(first: str) -> None:
    skipped: list[str] = []
    count, problem = read(first, "no,some", skip=skipped)
    assert (count, skipped) == (0, [])
    assert problem is not None
    assert problem.endswith("each once: bathing, mobility")
    assert problem.count("some") == 0, "the words of a missing header are answers"


def test_reading_goes_on_after_skipped_lines() -> None:
    skipped: list[str] = []
    assert read("bathing,mobility", "no,bad", "no,some", "bad,some", skip=skipped) == (1, None)
    assert [problem.split(" ")[0] for problem in skipped] == ["it:2:", "it:4:"]


# Standard input.


@pytest.fixture
def standard_input() -> Iterator[int]:
    """Return the writing end of a pipe that this process has as its standard input."""
    saved = os.dup(0)
    reading, writing = os.pipe()
    os.dup2(reading, 0)
    os.close(reading)
    yield writing
    os.dup2(saved, 0)
    os.close(saved)


async def test_lines_are_handed_on_whole_as_they_arrive(standard_input: int) -> None:
    async with asyncio.timeout(30):
        lines = lines_of(Path("-"))
        os.write(standard_input, b"one\ntwo\nthr")
        assert await anext(lines) == [b"one", b"two"]
        os.write(standard_input, b"ee\nfour")
        assert await anext(lines) == [b"three"]
        os.close(standard_input)
        assert await anext(lines) == [b"four"]
        assert await anext(lines, None) is None


async def test_a_long_file_is_read_in_order_and_once(tmp_path: Path) -> None:
    path = tmp_path / "long"
    expected = [str(number).encode() for number in range(200_000)]
    path.write_bytes(b"\n".join(expected))
    assert [line async for lines in lines_of(path) for line in lines] == expected


async def test_a_file_that_cannot_be_read_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        await anext(lines_of(tmp_path))


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens and does not read")
async def test_a_file_that_opens_but_does_not_read_raises_an_error() -> None:
    with pytest.raises(OSError, match=r"Input/output error"):
        await anext(lines_of(Path("/proc/self/mem")))


async def test_lines_are_reported_as_they_arrive_and_ctrl_c_does_not_wait_for_the_next(
    settings: Settings, survey: Path, tmp_path: Path
) -> None:
    await create_topics(settings)
    command = "import typer; from stream_ldp.cli.report import report; typer.run(report)"
    flags = ["--secret-file", str(tmp_path / "secret"), "--topic-prefix", settings.topic_prefix]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", command, str(survey), "-", "--brokers", settings.brokers, *flags),
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
