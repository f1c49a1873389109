"""Tests that record batches are parsed as others write them, and that damage is told and stays where it is."""

import itertools
import struct
from collections.abc import Callable, Sequence

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.kafka.record_batch import MAX_HEADERS, StoredRecord, parse, split

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}

#: Key, value and headers of some records.
RECORDS: tuple[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]], ...] = (
    (b"key", b"value" * 100, [("name", b"text"), ("other", None)]),
    (None, None, []),
    (b"", b"", [("naïve", b"")]),
)


def batch(
    *,
    codec: str = "none",
    base: int = 0,
    producer: int | None = None,
    records: Sequence[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]] = RECORDS,
    offsets: Sequence[int] | None = None,
    places: int | None = None,
) -> bytes:
    """Write records as aiokafka does, in a transaction of a producer if one is given.

    offsets: what the records say of theirs, relative to the base; consecutive by default.
    places: how many offsets the batch has, if it is not as many as records.
    """
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=CODECS[codec],
        is_transactional=int(producer is not None),
        producer_id=-1 if producer is None else producer,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=2**20,
    )
    for number, (key, value, headers) in enumerate(records):
        builder.append(number if offsets is None else offsets[number], 1_000 + number, key, value, headers)
    data = struct.pack(">q", base) + bytes(builder.build())[8:]
    if offsets is None and places is None:
        return data
    last = (len(records) if places is None else places) - 1
    return changed(data, lambda each: each.__setitem__(slice(23, 27), struct.pack(">i", last)))


def changed(data: bytes, change: Callable[[bytearray], object]) -> bytes:
    """Change a batch, and give it the checksum that it then has."""
    changing = bytearray(data)
    change(changing)
    changing[17:21] = calc_crc32c(bytes(changing[21:])).to_bytes(4, "big")
    return bytes(changing)


def read(
    data: bytes, *, start: int = 0, end: int = 1_000, aborted: Sequence[tuple[int, int]] = ()
) -> list[StoredRecord]:
    return list(parse(split(data), start=start, end=end, aborted=aborted))


@pytest.mark.parametrize("codec", CODECS)
def test_records_are_read_as_they_were_written_whatever_the_codec(codec: str) -> None:
    records = read(batch(codec=codec, base=40))
    assert [(each.key, each.value, list(each.headers)) for each in records] == list(RECORDS)
    assert [(each.offset, each.timestamp_ms) for each in records] == [(40, 1_000), (41, 1_001), (42, 1_002)]
    assert all(each.fault is None for each in records)


def test_the_smallest_batches_are_read_one_without_records_too() -> None:
    data = batch(records=RECORDS[1:2]) + batch(base=1, records=()) + batch(base=1, records=RECORDS[1:2])
    assert [(each.offset, each.key, each.value, each.fault) for each in read(data)] == [
        (0, None, None, None),
        (1, None, None, None),
    ]


def test_several_batches_follow_one_another_and_one_that_is_cut_off_waits_for_the_next_fetch() -> None:
    data = batch() + batch(base=3) + batch(base=6)[:-1]
    assert [each.offset for each in read(data)] == [0, 1, 2, 3, 4, 5]
    assert [each.offset for each in read(data, start=4)] == [4, 5]
    assert read(b"") == []


def test_times_of_the_broker_replace_those_of_the_producer_where_the_topic_says_so() -> None:
    def appended(data: bytearray) -> None:
        data[22] |= 0x08
        data[35:43] = (9_000).to_bytes(8, "big")

    assert {each.timestamp_ms for each in read(changed(batch(), appended))} == {9_000}


def test_batches_that_control_transactions_hold_no_records() -> None:
    def control(data: bytearray) -> None:
        data[22] |= 0x20

    assert read(changed(batch(), control)) == []


def test_records_of_aborted_transactions_are_left_out() -> None:
    def end(data: bytearray) -> None:
        data[22] |= 0x20

    log = [
        batch(base=0, producer=1),
        batch(base=3, producer=2),
        batch(base=6),
        changed(batch(base=9, producer=1), end),
        batch(base=12, producer=1),
    ]
    assert [each.offset for each in read(b"".join(log))] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14]
    assert [each.offset for each in read(b"".join(log), aborted=[(1, 0)])] == [3, 4, 5, 6, 7, 8, 12, 13, 14]
    assert [each.offset for each in read(b"".join(log), aborted=[(1, 12), (2, 3)])] == [0, 1, 2, 6, 7, 8]


def test_a_header_name_that_is_not_utf8_is_the_fault_of_its_record_alone() -> None:
    def spoil(data: bytearray) -> None:
        place = data.index(b"name")
        data[place : place + 4] = b"\xff\xfe\xfd\xfc"

    first, *others = read(changed(batch(), spoil))
    assert first.fault == "the name of a header is not UTF-8"
    assert (first.key, first.value) == RECORDS[0][:2]
    assert [each.fault for each in others] == [None, None]


