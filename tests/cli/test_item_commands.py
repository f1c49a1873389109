"""Tests of `stream-ldp report` and `simulate` for an item collection: what they report, refuse and print."""

from __future__ import annotations

import asyncio
import gzip
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka.admin import NewTopic
from aiokafka.errors import MessageSizeTooLargeError
from typer.testing import Result

from stream_ldp.cli.inputs.item_sets import items_of
from stream_ldp.cli.report import report
from stream_ldp.cli.simulate import simulate
from stream_ldp.cli.simulation.item_truth import ItemTruth
from stream_ldp.cli.simulation.truth import TruthError
from stream_ldp.client.sender import now_ms
from stream_ldp.kafka.settings import Settings
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.item_sets import ItemSets
from tests.client.examples import write_survey
from tests.client.fakes import FakeBroker, followed
from tests.client.items import LoopTimeline, film_round, films, films_text, reports_sent
from tests.client.test_on_kafka import admin

Run = Callable[..., Result]

#: Two phases of less than a second, which ask everybody; little noise.
QUICK = {"mechanism": "{kind: ldpminer, epsilon: 30, k: 2, k_max: 4, set_size: 2}", "size": "800ms"}


class _RealTime(LoopTimeline):
    def __call__(self) -> int:
        return now_ms()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, broker: FakeBroker, tmp_path: Path) -> Path:
    """Write the file of a collection whose later phases are asked in the epochs of the next seconds."""
    collection = films(**QUICK)
    line = followed(_RealTime(now_ms=now_ms()), monkeypatch, broker)
    for epoch in epochs_to_come(collection):
        asked = film_round(2, epoch=epoch, collection=collection, candidates=range(4))
        line.publish(asked, at_ms=asked.start_ms + 100)
    return written(tmp_path)


def epochs_to_come(collection: ItemCollection) -> range:
    size = collection.schedule.size_ms
    first = now_ms() // size // collection.schedule.stride
    return range(first, first + 20)


def written(tmp_path: Path) -> Path:
    path = tmp_path / "films.yaml"
    path.write_text(films_text(**QUICK), encoding="utf-8")
    return path


def data_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "films.txt"
    path.write_text(text, encoding="utf-8")
    return path


def report_counts(broker: FakeBroker) -> tuple[int, int]:
    """Count the reports to the first phase and to the second, of all epochs."""
    collection = films(**QUICK)
    rounds = [
        film_round(2, epoch=epoch, collection=collection, candidates=range(4))
        for epoch in range(epochs_to_come(collection)[0] - 20, epochs_to_come(collection)[0] + 2)
    ]
    first = film_round(1, epoch=rounds[0].epoch, collection=collection)
    totals = [each.total for each in reports_sent(broker, first, *rounds, collection=collection)]
    return totals[0], sum(totals[1:])


# A population.


def test_simulate_prints_the_reports_of_each_phase_and_saves_the_truth(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    data = data_file(tmp_path, "Alien Brazil\nAlien\n\nHeat Alien Alien\n")
    truth_file = tmp_path / "truth.json"
    result = command_line(simulate, quick, "--data", data, "--users", 4, "--truth", truth_file)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    # A slow machine may be too late for some of them; what is said is what was sent.
    first, second = report_counts(broker)
    assert lines[0].endswith(f" phase 1 of 2: {first} of 4 users reported on 8 items")
    assert lines[1].endswith(f" phase 2 of 2: {second} of 4 users reported on 4 items")
    assert lines[2].startswith(f"{first + second} reports of 4 simulated users in ")
    assert lines[3:] == ["true top 2:", "   1 Alien 0.7500", "   2 Brazil 0.2500"]
    truth = ItemTruth.load(truth_file)
    assert truth.frequency == {"Alien": 0.75, "Brazil": 0.25, "Heat": 0.25}
    assert truth.fingerprint == films(**QUICK).fingerprint.hex()


def test_a_population_is_as_large_as_asked_for(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    packed = tmp_path / "films.txt.gz"
    packed.write_bytes(gzip.compress(b"Alien Brazil\nGilda\n"))
    result = command_line(simulate, quick, "--data", packed, "--users", 3_000, "--seed", 1, "--epochs", 2)
    assert result.exit_code == 0
    assert "hides nothing: use it for simulated users only" in result.stderr
    lines = result.stdout.splitlines()
    assert sum(" of 3000 users reported" in line for line in lines) == 4
    assert lines[4].startswith(f"{sum(report_counts(broker))} reports of 3000 simulated users")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Alien\nTelltale\n", ":2: an item of the set is not among the collection's items"),
        ("Alien\nBrazil,Telltale\n", ":2: a comma; the items of a line are separated by blanks"),
        ('["Telltale"\n', ":1: not JSON"),
        ("", "empty; it needs a user's items on each line"),
    ],
)
def test_a_file_that_is_not_a_population_is_refused_without_repeating_its_items(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path, text: str, problem: str
) -> None:
    result = command_line(simulate, quick, "--data", data_file(tmp_path, text))
    assert result.exit_code == 1
    assert problem in result.stderr
    assert "Telltale" not in result.output
    assert broker.sent == []


