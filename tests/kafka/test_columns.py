"""Tests that columns have the records that aiokafka parses, whatever was stored, and fail where it fails."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer import fetcher as fetcher_module
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.memory_records import MemoryRecords
from hypothesis import example, given
from hypothesis import strategies as st

from stream_ldp.kafka import columns, fetching
from stream_ldp.kafka.columns import LEAST_RECORDS, Columns, runs_of
from stream_ldp.kafka.fetching import mend_aiokafka
from stream_ldp.kafka.record_batch import parse
from stream_ldp.pipeline.wire import EqualRecords
from tests.kafka.test_record_batch import CODECS, batch, changed

mend_aiokafka()

PARTITION = TopicPartition("care.reports", 0)

Fields = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]


class Drained(NamedTuple):
    """All that comes of a fetch: offset, time and value of each record, where it goes on, and whether it fails."""

    records: list[tuple[int, int, bytes | None]]
    sizes: list[int]
    next_offset: int
    failed: bool


def drained(data: bytes, *, in_columns: bool, most: int | None, start: int = 0, **options: Any) -> Drained:
    fetched = fetching._Fetched(data)
    aborted, isolation = options.get("aborted"), 1 if options.get("aborted") else 0
    records = fetching._Records(PARTITION, fetched, aborted, start, None, None, True, isolation)
    if in_columns:
        records.come_in_columns()
    found: list[tuple[int, int, bytes | None]] = []
    sizes = []
    while not (records.ended or records.failed):
        some = records.take(most)
        sizes.append(len(some))
        if isinstance(some, Columns):
            found += zip(some.offsets.tolist(), some.timestamps_ms.tolist(), some.values, strict=True)
        else:
            found += [(each.offset, each.timestamp, each.value) for each in some]
        if found:
            assert records.next_fetch_offset >= found[-1][0] + 1
    return Drained(found, sizes, records.next_fetch_offset, records.failed)


def alike(number: int, *, length: int = 20, header: bytes = b"batch") -> Fields:
    return number.to_bytes(16, "big"), bytes([number % 256]) * length, [("content-type", header)]


#: Records of which many have one form: by turns a long run, some with other lengths, and some that have no value.
FIELDS = st.one_of(
    st.builds(
        lambda count, length: [alike(number, length=length) for number in range(count)],
        st.integers(1, 300),
        st.sampled_from([0, 1, 63, 64, 200]),
    ),
    st.lists(st.builds(alike, st.just(1), length=st.integers(0, 2)), min_size=1, max_size=8),
    st.just([(None, None, []), (b"", b"", [("naïve", None)])]),
)


@given(
    stored=st.lists(
        st.tuples(st.lists(FIELDS, min_size=1, max_size=3), st.sampled_from(sorted(CODECS)), st.integers(0, 3)),
        min_size=1,
        max_size=3,
    ),
    most=st.sampled_from([None, 1, 100, 150]),
    start=st.integers(0, 400),
)
def test_columns_have_what_aiokafka_parses(
    stored: list[tuple[list[list[Fields]], str, int]], most: int | None, start: int
) -> None:
    data, base = b"", 0
    for parts, codec, gap in stored:
        records = [each for part in parts for each in part]
        data += batch(codec=codec, base=base, records=records)
        base += len(records) + gap
    assert drained(data, in_columns=True, most=most, start=start) == drained(
        data, in_columns=False, most=most, start=start
    )


@given(
    steps=st.sampled_from([1, LEAST_RECORDS]).flatmap(
        lambda least: st.lists(st.sampled_from([0, 0, 0, 1]), min_size=least, max_size=least + 5)
    ),
    lie=st.none() | st.tuples(st.integers(0, LEAST_RECORDS - 1), st.sampled_from([-(2**30), -2, -1, 1, 2, 2**30])),
    spare=st.integers(-1, 2),
    start=st.integers(0, 300),
)
def test_columns_end_where_a_record_has_an_offset_that_no_broker_gave(
    steps: list[int], lie: tuple[int, int] | None, spare: int, start: int
) -> None:
    offsets = [number + missing for number, missing in enumerate(itertools.accumulate(steps))]
    if lie is not None:
        offsets[lie[0] % len(steps)] += lie[1]
    places = len(steps) + sum(steps) + spare
    # A broker sends no batch that ends before.
    start = min(start, 7 + max(places - 1, 0))
    records = [alike(number) for number in range(len(steps))]
    stored = batch(base=7, records=records, offsets=offsets, places=places)
    found = drained(stored, in_columns=True, most=100, start=start)
    assert found == drained(stored, in_columns=False, most=100, start=start)
    stops = list(parse([stored], start=start, end=10_000))
    assert found.failed == (bool(stops) and stops[-1].fault is not None)
    assert [offset for offset, _, _ in found.records] == [each.offset for each in stops if each.fault is None]
    assert found.failed or offsets == sorted(set(offsets))
    assert found.next_offset <= max(start, 7 + places)


@pytest.mark.parametrize("codec", CODECS)
def test_records_of_one_form_are_read_without_an_object_for_each(codec: str) -> None:
    stored = batch(codec=codec, base=7, records=[alike(number) for number in range(10_000)])
    runs = runs_of(memoryview(stored))
    assert runs is not None
    assert [len(run) for run in runs] == [64, 8_128, 10_000 - 8_192], "where numbers and times take a byte more"
    found = Columns.joined(runs)
    assert isinstance(found.values, EqualRecords)
    assert found.offsets.tolist() == list(range(7, 10_007))
    assert found.values[300] == bytes([300 % 256]) * 20
    assert [each.headers for each in found.headed] == [(("content-type", b"batch"),)] * 3


@pytest.mark.parametrize(
    "odd",
    [
        alike(3, length=21),
        alike(3, header=b"other"),
        (b"key", bytes(33), [("content-type", b"batch")]),
        (None, None, []),
    ],
    ids=["value", "header", "key", "none"],
)
def test_records_of_other_forms_are_those_of_aiokafka(odd: Fields) -> None:
    records = [alike(number) for number in range(LEAST_RECORDS)] + [odd] * 12 + [alike(1), odd] * 100
    stored = batch(records=records)
    assert runs_of(memoryview(stored)) is None
    found = drained(stored, in_columns=True, most=100)
    assert found == drained(stored, in_columns=False, most=100)
    assert found.sizes[:3] == [100] * 3


def test_records_of_many_headers_are_left_to_aiokafka_which_is_faster() -> None:
    stored = batch(records=[(b"key", b"value", [("h", None)] * 17)] * LEAST_RECORDS)
    assert runs_of(memoryview(stored)) is None, "a batch of 700 bytes may expand to millions of them"
    assert drained(stored, in_columns=True, most=None) == drained(stored, in_columns=False, most=None)


@example(place=62, byte=128, codec="none")  # attributes that go on in the next byte
@given(place=st.integers(61, 61 + 200 * 60 - 1), byte=st.integers(0, 255), codec=st.sampled_from(["none", "zstd"]))
def test_damage_fails_where_aiokafka_fails(place: int, byte: int, codec: str) -> None:
    whole = batch(codec=codec, records=[alike(number) for number in range(200)])
    place = min(place, len(whole) - 1)

    def spoil(data: bytearray) -> None:
        data[place] = byte

    data = batch(base=0, records=[alike(0)]) + changed(whole, spoil)
    assert drained(data, in_columns=True, most=1_000) == drained(data, in_columns=False, most=1_000)


def test_checksums_aborted_transactions_and_append_times_are_decided_by_aiokafka() -> None:
    records = [alike(number) for number in range(200)]
    torn = bytearray(batch(base=400, records=records))
    torn[-1] ^= 1
    appended = changed(
        batch(base=200, records=records),
        lambda data: data.__setitem__(slice(21, 23), (int.from_bytes(data[21:23], "big") | 8).to_bytes(2, "big")),
    )
    data = batch(base=0, producer=5, records=records) + appended + bytes(torn)
    options: dict[str, Any] = {"most": None, "aborted": [(5, 0)]}
    found = drained(data, in_columns=True, **options)
    assert found == drained(data, in_columns=False, **options)
    assert [offset for offset, _, _ in found.records] == list(range(200, 400))
    assert {time_ms for _, time_ms, _ in found.records} == {1_199}
    assert found.failed


def test_marks_of_transactions_are_read_by_aiokafka_however_long_they_are() -> None:
    marks = changed(
        batch(producer=5, records=[(b"\0\0\0\0", b"", [])] * LEAST_RECORDS),
        lambda data: data.__setitem__(22, data[22] | 0x20),
    )
    data = marks + batch(base=LEAST_RECORDS, producer=5, records=[alike(1)] * LEAST_RECORDS)
    options: dict[str, Any] = {"most": None, "aborted": [(5, 0)]}
    found = drained(data, in_columns=True, **options)
    assert found == drained(data, in_columns=False, **options)
    assert [offset for offset, _, _ in found.records] == list(range(LEAST_RECORDS, 2 * LEAST_RECORDS))


def test_the_parts_of_aiokafka_that_give_columns_are_where_they_were() -> None:
    assert fetcher_module.MemoryRecords is fetching._Fetched
    assert fetcher_module.PartitionRecords is fetching._Records
    parent = fetching._Records.__mro__[1]
    assert {"_unpack_records", "_consumer_record", "take"} - set(vars(parent)) == {"take"}
    for name in ("base_offset", "next_offset", "producer_id", "is_control_batch", "is_transactional", "validate_crc"):
        assert hasattr(DefaultRecordBatch, name), name
    assert {"has_next", "next_batch", "size_in_bytes"} <= set(dir(MemoryRecords))
    assert columns.LEAST_RECORDS > 1, "batches of a mark are aiokafka's"
