"""`stream-ldp` and `python -m stream_ldp` are the command line, or say what it needs."""

from __future__ import annotations

import sys

import pytest

from stream_ldp.__main__ import main


def test_it_runs_the_command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["stream-ldp", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert capsys.readouterr().out.startswith("stream-ldp ")


def test_where_only_the_client_is_installed_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("stream_ldp.cli")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit, match=r"(?s)need typer, which is not installed.*'stream-ldp\[worker\]'"):
        main()
