"""A signal ends a command in good order: with a summary, and without waiting."""

import asyncio
import importlib.util
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from aiokafka.errors import KafkaTimeoutError

from stream_ldp.cli import running
from stream_ldp.cli.running import quick_loop, run, run_client, until_signal
from stream_ldp.kafka.registry import Registration, register
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import load_collection
from tests.cli.films import data_file, written
from tests.kafka.new_topics import create


async def started(
    settings: Settings, command: str, collection: Path, *arguments: object
) -> asyncio.subprocess.Process:
    """Start a command on a collection that is registered."""
    names = settings.topic_names
    await create(settings, names.reports("films"), names.rounds("films"), names.collections)
    await register(settings, [Registration.of(load_collection(collection))])
    code = f"import typer; from stream_ldp.cli.{command} import {command}; typer.run({command})"
    flags = ["--brokers", settings.brokers, "--topic-prefix", settings.topic_prefix]
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", code, str(collection), *map(str, arguments), *flags),
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
    user = "--secret-file", tmp_path / "secret", "--budget", 1_000
    process = await started(settings, "report", written(tmp_path), "-", *user)
    assert process.stdin is not None
    process.stdin.write(b"Alien Gilda\n")
    lines, errors = await stopped(process, signal.SIGINT)
    process.stdin.close()
    assert lines[0].endswith(" phase 1: reported, for 15.000 nats")
    # The receipt of a last report may come before or after the summary begins.
    assert any(line.startswith("Sent to films: 1 byte, ") for line in lines[1:-1])
    assert any(line.endswith(" of one user published") for line in lines[1:-1])
    assert lines[-1].endswith(" nats spent: any two users, however their values change")
    assert [line.partition(": ")[2][:10] for line in errors.splitlines()] == ["a new user"]


async def test_sigterm_ends_a_simulation_with_a_summary(settings: Settings, tmp_path: Path) -> None:
    data = data_file(tmp_path, "Alien Gilda\n" * 100)
    process = await started(settings, "simulate", written(tmp_path), "--data", data, "--epochs", 1_000)
    lines, errors = await stopped(process, signal.SIGTERM)
    assert lines[0].endswith(" of 100 users reported on 8 items")
    assert " reports of 100 simulated users in " in lines[-4]
    assert lines[-3:] == ["true top 2 items:", "   1 Alien 1.0000", "   2 Gilda 1.0000"]
    assert errors == ""


@pytest.mark.parametrize("how", [run, run_client])
def test_an_error_of_the_brokers_ends_the_command_with_one_line(
    how: Callable[[Coroutine[None, None, None]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    async def work() -> None:
        logging.getLogger("aiokafka").warning("it is tried again")
        raise KafkaTimeoutError("nobody answers")

    logger = logging.getLogger("aiokafka")
    level = logger.level
    try:
        with pytest.raises(typer.Exit):
            how(work())
    finally:
        logger.setLevel(level)
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "the brokers returned an error: KafkaTimeoutError: nobody answers"


def test_an_outage_is_one_line_a_minute_and_what_passes_at_once_is_none(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 0.0
    monkeypatch.setattr(running, "time", SimpleNamespace(monotonic=lambda: now))
    lines = logging.getLogger("aiokafka")

    async def fail(seconds: int) -> None:
        nonlocal now
        for _ in range(10 * seconds):
            now += 0.1
            refused = ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 9092)")
            lines.error("Unable connect to node with id %s: %s", 1, refused)
            lines.error("Unable to update metadata from %s", [1])

    for _ in range(3):
        run_client(fail(2))
        now += 10
    assert caplog.messages == []
    run_client(fail(120))
    assert caplog.messages == ["cannot reach 127.0.0.1:9092; trying again"] * 2


def test_a_server_runs_on_uvloop_where_it_is_installed_and_on_asyncios_loop_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[str] = []

    async def look() -> None:
        found.append(type(asyncio.get_running_loop()).__module__.partition(".")[0])

    if importlib.util.find_spec("uvloop") is not None:  # not on Windows
        run(look(), loop=quick_loop())
        assert found.pop() == "uvloop"
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert quick_loop() is None
    run(look(), loop=quick_loop())
    assert found == ["asyncio"]


async def test_work_that_no_signal_has_cancelled_does_not_end_in_silence() -> None:
    async def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await until_signal(work())
