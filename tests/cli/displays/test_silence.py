"""Tests of the line that says that nobody reported."""

from __future__ import annotations

from stream_ldp.cli.displays.silence import silence_line
from stream_ldp.pipeline.answer import Status, WindowBounds
from tests.client.examples import MINUTE_MS, estimate_of


def test_a_silence_is_a_line_with_the_time_that_it_spans() -> None:
    bounds = WindowBounds(start_ms=0, end_ms=3 * MINUTE_MS)
    line = silence_line(estimate_of(window=bounds, status=Status.NO_REPORTS))
    assert line == "1970-01-01T00:00:00Z/1970-01-01T00:03:00Z bathing-mobility no-reports"
