"""`stream-ldp worker`: the code it ends with tells a stop from a crash, and the log tells why."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka.errors import KafkaConnectionError
from typer.testing import Result

from stream_ldp.cli import worker as module
from stream_ldp.cli.worker import worker
from tests.forked import Forked

CRASH = "raise worker.WorkerCrashed('the merge failed') from ArithmeticError('of the solver')"


@pytest.mark.parametrize(
    ("ends", "code", "last"),
    [
        ("return", 0, {"level": "INFO", "message": "stopped"}),
        (CRASH, 1, {"level": "CRITICAL", "message": "the merge failed: ArithmeticError('of the solver')"}),
    ],
    ids=["stopped", "crashed"],
)
def test_a_worker_that_was_stopped_ends_with_0_and_one_that_crashed_with_1_and_the_cause(
    survey: Path, ends: str, code: int, last: dict[str, str]
) -> None:
    (program := survey.with_name("ends.py")).write_text(
        "import stream_ldp.cli, stream_ldp.cli.worker as worker\n"
        f"async def serve(*_): {ends}\n"
        "worker.serve = serve\n"
        "stream_ldp.cli.main()\n"
    )
    output = survey.with_name("log")
    assert Forked([str(program), "worker", str(survey)], output=output, environment=os.environ).wait(60) == code
    first, *_, end = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert first["message"].endswith(" works on care-survey")
    assert last.items() <= end.items()
    assert ("ArithmeticError: of the solver" in end.get("traceback", "")) == bool(code)


def test_a_name_is_no_file_of_a_worker_and_the_error_says_how_to_serve_what_is_registered(
    command_line: Callable[..., Result],
) -> None:
    refused = command_line(module.worker, "care-survey")
    assert refused.exit_code == 1
    assert "care-survey: there is no such file" in refused.stderr
    assert "without a file, a worker serves all registered collections" in refused.stderr


def test_what_is_traced_is_sent_also_where_the_brokers_end_the_worker(
    command_line: Callable[..., Result], survey: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def serve(*_: object) -> None:
        raise KafkaConnectionError("they refuse it")

    sent: list[str] = []
    monkeypatch.setattr(module, "serve", serve)
    monkeypatch.setattr(module, "begin_log", lambda *_, **__: None)
    monkeypatch.setattr(module, "end_tracing", lambda: sent.append("spans"))
    result = command_line(worker, survey, "--verbose")
    assert result.exit_code == 1
    assert "the brokers returned an error: " in result.stderr
    assert sent == ["spans"]
