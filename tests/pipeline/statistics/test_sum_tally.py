"""A tally of sums: the same whatever the batches, and sent when it is worth sending."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_ldp.mechanisms import HadamardResponse, SeededEntropy
from stream_ldp.pipeline.statistics import ReportSums, Statistic, SumTally, sending


def of(*values: int, reports: int = 1) -> ReportSums:
    return ReportSums.of(reports=reports, values=np.array(values, dtype=np.int64))


@given(cut=st.integers(1, 60))
def test_a_tally_that_is_restored_goes_on_as_the_one_that_was_sent(cut: int) -> None:
    oracle, rows = oracle_and_rows(16, 60)
    first, second = SumTally(oracle), SumTally(oracle)
    first.update(rows[:cut])
    second.restore(first.take_changed(closing=True))
    second.update(rows[cut:])
    assert second.take_changed(closing=False)[0] == ReportSums.of(reports=60, values=oracle.sums(rows))
    for wrong in ({}, {1: of(1)}, {0: of(1)}):
        with pytest.raises(ValueError, match="not the sums of this oracle"):
            SumTally(oracle).restore(wrong)


def oracle_and_rows(size: int, reports: int) -> tuple[HadamardResponse, NDArray[np.uint8]]:
    oracle = HadamardResponse(size=size, epsilon=2.0)
    values = np.random.default_rng(1).integers(size, size=reports)
    return oracle, oracle.perturb(values, entropy=SeededEntropy(1))


@given(cuts=st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=8), small=st.booleans())
def test_a_tally_does_not_depend_on_how_its_reports_were_batched(cuts: list[tuple[int, bool]], small: bool) -> None:
    """Whatever was held back, the last call sends all; what is sent is that of all reports so far."""
    oracle, rows = oracle_and_rows(16, 60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sending, "SMALL_BYTES", 10**6 if small else 0)
        tally, first = SumTally(oracle), 0
        last: Statistic = of(*[0] * oracle.counters, reports=0)
        for end, taken in sorted(cuts):
            tally.update(rows[first:end])
            first = end
            if taken and (sent := tally.take_changed(closing=False)):
                assert sent[0] == ReportSums.of(reports=end, values=oracle.sums(rows[:end]))
                assert end > last.reports
                last = sent[0]
            elif taken:
                assert end == last.reports or (not small and end < 1.1 * last.reports)
        tally.update(rows[first:])
        closing = tally.take_changed(closing=True)
        assert closing.get(0, last) == ReportSums.of(reports=60, values=oracle.sums(rows))
        assert tally.take_changed(closing=True) == {}


def test_large_sums_are_sent_only_when_a_tenth_more_reports_have_come() -> None:
    """2^13 items have 2^14 counters, 128 KiB; 4,096 items do not reach what is always sent."""
    for size, sent_each_time in ((2**12, True), (2**13, False)):
        oracle, rows = oracle_and_rows(size, 1_110)
        tally = SumTally(oracle)
        tally.update(rows[:1_000])
        assert tally.take_changed(closing=False)[0].reports == 1_000
        tally.update(rows[1_000:1_099])
        assert bool(tally.take_changed(closing=False)) == sent_each_time
        tally.update(rows[1_099:1_100])
        assert tally.take_changed(closing=False)[0].reports == 1_100


def test_sums_do_not_change_after_they_are_taken() -> None:
    """Nothing that is still on its way to the broker is relied on."""
    oracle, rows = oracle_and_rows(16, 20)
    tally = SumTally(oracle)
    tally.update(rows[:10])
    taken = tally.take_changed(closing=False)[0]
    tally.update(rows[10:])
    assert taken == ReportSums.of(reports=10, values=oracle.sums(rows[:10]))


def test_the_load_of_a_pane_is_about_what_is_sent() -> None:
    oracle, rows = oracle_and_rows(1_000, 4_000)
    tally, sent = SumTally(oracle), 0
    for part in np.array_split(rows, 8):
        tally.update(part)
        sent += sum(
            sending.STATISTIC_BYTES + len(each.to_bytes()) for each in tally.take_changed(closing=False).values()
        )
    load = tally.load(reports=4_000, flushes=8)
    assert load.memory == 8 * oracle.counters
    assert sent <= load.sent <= 2 * sent, "sums are smaller than the number of reports"
