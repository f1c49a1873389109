"""`stream-ldp` and `python -m stream_ldp` are the command line, or say what it needs."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stream_ldp.__main__ import SERVING, main

#: What makes a process the first one of a container, and ends it with its parent.
FIRST = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")
#: Seconds in which a process ends on a busy machine.
SOON_SECONDS = 60.0


def test_it_runs_the_command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["stream-ldp", "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert "worker" in capsys.readouterr().out


def test_where_only_the_client_is_installed_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("stream_ldp.cli")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.setattr(sys, "argv", ["stream-ldp", "check"])
    with pytest.raises(SystemExit, match=r"(?s)need typer, which is not installed.*'stream-ldp\[worker\]'"):
        main()


def may_be_first() -> bool:
    """Decide whether this machine lets a test run the first process of a container."""
    return (
        shutil.which(FIRST[0]) is not None
        and not subprocess.run([*FIRST, "true"], check=False, capture_output=True).returncode
    )


#: The command line, whose imports take for ever.
SLOW = """
import sys, time

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "stream_ldp.cli":
            print("importing", flush=True)
            time.sleep(3_600)

sys.meta_path.insert(0, Slow())
from stream_ldp.__main__ import SERVING, main
main()
"""


@pytest.mark.parametrize("first", [False, True], ids=["a process", "the first process of a container"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda each: each.name)
@pytest.mark.parametrize("command", sorted(SERVING))
def test_a_server_that_is_reported_to_stop_while_it_is_imported_ends_with_0(
    command: str, number: signal.Signals, first: bool
) -> None:
    if first and not may_be_first():
        pytest.skip("this machine lets nobody unshare the numbers of processes")
    program = [*(FIRST if first else ()), sys.executable, "-c", SLOW, command, "survey.yaml"]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as started:
        try:
            assert started.stdout is not None
            assert started.stdout.readline() == b"importing\n"
            server = started.pid
            if first:
                (child,) = Path(f"/proc/{server}/task/{server}/children").read_text().split()
                server = int(child)
            for each in (signal.SIGUSR1, signal.SIGUSR2, number):
                os.kill(server, each)
            assert started.wait(SOON_SECONDS) == 0
        finally:
            started.kill()


def test_other_commands_take_signals_as_every_program_does(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(sys, "argv", ["stream-ldp", "--help"])
    with pytest.raises(SystemExit):
        main()
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_version_needs_no_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("stream_ldp.cli")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.setattr(sys, "argv", ["stream-ldp", "--version"])
    main()
    assert capsys.readouterr().out.startswith("stream-ldp ")
