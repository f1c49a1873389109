"""Tests of panes and windows: they cover event time as they should."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.collection import Window
from stream_ldp.pipeline.windows import closes_at, pane_of, panes_of, windows_of

windows = st.builds(
    lambda hop, panes, grace: Window(size_ms=hop * panes, hop_ms=hop, grace_ms=grace),
    st.integers(1, 1_000),
    st.integers(1, 20),
    st.integers(0, 100),
)
#: Before 1970, too: a producer's clock can be that wrong, and is refused by its age, not by arithmetic.
times = st.integers(-(10**13), 10**13)


@given(times, windows)
def test_every_time_is_in_exactly_one_pane(time_ms: int, window: Window) -> None:
    pane = pane_of(time_ms, window)
    assert pane % window.pane_ms == 0
    assert pane <= time_ms < pane + window.pane_ms


@given(times, windows)
def test_a_pane_is_in_exactly_the_windows_that_contain_it(time_ms: int, window: Window) -> None:
    pane = pane_of(time_ms, window)
    starts = windows_of(pane, window)
    assert len(starts) == window.size_ms // window.pane_ms
    assert all(pane in panes_of(start, window) for start in starts)
    assert pane not in panes_of(starts[0] - window.pane_ms, window)
    assert pane not in panes_of(starts[-1] + window.pane_ms, window)


@given(times, windows)
def test_a_window_is_spanned_by_its_panes_and_closes_after_its_grace(time_ms: int, window: Window) -> None:
    start = pane_of(time_ms, window)
    panes = panes_of(start, window)
    assert panes[0] == start
    assert panes[-1] + window.pane_ms == start + window.size_ms
    assert closes_at(panes[-1], window) == start + window.size_ms + window.grace_ms


@given(st.lists(times, min_size=1), windows)
def test_many_times_at_once_have_the_same_panes_as_each_alone(many: list[int], window: Window) -> None:
    assert pane_of(np.array(many), window).tolist() == [pane_of(time_ms, window) for time_ms in many]