def test_headers_without_end_are_the_fault_of_their_records_and_the_others_are_read() -> None:
    many: list[tuple[str, bytes | None]] = [("", None)] * (MAX_HEADERS // 2)
    few: list[list[tuple[str, bytes | None]]] = [[], [("name", b"")]]
    records = [(b"key", b"value", headers) for headers in (many, many, many, *few)]
    found = read(batch(records=records))
    fault = "the batch has more than 50,000 headers up to this record"
    assert [each.fault for each in found] == [None, None, fault, None, fault]
    assert (found[2].key, found[2].value, len(found[2].headers)) == (b"key", b"value", 1)


def test_a_damaged_batch_is_one_fault_that_names_its_offsets_and_the_next_batch_is_read() -> None:
    damaged = bytearray(batch(base=40))
    damaged[-1] ^= 1
    fault, *others = read(bytes(damaged) + batch(base=43), start=41)
    assert fault.offset == 42
    assert fault.fault == "offsets 40 to 42: the batch is damaged, its checksum does not match"
    assert [each.offset for each in others] == [43, 44, 45]


#: Offsets that no broker gives to four records, and how many of them it may have given.
FOREIGN = {
    "behind": ([0, 1, 2, 4], 3),
    "far behind": ([0, 1, 2, 2**31 - 1], 3),
    "a hole": ([0, 2, 3, 3], 1),
    "before": ([-1, 0, 1, 2], 0),
    "descending": ([3, 2, 1, 0], 0),
    "equal": ([0, 1, 1, 2], 2),
}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("foreign", FOREIGN)
def test_offsets_that_no_broker_gave_are_one_fault_and_the_next_batch_is_read(codec: str, foreign: str) -> None:
    offsets, right = FOREIGN[foreign]
    data = batch(codec=codec, base=40, records=RECORDS[:1] * 4, offsets=offsets) + batch(base=44)
    *before, fault, first, second, third = read(data)
    assert [each.offset for each in before] == list(range(40, 40 + right))
    assert fault.offset == 43
    assert fault.fault == (
        f"offsets 40 to 43: the batch has offsets that no broker gave, from record {right} of 4 on"
    )
    assert [each.offset for each in (first, second, third)] == [44, 45, 46]


def test_compaction_may_leave_any_of_the_offsets_and_none_beyond_them() -> None:
    for offsets in itertools.combinations(range(-1, 7), 3):
        records = read(batch(base=40, offsets=offsets, places=6))
        if offsets[0] < 0 or offsets[2] > 5:
            assert records[-1].fault is not None
        else:
            assert [(each.offset - 40, each.fault) for each in records] == [(each, None) for each in offsets]


def test_times_without_bounds_stay_times_of_64_bits() -> None:
    data = batch(records=RECORDS[1:2])
    (late,) = read(changed(data, lambda each: each.__setitem__(slice(27, 35), struct.pack(">q", 2**63 - 1))))
    assert late.timestamp_ms == 2**63 - 1
    whole = bytearray(data)
    whole[27:35] = struct.pack(">q", 2**63 - 1)
    whole[63:64] = b"\x02"  # one millisecond later
    (wrapped,) = read(changed(bytes(whole), lambda each: None))
    assert wrapped.timestamp_ms == -(2**63)


def test_damage_reaches_no_further_than_the_log() -> None:
    damaged = bytearray(batch(base=40))
    damaged[23:27] = b"\x7f\xff\xff\xff"  # the offset of the last record
    (fault,) = read(bytes(damaged), end=43)
    assert fault.offset == 42


def test_a_codec_that_kafka_does_not_have_and_data_that_it_did_not_write_are_reported() -> None:
    def codec(number: int) -> Callable[[bytearray], None]:
        def set_(data: bytearray) -> None:
            data[22] |= number

        return set_

    (unknown,) = read(changed(batch(), codec(5)))
    assert unknown.fault == "offsets 0 to 2: the batch is compressed with codec 5, which Kafka does not have"
    for name in ("gzip", "snappy", "lz4", "zstd"):
        (wrong,) = read(changed(batch(), codec(CODECS[name])))
        assert str(wrong.fault).startswith("offsets 0 to 2: the batch cannot be decompressed")


def test_a_format_that_is_no_longer_written_is_reported() -> None:
    old = bytearray(batch())
    old[16] = 1
    (fault,) = read(bytes(old))
    assert fault.fault == "offsets 0 to 2: the batch has version 1 of the record format, readable is 2"


@given(place=st.integers(min_value=61, max_value=len(batch()) - 1), byte=st.integers(min_value=0, max_value=255))
def test_whatever_a_record_holds_nothing_is_raised_and_no_offset_is_passed_over_in_silence(
    place: int, byte: int
) -> None:
    def spoil(data: bytearray) -> None:
        data[place] = byte

    records = read(changed(batch(base=40), spoil))
    offsets = [each.offset for each in records]
    assert all(40 <= offset <= 42 for offset in offsets)
    assert 42 in offsets or any(each.fault for each in records)