def test_lost_reports_of_a_population_end_the_command_with_an_error(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    broker.error = MessageSizeTooLargeError()
    result = command_line(simulate, quick, "--data", data_file(tmp_path, "Alien\n"))
    assert result.exit_code == 1
    assert "were not acknowledged" in result.stderr
    assert "0 reports of 1 simulated users" in result.stdout


@pytest.mark.parametrize("option", ["--rate", "--windows"])
def test_an_option_for_records_is_refused_for_item_sets(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path, option: str
) -> None:
    result = command_line(simulate, quick, "--data", data_file(tmp_path, "Alien\n"), option, 1)
    assert result.exit_code == 2
    assert "for collections of records" in result.stderr


def test_an_option_for_item_sets_is_refused_for_records(
    broker: FakeBroker, command_line: Run, tmp_path: Path
) -> None:
    survey = write_survey(tmp_path / "survey.yaml")
    simulated = command_line(simulate, survey, "--data", survey, "--epochs", 1)
    reported = command_line(report, survey, "--items", "Alien")
    assert simulated.exit_code == reported.exit_code == 2
    assert "care-survey is of records" in simulated.stderr
    assert "care-survey is of records" in reported.stderr


# One user.


def test_a_user_who_gives_items_is_told_of_each_report_and_what_it_costs(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    given = ["--items", "Alien Gilda", "--secret-file", tmp_path / "secret"]
    result = command_line(report, quick, *given, "--epochs", 2)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    first, second = report_counts(broker)
    assert lines[-2] == f"{first + second} reports of one user published"
    assert lines[-1] == f"{15.0 * (first + second):.3f} nats spent: any two users, however their values change"
    # The first epoch may be nearly over when the command begins.
    assert 1 <= first + second <= 4
    assert len(lines) == first + second + 2
    assert all(line.endswith(": reported, for 15.000 nats") for line in lines[:-2])


def test_a_user_holds_the_set_on_the_last_line_of_a_file(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    sets = data_file(tmp_path, 'Alien\nBrazil Dogville\n["Casablanca", "Fargo"]\n')
    secret = ["--secret-file", tmp_path / "secret"]
    assert command_line(report, quick, sets, *secret, "--epochs", 3).exit_code == 0
    collection = films(**QUICK)
    first = film_round(1, epoch=0, collection=collection)
    layouts = [film_round(2, epoch=each, collection=collection, candidates=range(4)) for each in recent(collection)]
    found, *_ = reports_sent(broker, first, *layouts, collection=collection)
    assert found.total >= 1
    assert found.supports[[2, 5]].sum() == found.supports.sum() == found.total


def recent(collection: ItemCollection) -> range:
    first = epochs_to_come(collection)[0]
    return range(first - 20, first + 2)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Alien\nTelltale\n", "an item of the set is not among the collection's items"),
        ("Alien\nBrazil, Telltale\n", "films.txt:2: a comma"),
        ("Alien\n[1]\n", "films.txt:2: not a JSON list of strings"),
        pytest.param(f"[{'1' * 5_000}]\n", "films.txt:1: not a JSON list of strings", id="a long number"),
    ],
)
def test_a_line_that_is_not_a_set_is_refused_without_being_repeated(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path, text: str, problem: str
) -> None:
    result = command_line(report, quick, data_file(tmp_path, text), "--secret-file", tmp_path / "secret")
    assert result.exit_code == 1
    assert problem in result.stderr
    assert "Telltale" not in result.output


def test_a_spent_budget_ends_the_command(broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path) -> None:
    flags = ["--items", "Alien", "--secret-file", tmp_path / "secret", "--budget", 20]
    result = command_line(report, quick, *flags)
    assert result.exit_code == 1
    assert "1 reports of one user published" in result.stdout
    assert "15.000 of 20 nats spent" in result.stdout
    assert "would cost 15.000 nats of privacy, and 5.000 are left of a budget of 20" in result.stderr
    assert sum(report_counts(broker)) == 1


@pytest.mark.parametrize(
    "flags",
    [
        ["--many-users"],
        ["--max-values", "2", "--assume", "values"],
        ["--skip-bad"],
        ["--format", "csv"],
        ["--assume", "fresh"],
    ],
    ids=lambda flags: flags[0],
)
def test_a_report_option_for_records_is_refused_for_item_sets(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path, flags: list[str]
) -> None:
    result = command_line(report, quick, "--items", "Alien", "--secret-file", tmp_path / "secret", *flags)
    assert result.exit_code == 2
    assert "are for collections of records" in result.stderr
    assert not (tmp_path / "secret").exists()


def test_a_file_and_items_together_are_refused(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    sets = data_file(tmp_path, "Alien\n")
    result = command_line(report, quick, sets, "--items", "Brazil", "--secret-file", tmp_path / "secret")
    assert result.exit_code == 2
    assert "--items and a file both give the user's set" in result.stderr


# Lines, and the truth.


@pytest.mark.parametrize(
    ("line", "items"),
    [
        ("", []),
        (" a  b\t\n", ["a", "b"]),
        ('["a b", "c,d"]\n', ["a b", "c,d"]),
        ("[]", []),
    ],
)
def test_items_of_a_line_are_split_at_blanks_or_read_as_json(line: str, items: list[str]) -> None:
    assert items_of(line) == items


def test_a_file_that_holds_no_truth_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TruthError, match=r"cannot be read"):
        ItemTruth.load(tmp_path / "nothing")
    with pytest.raises(TruthError, match=r"not the truth of a simulation of item sets"):
        ItemTruth.load(data_file(tmp_path, json.dumps({"collection": "films"})))
    nobody = ItemTruth.of(films(), ItemSets.of([[], []]))
    assert nobody.top(3) == {}


# On a real broker.


async def started(settings: Settings, command: str, *arguments: object) -> asyncio.subprocess.Process:
    names = settings.topic_names
    async with admin(settings) as client:
        await client.create_topics([NewTopic(names.reports("films"), 1, 1), NewTopic(names.rounds("films"), 1, 1)])
    code = f"import typer; from stream_ldp.cli.{command} import {command}; typer.run({command})"
    flags = ["--brokers", settings.brokers, "--topic-prefix", settings.topic_prefix]
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", code, *map(str, arguments), *flags),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


async def stopped(process: asyncio.subprocess.Process, number: signal.Signals) -> tuple[list[str], str]:
    """Return all that the command prints when it gets the signal after its first line."""
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(60):
            first = await process.stdout.readline()
            process.send_signal(number)
            rest, errors = await process.stdout.read(), await process.stderr.read()
            assert await process.wait() == 0, errors.decode()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    return (first + rest).decode().splitlines(), errors.decode()


async def test_ctrl_c_ends_the_command_with_a_summary_without_waiting_for_a_line(
    settings: Settings, tmp_path: Path
) -> None:
    process = await started(settings, "report", written(tmp_path), "-", "--secret-file", tmp_path / "secret")
    assert process.stdin is not None
    process.stdin.write(b"Alien Gilda\n")
    lines, errors = await stopped(process, signal.SIGINT)
    process.stdin.close()
    assert lines[0].endswith(" phase 1: reported, for 15.000 nats")
    assert lines[-2].endswith("reports of one user published")
    assert lines[-1].endswith(" nats spent: any two users, however their values change")
    assert errors == ""


async def test_sigterm_ends_a_simulation_with_a_summary(settings: Settings, tmp_path: Path) -> None:
    data = data_file(tmp_path, "Alien Gilda\n" * 100)
    process = await started(settings, "simulate", written(tmp_path), "--data", data, "--epochs", 1_000)
    lines, errors = await stopped(process, signal.SIGTERM)
    assert lines[0].endswith(" of 100 users reported on 8 items")
    assert " reports of 100 simulated users in " in lines[-4]
    assert lines[-3:] == ["true top 2:", "   1 Alien 1.0000", "   2 Gilda 1.0000"]
    assert errors == ""
