"""Tests of the answers to probes."""

import json

import pytest

from stream_ldp.http.health import health


@pytest.mark.parametrize(
    ("problems", "shown", "status", "text"),
    [
        ([], True, 200, {"problems": []}),
        (["no broker answers"], True, 503, {"problems": ["no broker answers"]}),
        ([], False, 200, {}),
        (["no broker answers"], False, 503, {}),
    ],
)
def test_a_server_with_problems_is_not_ready_and_names_them_where_it_may(
    problems: list[str], shown: bool, status: int, text: dict[str, list[str]]
) -> None:
    answer = health(problems, shown=shown)
    assert (answer.status, json.loads(answer.text or "")) == (status, text)
