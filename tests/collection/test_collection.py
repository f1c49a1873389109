"""Every collection has windows with the defaults that it documents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.collection import Window
from stream_ldp.records.collection import JointCollection
from tests.records.examples import TEXT, problems_of


def test_a_window_has_the_defaults_it_documents() -> None:
    window = JointCollection.parse(TEXT).window
    assert (window.size_ms, window.pane_ms, window.grace_ms) == (60_000, 60_000, 5_000)
    assert (window.idle_timeout_ms, window.ahead_ms, window.max_age_ms) == (10_000, 10_000, 86_400_000)
    assert (window.memory, window.memory_windows) == (None, 1)
    assert window.rounded(59_999) == 54_000
    sliding = JointCollection.parse(TEXT.replace("60s", "2h, hop: 30 m, idle_timeout: never, memory: 0.5")).window
    assert (sliding.size_ms, sliding.pane_ms, sliding.idle_timeout_ms) == (7_200_000, 1_800_000, None)
    # 0.5^6 is the last weight of at least 1 %.
    assert sliding.memory_windows == 7


def window_of(options: str) -> Window:
    return JointCollection.parse(TEXT.replace("60s", options)).window


@pytest.mark.parametrize(
    ("options", "time_ms", "written_ms"),
    [
        ("60s", 5_999, 0),
        ("60s", 6_000, 6_000),
        ("60s, hop: 15s", 61_499, 60_000),
        ("60s, hop: 15s", 61_500, 61_500),
        ("1d", 3_659_999, 3_600_000),  # to no more than a minute
        ("5ms", 4, 4),
        ("60s, time_precision: 7s", 69_000, 67_000),  # from the beginning of the pane
        ("60s, time_precision: 60s", 119_999, 60_000),
        ("60s", -1, -6_000),
    ],
)
def test_event_times_are_rounded_down_from_the_beginning_of_their_pane(
    options: str, time_ms: int, written_ms: int
) -> None:
    assert window_of(options).rounded(time_ms) == written_ms


@given(
    size=st.integers(1, 1_000_000),
    precision=st.none() | st.integers(1, 1_000_000),
    times=st.lists(st.integers(-(10**13), 10**13), min_size=2),
)
def test_a_rounded_time_stays_in_its_pane_and_in_its_order(
    size: int, precision: int | None, times: list[int]
) -> None:
    precision = precision and min(precision, size)
    window = Window(size_ms=size, time_precision_ms=precision)
    rounded = [window.rounded(time_ms) for time_ms in sorted(times)]
    assert rounded == sorted(rounded), "watermarks still move forward"
    for time_ms, written_ms in zip(sorted(times), rounded, strict=True):
        assert time_ms // size == written_ms // size
        assert time_ms - (precision or max(1, size // 10)) < written_ms <= time_ms
        assert window.rounded(written_ms) == written_ms
        assert (written_ms % size) % (precision or min(max(1, size // 10), 60_000)) == 0


def test_event_times_cannot_be_rounded_out_of_their_window() -> None:
    (problem,) = problems_of(TEXT.replace("60s", "60s, hop: 20s, time_precision: 21s"))
    assert problem.endswith("window.time_precision: event times keep their window: at most 20000 ms, got 21000 ms")


@pytest.mark.parametrize("sharing", ["hop: 20s", "memory: 0.5"])
def test_windows_that_share_reports_refuse_what_only_windows_that_learn_use(sharing: str) -> None:
    (problem,) = problems_of(TEXT.replace("60s", f"60s, {sharing}, returning: 0.5"))
    assert problem.endswith(
        "window.returning: windows with hop or memory do not learn from each other, and nothing depends on it: "
        "leave it out"
    )


def test_the_fewest_reports_to_publish_of_are_a_positive_number_that_changes_no_meaning() -> None:
    plain, shy = JointCollection.parse(TEXT), JointCollection.parse(TEXT + "min_reports: 1000\n")
    assert (plain.min_reports, shy.min_reports) == (None, 1_000)
    assert plain.fingerprint == shy.fingerprint
    assert "min_reports" not in plain.document
    for wrong in ("0", "-3", "few"):
        (problem,) = problems_of(f"{TEXT}min_reports: {wrong}\n")
        assert "min_reports: " in problem
