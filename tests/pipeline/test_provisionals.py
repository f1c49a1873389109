"""Tests of which open windows get a provisional answer, and when."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.provisionals import Allowance, Provisionals
from tests.client.examples import MINUTE_MS
from tests.pipeline.test_merging import CLOSED_MS, JOINT, SURVEY, partial, watermark

PERIOD_S, SHARE = 2.0, 0.5
EVERY_S = JOINT.every_ms / 1_000


def answered(
    provisionals: Provisionals, *, now: float, flushed_at: float | None = None, seconds: float = 0.0
) -> list[int]:
    """Answer all that is to be answered now, and return the windows, by the minute of their start.

    flushed_at: when the newest reports came; now by default.
    """
    windows = []
    while (task := provisionals.next(now=now, flushed_at=now if flushed_at is None else flushed_at)) is not None:
        assert not task.final
        windows.append(task.window_ms // MINUTE_MS)
        provisionals.answer(task, seconds=seconds, now=now)
    return windows


def begun(*minutes: int, cold: bool = False) -> tuple[Merge, Provisionals]:
    """Begin with a report in each of some minutes; unless cold, a window without reports has been answered before."""
    merge = Merge(SURVEY, partitions=1)
    for minute in minutes:
        report(merge, minute)
    provisionals = Provisionals(merge, JOINT, now=0.0)
    if not cold:
        provisionals.answer(merge.task(60 * MINUTE_MS, JOINT, final=False), seconds=0.0, now=0.0)
    return merge, provisionals


def report(merge: Merge, minute: int, *, reports: int = 1) -> None:
    merge.apply(partial(reports, pane_ms=minute * MINUTE_MS, end=10 + reports))


def test_windows_with_new_reports_are_answered_once_every_so_often_earliest_first() -> None:
    merge, provisionals = begun(1, 0)
    assert answered(provisionals, now=0.0) == [0, 1]
    assert (answered(provisionals, now=10.0), provisionals.due_at) == ([], None)
    report(merge, 1, reports=2)
    assert answered(provisionals, now=10.0) == [1]
    report(merge, 0, reports=2)
    assert (answered(provisionals, now=10.0), provisionals.due_at) == ([], 10.0 + 1.1 * EVERY_S)
    assert answered(provisionals, now=10.0 + EVERY_S) == [0]


def test_a_round_begins_with_the_flush_that_is_nearest_to_its_time() -> None:
    merge, provisionals = begun(0)
    assert answered(provisionals, now=0.0) == [0]
    # A window has closed in between, whose flush brought reports to this one as well.
    report(merge, 0, reports=2)
    assert answered(provisionals, now=0.5 * EVERY_S) == []
    # The steady flushes come a little later than `every`, and the round waits for them.
    for number in (1, 2, 3):
        report(merge, 0, reports=2 + number)
        assert answered(provisionals, now=1.02 * number * EVERY_S) == [0]
        assert provisionals.due_at is None
    report(merge, 0, reports=9)
    assert answered(provisionals, now=3.7 * EVERY_S) == []
    assert answered(provisionals, now=4.0 * EVERY_S) == [0]


def test_a_round_that_had_to_wait_for_other_solves_is_followed_by_one_with_a_flush() -> None:
    merge, provisionals = begun(0)
    assert answered(provisionals, now=0.0) == [0]
    report(merge, 0, reports=2)
    assert answered(provisionals, now=1.5 * EVERY_S, flushed_at=EVERY_S) == [0]
    report(merge, 0, reports=3)
    assert answered(provisionals, now=2.0 * EVERY_S) == [0], "its reports would wait for half of `every`"


def test_a_round_long_after_the_last_reports_is_followed_by_none_at_once() -> None:
    merge, provisionals = begun(0)
    assert answered(provisionals, now=0.0) == [0]
    report(merge, 0, reports=2)
    assert answered(provisionals, now=9.0 * EVERY_S, flushed_at=EVERY_S) == [0]
    report(merge, 0, reports=3)
    assert answered(provisionals, now=9.5 * EVERY_S, flushed_at=EVERY_S) == []


def test_a_record_that_brings_no_reports_brings_no_answer() -> None:
    merge, provisionals = begun(0)
    assert answered(provisionals, now=0.0) == [0]
    merge.apply(partial(1, end=99))
    assert answered(provisionals, now=10.0) == []


def test_a_round_ends_when_its_time_is_spent_and_the_rest_is_counted_and_comes_in_later_rounds() -> None:
    """Half of 2 s may be spent in a round: two solves of 0.6 s."""
    _, provisionals = begun(*range(5))
    assert answered(provisionals, now=0.0, seconds=0.6) == [0, 1]
    assert provisionals.skipped == 3
    assert answered(provisionals, now=EVERY_S, seconds=0.6) == [2, 3]
    assert answered(provisionals, now=2 * EVERY_S, seconds=0.6) == [4]
    assert provisionals.skipped == 3 + 1


def test_what_the_first_solve_of_a_process_imports_costs_no_other_its_turn() -> None:
    merge, provisionals = begun(0, 1, cold=True)
    assert answered(provisionals, now=0.0, seconds=5.0) == [0, 1]
    report(merge, 0, reports=2)
    assert answered(provisionals, now=EVERY_S, seconds=0.1) == []
    assert provisionals.skipped == 1, "the second has taken as long"


def test_a_solve_that_does_not_fit_is_made_as_rarely_as_its_share_of_the_time_allows() -> None:
    """A minute's solve in every two minutes, though reports come all the time and `every` is 2 s."""
    merge, provisionals = begun(0)
    now, times = 0.0, []
    while now < 1_000.0:
        report(merge, 0, reports=2 + round(now))
        if answered(provisionals, now=now, seconds=60.0):
            times.append(now)
        now += 1.0
    assert len(times) == 9
    assert all(119.0 <= later - earlier <= 121.0 for earlier, later in pairwise(times))
    assert provisionals.skipped > 400


def test_a_window_that_closes_meanwhile_is_left_to_its_final() -> None:
    merge, provisionals = begun(0, 1, 2)
    assert answered(provisionals, now=0.0, seconds=2.0) == [0]
    merge.apply(watermark(CLOSED_MS + MINUTE_MS))
    assert answered(provisionals, now=10.0) == [2]


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 100)), max_size=30))
def test_all_that_is_spent_is_within_the_share_but_for_the_limit_and_the_last_excess(
    spending: list[tuple[float, float]],
) -> None:
    """Whoever looks for the allowance first, and spends only if some is left, keeps within it."""
    allowance, now, spent = Allowance(share=SHARE, period_s=PERIOD_S, now=0.0), 0.0, 0.0
    for pause, seconds in spending:
        now += pause
        if allowance.left_s(now=now) > 0:
            assert spent <= SHARE * now + SHARE * PERIOD_S + 1e-6
            allowance.spend(seconds, now=now)
            spent += seconds


def test_what_is_not_spent_is_saved_for_one_period_only() -> None:
    allowance = Allowance(share=SHARE, period_s=PERIOD_S, now=0.0)
    assert allowance.left_s(now=100.0) == 1.0
    allowance.spend(4.0, now=100.0)
    assert allowance.left_s(now=100.0) == -3.0
    assert allowance.left_s(now=106.0) == pytest.approx(0.0)
