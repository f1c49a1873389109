"""Windows that alternate learn from those a period before."""

from tests.benchmarks.alternating import STREAMS, relative_errors


def test_where_day_and_night_alternate_the_window_a_period_before_says_more_than_the_last() -> None:
    """Seeded, with 2 of the 20 repeats of the table, which has 0.66 and 0.25."""
    found = relative_errors(STREAMS["day and night alternate"], repeats=2)
    assert found["period"] < 0.5 < 0.7 * 0.95
    assert found["period"] < found["last"]


def test_a_period_that_is_found_helps_where_populations_alternate_and_harms_nowhere() -> None:
    """Seeded, with 2 of the 20 repeats of the table, which has 0.50 beside 0.66, 0.46 beside 0.98, and the same
    in the others.
    """
    for stream, truth in STREAMS.items():
        found = relative_errors(truth, repeats=2)
        most = {"day and night alternate": 0.75, "the other population in each window": 0.55}.get(stream, 1.03)
        assert found["found"] < most * found["last"], stream
