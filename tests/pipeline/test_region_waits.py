"""Tests of how long windows wait for a region that is behind the others."""

from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.partials import MergeRecord
from stream_ldp.pipeline.region_waits import RegionWaits
from tests.client.examples import MINUTE_MS
from tests.pipeline.test_merging import CLOSED_MS
from tests.pipeline.test_region_watermarks import closing, cut, folded

EVERYBODY = {"eu": 60.0, "us": 60.0}


def waiting(*records: MergeRecord, waits: dict[str, float | None] | None = None) -> tuple[Merge, RegionWaits]:
    merge = folded(records)
    return merge, RegionWaits(merge, EVERYBODY if waits is None else waits)


def test_a_region_that_is_silent_is_waited_for_as_long_as_its_setting_says() -> None:
    merge, waits = waiting(*closing("us", MINUTE_MS), *closing("eu"))
    assert waits.due(now=100.0, now_ms=CLOSED_MS) == []
    assert waits.due(now=159.9, now_ms=CLOSED_MS) == []
    decided = waits.due(now=160.0, now_ms=CLOSED_MS)
    assert decided == [cut("us", passed=((0, MINUTE_MS), (1, MINUTE_MS)))]
    # Until it is read back it is not written again.
    assert waits.due(now=161.0, now_ms=CLOSED_MS) == []
    merge.apply(decided[0])
    assert waits.cut_off == ["us"]
    # Of what comes next, nobody waits again for a region that says nothing.
    for record in closing("eu", MINUTE_MS + CLOSED_MS):
        merge.apply(record)
    assert [each.time_ms for each in waits.due(now=162.0, now_ms=MINUTE_MS + CLOSED_MS)] == [MINUTE_MS + CLOSED_MS]


def test_a_region_that_is_back_is_waited_for_again() -> None:
    merge, waits = waiting(*closing("eu"), cut("us"), *closing("us"))
    assert waits.cut_off == []
    for record in closing("eu", MINUTE_MS + CLOSED_MS):
        merge.apply(record)
    assert waits.due(now=5.0, now_ms=MINUTE_MS + CLOSED_MS) == []
    assert len(waits.due(now=65.0, now_ms=MINUTE_MS + CLOSED_MS)) == 1


def test_a_region_whose_clock_is_behind_holds_each_window_for_its_wait_alone() -> None:
    """It speaks all the time, and is always three minutes behind."""
    merge, waits = waiting()
    closed: dict[int, float] = {}
    for second in range(0, 600, 5):
        for record in [*closing("eu", 1_000 * second), *closing("us", 1_000 * (second - 180))]:
            merge.apply(record)
        for decided in waits.due(now=float(second), now_ms=1_000 * second):
            merge.apply(decided)
        for minute in range(10):
            end_ms = minute * MINUTE_MS + CLOSED_MS
            if merge.watermark_ms is not None and merge.watermark_ms >= end_ms:
                closed.setdefault(end_ms, second)
    delays = [second - end_ms / 1_000 for end_ms, second in closed.items()]
    assert len(delays) >= 7
    assert all(60.0 <= delay <= 65.0 for delay in delays)


def test_a_region_whose_clock_is_ahead_makes_no_other_late() -> None:
    """It is an hour ahead, and the other one closes each window five seconds after its end."""
    merge, waits = waiting()
    for second in range(0, 300, 5):
        for record in [*closing("eu", 1_000 * (second - 5)), *closing("us", 3_600_000 + 1_000 * second)]:
            merge.apply(record)
        assert waits.due(now=float(second), now_ms=1_000 * second) == []
        assert merge.watermark_ms == 1_000 * (second - 5)


def test_windows_wait_for_a_region_without_a_time_as_long_as_it_takes() -> None:
    _, waits = waiting(*closing("eu"), waits={"eu": None, "us": None})
    for now in (0.0, 1e9):
        assert waits.due(now=now, now_ms=CLOSED_MS) == []


def test_the_lag_of_a_region_is_event_time_behind_the_furthest() -> None:
    _, waits = waiting(*closing("eu", 9_000), *closing("us", 2_000))
    assert waits.lag_ms == {"eu": 0, "us": 7_000}
    assert waiting(*closing("eu"))[1].lag_ms == {"eu": 0}
