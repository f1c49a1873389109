"""A later solve of a window counts only the reports that have come since, and answers the same."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import Scratch, WindowTask
from stream_ldp.strings.pem import Pem
from stream_ldp.strings.questions import StringAnswers
from stream_ldp.strings.recount import Counted, Recount
from stream_ldp.strings.solve import solve
from tests.strings.examples import collection_of, counted, rows_of, users

COLLECTION = collection_of("epsilon: 3, k: 4", window=", memory: 0.5")
ROWS = rows_of(COLLECTION, users(COLLECTION, 4_000))


def task_of(*windows: Sequence[RowCounts], scratch: Scratch | None = None) -> WindowTask[Any, Any]:
    return WindowTask(
        series=COLLECTION.series[0],
        window_ms=0,
        final=True,
        windows=tuple((0.5**age, tuple(parts)) for age, parts in enumerate(windows)),
        before=None,
        scratch=scratch or Scratch(),
    )


def counted_by(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return the (answers, beginnings) of each count from now on."""
    seen: list[tuple[int, int]] = []
    count = Pem._counts

    def noted(self: Pem, answers: StringAnswers, beginnings: Any, endings: Any) -> Any:
        seen.append((answers.reports, len(beginnings)))
        return count(self, answers, beginnings, endings)

    monkeypatch.setattr(Pem, "_counts", noted)
    return seen


def test_every_solve_of_a_window_answers_what_a_first_one_would(monkeypatch: pytest.MonkeyPatch) -> None:
    before, scratch = [counted(COLLECTION, ROWS[3_000:])], Scratch()
    work: list[int] = []
    for reports in (1_000, 1_010, 2_000, 3_000):
        # Partitions, some of whose reports come again.
        parts = [counted(COLLECTION, ROWS[:reports]), counted(COLLECTION, ROWS[: reports // 2])]
        alone = solve(COLLECTION, task_of(parts, before))
        with monkeypatch.context() as patch:
            seen = counted_by(patch)
            assert solve(COLLECTION, task_of(parts, before, scratch=scratch)) == alone
        work.append(sum(answers * beginnings for answers, beginnings in seen))
    assert work[1] < 0.3 * work[0]


def test_counts_of_other_reports_are_not_added_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partial that replaces another has its reports, but for those of a worker that was fenced."""
    scratch = Scratch()
    solve(COLLECTION, task_of([counted(COLLECTION, ROWS[:1_000])], scratch=scratch))
    others = [counted(COLLECTION, ROWS[1:2_000])]
    assert solve(COLLECTION, task_of(others, scratch=scratch)) == solve(COLLECTION, task_of(others))


def test_beginnings_that_are_no_longer_tried_are_kept_up_to_date_and_as_many_as_are() -> None:
    answers = COLLECTION.method.questions.answers(ROWS)
    symbols = np.arange(8, dtype=np.int64)[:, None]
    ending = np.zeros((1, 0), dtype=np.int64)

    def count(answers: StringAnswers, beginnings: Any, endings: Any) -> Any:
        return answers.reports + np.tile(beginnings.T, (len(endings), 1))

    first = Recount(fresh=answers, before={}, most=100)
    first.counted(count, answers, symbols, ending)
    fresh = answers.where(np.arange(4_000) < 7)
    second = Recount(fresh=fresh, before=first.now, most=100)
    assert second.counted(count, answers, symbols[6:], ending).tolist() == [[4_000 + 7 + 12, 4_000 + 7 + 14]]
    (kept,) = second.now.values()
    assert kept.beginnings.ravel().tolist() == [6, 7, 0, 1]
    assert kept.counts.tolist() == [[4_019, 4_021, 4_007, 4_009]]


def test_no_more_counts_are_kept_than_may_be() -> None:
    answers = COLLECTION.method.questions.answers(ROWS)
    symbols = np.arange(8, dtype=np.int64)[:, None]
    recount = Recount(fresh=answers, before={}, most=10)
    for number in range(3):
        replace(recount, number=number).counted(
            lambda *_: np.ones((2, 3), dtype=np.int64), answers, symbols[:3], symbols[:2]
        )
    assert [(number, each.counts.size) for (number, _), each in recount.now.items()] == [(0, 6)]
    assert isinstance(recount.now[0, symbols[:2].tobytes()], Counted)
