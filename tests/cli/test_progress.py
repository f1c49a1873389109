"""How much of long work is done shows at a terminal alone."""

from __future__ import annotations

import re
import time
from contextlib import redirect_stderr
from io import StringIO
from typing import TYPE_CHECKING

import pytest

from stream_ldp.cli.progress import progress_shown
from stream_ldp.steps import share, steps

if TYPE_CHECKING:
    from collections.abc import Callable


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return _Terminal()


def shown(terminal: _Terminal) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())


def until(holds: Callable[[], bool]) -> None:
    """Wait for what another thread draws."""
    for _ in range(500):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("nothing was drawn")


def test_nothing_is_written_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_shown():
        assert list(steps(range(3), "attacks")) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


def test_a_terminal_is_reported_what_is_done_of_how_much(terminal: _Terminal) -> None:
    with redirect_stderr(terminal), progress_shown(patience_s=0):
        for _ in steps(range(3), "attacks"):
            until(lambda: "attacks" in shown(terminal))
    assert re.search(r"attacks .* [0-3]/3 0:00:0\d", shown(terminal))


def test_work_within_work_of_the_same_name_is_counted_with_it_and_other_work_beside_it(terminal: _Terminal) -> None:
    with redirect_stderr(terminal), progress_shown(patience_s=0), share("ways"):
        for _ in range(2):
            list(steps(range(4), "ways"))
        for _ in steps(range(2), "rows"):
            until(lambda: "rows" in shown(terminal))
    assert re.search(r"ways .* 8/\? ", shown(terminal))
    assert re.search(r"rows .* [0-2]/2 ", shown(terminal))


def test_a_bar_is_gone_when_its_work_is_done(terminal: _Terminal) -> None:
    with redirect_stderr(terminal), progress_shown(patience_s=0):
        for _ in steps(range(3), "attacks"):
            until(lambda: "attacks" in shown(terminal))
        written = len(terminal.getvalue())
    assert terminal.getvalue()[:written].endswith("\r\x1b[2K\x1b[?25h\r")
    assert len(terminal.getvalue()) == written


def test_short_work_is_not_shown(terminal: _Terminal) -> None:
    with redirect_stderr(terminal), progress_shown(patience_s=60):
        list(steps(range(3), "attacks"))
    assert terminal.getvalue() == ""
