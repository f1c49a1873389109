"""The last output of a program is kept, on whichever stream it was written."""

from __future__ import annotations

import subprocess

import pytest

from stream_ldp.kafka.embedded.process import last_lines, run


def test_output_and_errors_come_together_with_the_exit_code() -> None:
    done = run("sh", "-c", "echo one; echo two >&2; exit 3")
    assert (done.returncode, done.stdout) == (3, "one\ntwo\n")


def test_a_program_that_takes_too_long_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run("sleep", "60", timeout=0.1)


def test_the_last_lines_of_a_text_are_quoted_without_blank_ones_after_them() -> None:
    assert last_lines("1\n2\n3\n\n", count=2) == "2\n3"
    assert last_lines("1\n") == "1"
