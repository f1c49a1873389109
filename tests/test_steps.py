"""Work says how far it has come to a watcher, where there is one."""

from collections.abc import Iterator
from contextlib import contextmanager

from stream_ldp.steps import Advance, done, share, steps, watched_by

Seen = list[tuple[str, int | None] | int]


def test_steps_are_counted_one_by_one_and_only_while_somebody_watches() -> None:
    seen: Seen = []

    @contextmanager
    def watch(what: str, total: int | None) -> Iterator[Advance]:
        seen.append((what, total))
        yield seen.append

    with watched_by(watch):
        assert list(steps([1, 2], "rows")) == [1, 2]
        assert list(steps(iter([3]), "lines", total=1)) == [3]
        with share("reports") as advance:
            advance(50)
        done(7, "batches")
    assert seen == [("rows", 2), 1, 1, ("lines", 1), 1, ("reports", None), 50, ("batches", None), 7]
    assert list(steps([1], "rows")) == [1]
    assert len(seen) == 9


def test_a_step_is_done_when_the_next_one_is_wanted() -> None:
    counted: list[int] = []

    @contextmanager
    def watch(_what: str, _total: int | None) -> Iterator[Advance]:
        yield counted.append

    with watched_by(watch):
        each = steps("ab", "letters")
        next(each)
        assert counted == []
        next(each)
        assert counted == [1]
