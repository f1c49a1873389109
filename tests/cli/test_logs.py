"""The log of a process that serves: for people on a terminal, for machines elsewhere, of a level that may change."""

import io
import json
import logging
import os
import signal
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stream_ldp.cli.logs import LOUD, begin_log
from stream_ldp.kafka.settings import LogFormat, LogLevel, Settings
from tests.forked import Forked

OURS = logging.getLogger("stream_ldp.service.somewhere")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Give the process of the tests its own log back."""
    loggers = [logging.getLogger(name) for name in ("", "stream_ldp", *LOUD)]
    root, levels = loggers[0], [each.level for each in loggers]
    handlers = root.handlers
    signals = {number: signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGUSR2)}
    yield
    root.handlers = handlers
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
    for number, handler in signals.items():
        signal.signal(number, handler)


def begun(stream: io.StringIO, *, libraries: bool = False, **settings: Any) -> io.StringIO:
    # Those of pytest, which a process of its own has not.
    logging.getLogger().handlers = []
    begin_log(Settings.load(**settings), libraries=libraries, stream=stream)
    return stream


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_the_log_is_json_with_fields_where_no_terminal_is() -> None:
    stream = begun(io.StringIO())
    OURS.info("%s: %d reports", "care", 7, extra={"collection": "care", "reports": 7})
    (line,) = lines(stream)
    assert abs(datetime.fromisoformat(str(line.pop("time"))) - datetime.now(UTC)) < timedelta(minutes=1)
    assert line == {
        "level": "INFO",
        "logger": "stream_ldp.service.somewhere",
        "message": "care: 7 reports",
        "collection": "care",
        "reports": 7,
    }


@pytest.mark.parametrize(
    ("stream", "form", "human"),
    [
        (Terminal(), LogFormat.AUTO, True),
        (Terminal(), LogFormat.JSON, False),
        (io.StringIO(), LogFormat.HUMAN, True),
    ],
)
def test_a_terminal_gets_lines_for_people_and_either_form_can_be_asked_for(
    stream: io.StringIO, form: LogFormat, human: bool
) -> None:
    begun(stream, log_format=form)
    OURS.warning("care: 7 reports", extra={"collection": "care"})
    assert stream.getvalue().endswith(" WARNING stream_ldp.service.somewhere: care: 7 reports\n") == human


def test_an_exception_is_one_line_of_json() -> None:
    stream = begun(io.StringIO())
    try:
        _ = 1 // 0
    except ArithmeticError:
        OURS.exception("a part failed")
    (line,) = lines(stream)
    assert str(line["traceback"]).splitlines()[-1].startswith("ZeroDivisionError: ")


@pytest.mark.parametrize("level", LogLevel)
def test_the_level_is_that_of_our_own_lines(level: LogLevel) -> None:
    stream = begun(io.StringIO(), log_level=level)
    for each in LogLevel:
        OURS.log(logging.getLevelNamesMapping()[each.name], "%s", each)
        logging.getLogger("asyncio").debug("select took 3 ms")
    ranks = list(LogLevel)
    assert [line["message"] for line in lines(stream)] == ranks[ranks.index(level) :]


@pytest.mark.parametrize("libraries", [False, True])
def test_libraries_that_print_the_values_of_messages_are_silent_unless_asked_for(libraries: bool) -> None:
    stream = begun(io.StringIO(), libraries=libraries, log_level="debug")
    for name in LOUD:
        logging.getLogger(f"{name}.somewhere").error("b'a report'")
    assert bool(stream.getvalue()) == libraries


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
def test_signals_change_the_level_step_by_step_and_each_says_so() -> None:
    stream = begun(io.StringIO(), log_level="warning")
    said = []
    for number in (*[signal.SIGUSR1] * 3, *[signal.SIGUSR2] * 4):
        os.kill(os.getpid(), number)
        said.append(str(lines(stream)[-1]["message"]).split()[-2])
        assert OURS.getEffectiveLevel() == logging.getLevelNamesMapping()[said[-1].upper()]
    assert said == ["info", "debug", "debug", "info", "warning", "error", "error"]


def test_a_line_of_the_log_commands_no_terminal_and_begins_no_other_line() -> None:
    stream = begun(Terminal())
    try:
        int("\x1b]0;owned\x07")
    except ValueError:
        OURS.exception("passed over: %s", "\x1b[2J\nready \u202e")
    first, *traceback = stream.getvalue().splitlines()
    assert first.endswith("passed over: \\x1b[2J\\nready \\u202e")
    assert traceback[0] == "Traceback (most recent call last):"
    assert not any("\x1b" in line or "\x07" in line for line in traceback)


def test_what_ends_a_process_that_logs_in_json_is_json_too(tmp_path: Path) -> None:
    (file := tmp_path / "survey.yaml").write_text("collection: Care\n")
    words = ["-m", "stream_ldp", "worker", str(file), "--log-format", "json"]
    assert Forked(words, output=tmp_path / "log", environment=os.environ).wait(60) == 1
    last = json.loads((tmp_path / "log").read_text(encoding="utf-8").splitlines()[-1])
    assert last["level"] == "CRITICAL"
    assert "survey.yaml:1:13: collection: use at most 63 lower-case letters" in last["message"]
