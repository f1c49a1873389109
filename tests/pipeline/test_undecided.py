"""Tests of the undecided windows, which are compared with those found by looking at all panes."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.pipeline.partials import Partial, Watermark
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.undecided import UndecidedWindows
from stream_ldp.pipeline.windows import panes_of
from stream_ldp.records.collection import JointCollection
from stream_ldp.sets.series import round_statistic
from tests.client.examples import MINUTE_MS, collection_of, estimate_of
from tests.client.rankings import films, ranking_of
from tests.machines.simulation import LooksAtEverything

WINDOWS = {
    "tumbling": "grace: 5s",
    "sliding": "grace: 5s, hop: 20s",
}

CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["fill", "fill", "fill", "empty", "decide"]),
        st.integers(0, 1),  # of the series
        st.integers(0, 8),  # of the pane, or of the window's end
    ),
    max_size=40,
)


@pytest.mark.parametrize("which", WINDOWS)
@given(changes=CHANGES)
def test_after_any_changes_the_windows_are_those_that_a_look_at_all_panes_finds(
    which: str, changes: list[tuple[str, int, int]]
) -> None:
    collection = collection_of(window=WINDOWS[which])
    window, series = collection.window, collection.estimates
    undecided = UndecidedWindows(series, window)
    filled: set[tuple[int, int]] = set()
    decided = [-MINUTE_MS, -MINUTE_MS]
    for change, rank, place in changes:
        time_ms = place * window.pane_ms
        if change == "fill":
            undecided.fill(time_ms, series[rank])
            filled.add((rank, time_ms))
        elif change == "empty":
            undecided.empty(time_ms, series[rank])
            filled.discard((rank, time_ms))
        else:
            decided[rank] = max(decided[rank], time_ms)
            undecided.decide(series[rank].name, decided[rank])
    places = range(-2 * MINUTE_MS, 10 * window.pane_ms, window.pane_ms)
    expected = [
        (start, series[rank])
        for start in places
        for rank in (0, 1)
        if start + window.size_ms > decided[rank] and any((rank, pane) in filled for pane in panes_of(start, window))
    ]
    assert undecided.all() == expected
    assert undecided.first() == (expected[0] if expected else None)
    assert all(undecided.holds(start, each) == ((start, each) in expected) for start, each in product(places, series))


def test_a_final_of_a_series_that_the_collection_no_longer_has_decides_nothing() -> None:
    collection = collection_of()
    undecided = UndecidedWindows(collection.estimates, collection.window)
    undecided.fill(0, collection.estimates[0])
    undecided.decide("removed", 10 * MINUTE_MS)
    assert undecided.all() == [(0, collection.estimates[0])]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("partial"), st.integers(0, 1), st.integers(1, 3), st.integers(0, 7), st.integers(0, 2)),
        st.tuples(st.just("watermark"), st.integers(0, 1), st.integers(1, 3), st.integers(0, 9)),
        st.tuples(st.just("final"), st.integers(0, 1), st.integers(0, 3)),
        st.tuples(st.just("forget")),
        st.tuples(st.just("look")),
    ),
    min_size=20,
    max_size=60,
)


@pytest.mark.parametrize("which", [*WINDOWS, "epochs"])
@given(steps=STEPS)
# What phase 2 of epoch 0 has asked is forgotten with the final that says it.
@example(steps=[("final", 0, 0), ("partial", 0, 1, 1, 1), ("final", 0, 1), ("look",), ("final", 0, 2)])
def test_a_merge_finds_the_windows_of_all_its_panes(which: str, steps: list[tuple[Any, ...]]) -> None:
    """The order of the records is arbitrary, so it includes unlikely ones."""
    collection: Any = films() if which == "epochs" else collection_of(window=WINDOWS[which])
    pane_ms, grace_ms = collection.window.pane_ms, collection.window.grace_ms
    merge = LooksAtEverything(collection, partitions=2)
    source = {"collection": collection.name, "fingerprint": collection.fingerprint.hex()}
    for kind, *numbers in steps:
        match kind, numbers:
            case "partial", (partition, generation, pane, of):
                merge.apply(
                    Partial(
                        **source,
                        partition=partition,
                        generation=generation,
                        pane_ms=pane * pane_ms,
                        pane_length_ms=pane_ms,
                        of=statistics(collection, pane)[of],
                        segment=0,
                        end=10,
                        counts=RowCounts.of(np.zeros((1, 1), dtype=np.uint8), bits=5),
                    )
                )
            case "watermark", (partition, generation, panes):
                time_ms = panes * pane_ms + grace_ms
                merge.apply(Watermark(**source, partition=partition, generation=generation, time_ms=time_ms))
            case "final", (rank, number):
                merge.decide(final(collection, rank, number))
            case "forget", _:
                merge.forget()
            case _:
                merge.due()
    merge.due()


def statistics(collection: Any, pane: int) -> list[tuple[str, ...]]:
    """List the names of statistics in a pane: those of both series, and one that no series uses."""
    first, second = collection.series
    if isinstance(collection, JointCollection):
        return [first.of, second.of, ("unknown",)]
    fingerprint = ranking_of(epoch=pane // 2, phase=1).next_fingerprint
    assert fingerprint is not None
    return [first.of, round_statistic(second, fingerprint), round_statistic(second, bytes(16))]


def final(collection: Any, rank: int, number: int) -> Any:
    """Make a final answer of one of the series to its window of this number."""
    if not isinstance(collection, JointCollection):
        return ranking_of(epoch=number, phase=rank + 1)
    start_ms = number * collection.window.pane_ms
    bounds = WindowBounds(start_ms=start_ms, end_ms=start_ms + collection.window.size_ms)
    return estimate_of(estimate=collection.estimates[rank].name, window=bounds)
