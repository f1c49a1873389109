"""Windows that alternate learn from those a period before."""

from __future__ import annotations

from tests.benchmarks.alternating import STREAMS, relative_errors


def test_where_day_and_night_alternate_the_window_a_period_before_says_more_than_the_last() -> None:
    """Seeded, with 2 of the 20 repeats of the table, which has 0.66 and 0.25."""
    found = relative_errors(STREAMS["day and night alternate"], repeats=2)
    assert found["period"] < 0.5 < 0.7 * 0.95
    assert found["period"] < found["last"]


def test_a_period_that_is_found_helps_where_populations_alternate_and_harms_nowhere() -> None:
    """Seeded, with 2 of the 20 repeats of the table, which has 0.49 beside 0.66, and the same in the others."""
    for stream, truth in STREAMS.items():
        found = relative_errors(truth, repeats=2)
        assert found["found"] < (0.9 if stream == "day and night alternate" else 1.03) * found["last"], stream
