"""A finding has the first problem, or none."""

from __future__ import annotations

from collections.abc import Iterator

from stream_ldp.client.audit.finding import finding


def test_a_finding_has_the_first_problem_and_looks_for_no_other() -> None:
    def problems() -> Iterator[str]:
        yield "first"
        raise AssertionError("not looked for")

    assert finding("promise", problems(), chance=0.1).problem == "first"


def test_a_promise_without_problems_holds() -> None:
    assert finding("promise", []).problem is None
