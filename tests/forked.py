"""Processes that begin at once, since each is forked from one that has the package loaded: imports take a second."""

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from stream_ldp.__main__ import main

#: What the process imports from which others are forked. It must start no thread.
PRELOADED = ("tests.preloaded",)

#: Each process of a run that needs one has such a process, which ends with it.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([*PRELOADED])


class Forked:
    """A process of the command line, or of a script that ends in it, to be used as a `subprocess.Popen`."""

    def __init__(self, command: Sequence[str], *, output: Path, environment: Mapping[str, str]) -> None:
        """Start it.

        command: arguments of Python: `-m stream_ldp` or the path of a script, and the command's own.
        output: the file to which it appends what it says.
        environment: all of its variables.
        """
        output.touch()  # to be read from now on
        self._process = PROCESSES.Process(target=_run, args=(list(command), output, dict(environment)))
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("stream-ldp", timeout or 0.0)
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        if self.poll() is None:
            self._process.kill()


def _run(command: list[str], output: Path, environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    with output.open("ab") as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
    if command[:2] == ["-m", "stream_ldp"]:
        sys.argv = ["stream-ldp", *command[2:]]
        main()
    else:
        sys.argv = command
        runpy.run_path(command[0], run_name="__main__")
