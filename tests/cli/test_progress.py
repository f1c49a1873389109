"""A bar shows on a terminal alone, and the outcomes come through it one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.cli.progress import watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


def test_outcomes_come_as_they_are_made_and_nothing_is_written_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made: list[int] = []

    def outcomes() -> Iterator[int]:
        for number in range(3):
            made.append(number)
            yield number

    seen = watched(outcomes(), total=3, what="evaluating")
    assert (next(seen), made) == (0, [0])
    assert list(seen) == [1, 2]
    assert capsys.readouterr() == ("", "")
