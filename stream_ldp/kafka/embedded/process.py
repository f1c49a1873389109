"""Run programs to their end and show the end of their output."""

from __future__ import annotations

import subprocess


def run(*command: str, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, with its standard output and error together in `stdout`."""
    return subprocess.run(  # noqa: S603  no user input in the command
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=timeout
    )


def last_lines(text: str, count: int = 20) -> str:
    """Return the last lines of a text."""
    return "\n".join(text.rstrip().splitlines()[-count:])
