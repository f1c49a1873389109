"""Tests that memory does not grow with windows and reports that are done with."""

import pytest

from tests.benchmarks.soak import SAMPLES, soak

#: What a process may take more for all that comes after the first fifth: 50 bytes a window, which is less than what a
#: number takes that is kept of each.
SLACK_BYTES = 4 * 2**20


def test_every_report_is_counted_and_every_closed_window_decided() -> None:
    *_, last = samples = list(soak(windows=50, reports=5_000))
    assert len(samples) == SAMPLES
    # The newest windows are open.
    assert (last.reports, last.windows) == (5_000, 48)


@pytest.mark.long
@pytest.mark.timeout(1_200)
def test_memory_is_flat_over_a_hundred_thousand_windows_and_ten_million_reports() -> None:
    samples = list(soak(windows=100_000, reports=10_000_000))
    assert samples[-1].reports == 10_000_000
    assert samples[-1].memory_bytes - samples[1].memory_bytes < SLACK_BYTES
