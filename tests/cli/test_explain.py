"""The last answer is explained in sentences, by the name of its collection."""

from __future__ import annotations

from collections.abc import Callable

from typer.testing import Result

from stream_ldp.cli.explain import explain
from tests.client.answer_topics import published
from tests.client.examples import of_minute


def test_the_last_final_is_explained(command_line: Callable[..., Result]) -> None:
    with published(of_minute(1), of_minute(2)):
        done = command_line(explain, "care-survey")
    assert done.exit_code == 0, done.output
    head, what, *_ = done.stdout.splitlines()
    assert head == "care-survey, bathing-mobility, 1970-01-01T00:02:00Z/1970-01-01T00:03:00Z"
    assert "the largest number is bathing no, mobility full" in what


def test_where_there_is_no_answer_that_is_said(command_line: Callable[..., Result]) -> None:
    with published():
        done = command_line(explain, "care-survey")
    assert done.exit_code == 1
    assert "its topic has no final answer yet" in done.stderr
