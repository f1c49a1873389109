"""The solver of strings: what is published of a window, and that it does not depend on how its rows are cut."""

import numpy as np
import pytest

from stream_ldp.kinds import solve
from stream_ldp.pipeline.answer import Status
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_series import WindowSeries
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.strings.answer import StringRanking
from tests.questions.examples import solved
from tests.strings.examples import collection_of, counted, ranking_of, rows_of, users

COLLECTION = collection_of()


def test_a_ranking_is_the_same_however_its_reports_are_cut() -> None:
    rows = rows_of(COLLECTION, users(COLLECTION, 3_000))
    whole = solved(COLLECTION, (1.0, [counted(COLLECTION, rows)]))
    parts = [counted(COLLECTION, part) for part in np.split(rows[::-1], [700, 701])]
    assert solved(COLLECTION, (1.0, parts)) == whole
    assert whole.reports == 3_000
    assert sum(each.reports for each in whole.questions) == 3_000


def test_projected_shares_are_possible_and_ranks_follow_the_raw_ones() -> None:
    ranking = ranking_of(COLLECTION, 5_000)
    assert ranking.strings is not None
    assert [each.rank for each in ranking.strings] == list(range(1, len(ranking.strings) + 1))
    assert sorted((each.raw for each in ranking.strings), reverse=True) == [each.raw for each in ranking.strings]
    assert sum(each.projected for each in ranking.strings) <= 1 + 1e-9


def test_repeated_reports_count_as_often_as_they_come() -> None:
    rows = rows_of(COLLECTION, users(COLLECTION, 1_000))
    once, twice = (solved(COLLECTION, (1.0, [counted(COLLECTION, each)])) for each in (rows, np.repeat(rows, 2, 0)))
    assert twice.reports == 2_000
    assert once.strings is not None
    assert twice.strings is not None
    assert twice.strings[0].raw == pytest.approx(once.strings[0].raw, rel=0.01)
    assert twice.strings[0].standard_error == pytest.approx(once.strings[0].standard_error / np.sqrt(2), rel=0.1)


@pytest.mark.parametrize("mechanism", ["epsilon: 4, k: 8", "epsilon: 6, k: 8, method: rappor-unknown"])
def test_users_who_repeat_their_answers_have_the_errors_of_users_who_report_once(mechanism: str) -> None:
    once = collection_of(mechanism)
    often = collection_of(mechanism, window=", reports_per_user: 16")
    rows = rows_of(once, users(once, 2_000))
    of_each = solved(once, (1.0, [counted(once, rows)]))
    of_all = solved(often, (1.0, [counted(often, np.repeat(rows, 16, axis=0))]))
    assert of_all.reports == 16 * of_each.reports
    assert of_each.strings
    assert of_all.strings is not None
    assert [each.string for each in of_all.strings] == [each.string for each in of_each.strings]
    for name in ("raw", "standard_error", "expected_false"):
        found, expected = ([getattr(each, name) for each in ranking.strings or ()] for ranking in (of_all, of_each))
        assert found == pytest.approx(expected)


def test_remembered_windows_lower_the_error() -> None:
    rows = [counted(COLLECTION, rows_of(COLLECTION, users(COLLECTION, 3_000, seed), seed)) for seed in (1, 2)]
    alone, both = solved(COLLECTION, (1.0, rows[:1])), solved(COLLECTION, (1.0, rows[:1]), (0.9, rows[1:]))
    assert alone.strings is not None
    assert both.strings is not None
    assert both.strings[0].standard_error < 0.8 * alone.strings[0].standard_error
    assert both.reports == 3_000


def test_a_window_without_reports_has_no_ranking() -> None:
    task: WindowTask[WindowSeries, StringRanking] = WindowTask(
        series=COLLECTION.series[0],
        window_ms=20_000,
        final=True,
        windows=((1.0, (RowCounts.empty(COLLECTION.bits),)),),
        before=None,
        silent_until_ms=40_000,
    )
    silent = solve(COLLECTION, task)
    assert isinstance(silent, StringRanking)
    assert silent.status is Status.NO_REPORTS
    assert silent.strings is None
    assert silent.window.end_ms == 40_000


@pytest.mark.parametrize("fewer", [0, 1])
def test_questions_that_fewer_users_have_answered_rank_nothing(fewer: int) -> None:
    ranking = ranking_of(COLLECTION, 2_000)
    least = min(each.reports for each in ranking.questions)
    shy = ranking_of(COLLECTION.model_copy(update={"min_reports": least + fewer}), 2_000)
    assert [each.withheld for each in shy.questions] == [each.reports < least + fewer for each in shy.questions]
    if fewer:
        assert shy.strings is None
        assert "withheld" in shy.judgement().evidence[1]
    else:
        assert shy == ranking
