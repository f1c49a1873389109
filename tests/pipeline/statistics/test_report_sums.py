"""Laws of the statistic of frequency oracles: merging and bytes."""

import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stream_ldp.kafka.topics import MAX_RECORD_BYTES
from stream_ldp.pipeline.statistics import ReportSums

#: On both sides of every width that a value can be written in.
EDGES = [0, 1, -1, *(sign * (2**bits - less) for bits in (7, 15, 31) for less in (0, 1) for sign in (1, -1)), 2**62]
VALUES = st.one_of(st.just(0), st.sampled_from(EDGES), st.integers(-(2**62), 2**62))
HEAD_BYTES = 17


@st.composite
def sums(draw: st.DrawFn, *, parts: int = 1) -> list[ReportSums]:
    counters = draw(st.integers(0, 40))
    return [
        ReportSums.of(
            reports=draw(st.integers(0, 2**62)),
            values=np.array(draw(st.lists(VALUES, min_size=counters, max_size=counters)), dtype=np.int64) // parts,
        )
        for _ in range(parts)
    ]


def of(*values: int, reports: int = 1) -> ReportSums:
    return ReportSums.of(reports=reports, values=np.array(values, dtype=np.int64))


@given(sums(parts=3))
def test_merging_does_not_depend_on_the_order(parts: list[ReportSums]) -> None:
    a, b, c = parts
    counters = len(a.values)
    total = ReportSums.sum([a, b, c], counters=counters)
    assert total == ReportSums.sum([c, a, b], counters=counters)
    assert total == ReportSums.sum([ReportSums.sum([b, c], counters=counters), a], counters=counters)
    assert total.values.tolist() == [
        sum(each) for each in zip(*(part.values.tolist() for part in parts), strict=True)
    ]
    assert total.reports == a.reports + b.reports + c.reports
    assert ReportSums.sum([a], counters=counters) == a
    assert ReportSums.sum([], counters=4) == of(0, 0, 0, 0, reports=0)


@pytest.mark.parametrize("other", [(1, 2), (1, 2, 3, 4)])
def test_sums_of_different_numbers_of_counters_are_not_added(other: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=f"sums of {len(other)} counters cannot be added to sums of 3"):
        ReportSums.sum([of(1, 2, 3), of(*other)], counters=3)


@given(sums())
@example([of()])
@example([of(0, 0, 0, reports=0)])
@example([of(-(2**63 - 1), 2**63 - 1)])
def test_sums_are_read_back_unchanged_from_their_bytes(parts: list[ReportSums]) -> None:
    (given_sums,) = parts
    read = ReportSums.from_bytes(given_sums.to_bytes())
    assert read == given_sums
    assert read.values.dtype == np.int64
    assert read.to_bytes() == given_sums.to_bytes()


@pytest.mark.parametrize(
    ("largest", "width"), [(127, 1), (-127, 1), (128, 2), (2**15 - 1, 2), (2**15, 4), (-(2**31) + 1, 4), (2**31, 8)]
)
def test_values_take_no_more_bytes_than_the_largest_needs(largest: int, width: int) -> None:
    assert len(of(largest, *[1] * 9).to_bytes()) == HEAD_BYTES + 10 * width


def test_zeros_are_left_out_where_that_takes_less_room() -> None:
    """20 counters of one byte take as much as 4 of them with their places."""
    assert len(of(*[1] * 3, *[0] * 17).to_bytes()) == HEAD_BYTES + 3 * 5
    assert len(of(*[1] * 4, *[0] * 16).to_bytes()) == HEAD_BYTES + 20
    assert len(of(*[1] * 5, *[0] * 15).to_bytes()) == HEAD_BYTES + 20


@given(sums(), st.integers(1, 40))
def test_bytes_that_are_cut_off_are_refused(parts: list[ReportSums], missing: int) -> None:
    data = parts[0].to_bytes()
    with pytest.raises((ValueError, struct.error)):
        ReportSums.from_bytes(data[: max(0, len(data) - missing)])


@given(st.integers(0, 60))
def test_surplus_bytes_are_refused(surplus: int) -> None:
    for data in (of(1, 2, 3).to_bytes(), of(1, *[0] * 30).to_bytes()):
        if surplus:
            with pytest.raises(ValueError, match=r"entries are announced|buffer size"):
                ReportSums.from_bytes(data + bytes(surplus))


def test_the_sums_of_the_largest_domain_fit_a_record() -> None:
    """This holds for up to two billion reports, even if all of them drew the same row."""
    full = ReportSums.of(reports=2**31 - 1, values=np.full(2 * 2**20, 2**31 - 1, dtype=np.int64))
    assert len(full.to_bytes()) < MAX_RECORD_BYTES


def test_few_sums_of_a_large_domain_take_little_memory_also_once_they_are_read() -> None:
    values = np.zeros(2**20, dtype=np.int64)
    values[[7, 2**19]] = 1, -3
    few = ReportSums.of(reports=2, values=values)
    for each in (few, ReportSums.from_bytes(few.to_bytes())):
        assert each.nbytes == 10
        assert np.array_equal(each.values, values)


@pytest.mark.parametrize("places", [[3, 2], [2, 2], [2, 40]])
def test_places_that_no_writer_gives_are_refused(places: list[int]) -> None:
    data = bytearray(of(0, 0, 5, 6, *[0] * 36).to_bytes())
    data[HEAD_BYTES : HEAD_BYTES + 8] = struct.pack("<2I", *places)
    with pytest.raises(ValueError, match="do not ascend"):
        ReportSums.from_bytes(bytes(data))
