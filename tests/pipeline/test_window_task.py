"""A question counts the reports of its own window, and not those remembered; it loses none of either."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.collection import Window
from stream_ldp.pipeline.statistics import ReportSums, RowCounts
from stream_ldp.pipeline.window_task import WindowTask, fewest_users, weighted_sums
from stream_ldp.records.collection import JointCollection
from tests.client.examples import collection_of
from tests.marginals.examples import collection_of as sampled_of
from tests.records.examples import TEXT


def sums(reports: int) -> ReportSums:
    return ReportSums.of(reports=reports, values=np.zeros(1, dtype=np.int64))


@pytest.fixture
def task() -> WindowTask[Any, Any]:
    return WindowTask(
        series=collection_of().estimates[0],
        window_ms=0,
        final=True,
        windows=((1.0, (sums(2), sums(3))), (0.5, (sums(100),))),
        before=None,
    )


def test_reports_are_those_of_the_window_itself_from_all_its_parts(task: WindowTask[Any, Any]) -> None:
    assert task.reports == 5


def test_counts_of_another_statistic_are_refused_and_not_left_out(task: WindowTask[Any, Any]) -> None:
    assert task.counts(ReportSums) == task.windows
    with pytest.raises(TypeError, match=r"bathing-mobility is answered from RowCounts, .* holds ReportSums"):
        task.counts(RowCounts)


COLLECTION = JointCollection.parse(TEXT)


def found(*windows: int, reports_per_user: float, memory: float | None = None) -> int:
    task: WindowTask[Any, Any] = WindowTask(
        series=COLLECTION.series[0],
        window_ms=0,
        final=True,
        windows=tuple((1.0, (ReportSums.of(reports=each, values=np.zeros(1, dtype=np.int64)),)) for each in windows),
        before=None,
    )
    window = Window(size_ms=60_000, reports_per_user=reports_per_user, memory=memory)
    return fewest_users(COLLECTION.model_copy(update={"window": window}), task)


@given(reports=st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_users_are_at_least_as_many_as_their_reports_per_user_say(reports: list[int]) -> None:
    per_user = sum(each**2 for each in reports) / sum(reports)
    assert found(sum(reports), reports_per_user=per_user) <= len(reports)


def test_users_are_as_many_as_reports_where_each_reports_once_or_equally_often() -> None:
    assert found(7, reports_per_user=1.0) == 7
    assert found(60, reports_per_user=20.0) == 3


def test_users_who_report_once_in_each_remembered_window_are_not_counted_away() -> None:
    assert found(5, 5, 5, reports_per_user=3.0, memory=0.5) == 5
    assert found(2, 5, 5, reports_per_user=1.0, memory=0.5) == 2, "nor does a window have those of others"


def test_parts_are_added_up_window_by_window_and_a_window_without_reports_is_0() -> None:
    parts = tuple(ReportSums.of(reports=2, values=np.array(values)) for values in ([1, 2, 3], [10, 20, 30]))
    (series,) = sampled_of().series
    task: WindowTask[Any, Any] = WindowTask(
        series=series, window_ms=0, final=True, windows=((1.0, parts), (0.5, ())), before=None
    )
    (first, current), (second, before) = weighted_sums(task, counters=3)
    assert (first, second) == (1.0, 0.5)
    assert current.tolist() == [11, 22, 33]
    assert before.tolist() == [0, 0, 0]
