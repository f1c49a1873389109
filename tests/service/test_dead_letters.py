"""Tests that a dead letter shows what was refused, why and where."""

import hashlib
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.kafka.producer import Record
from stream_ldp.pipeline.rejection import Reason, Rejected
from stream_ldp.service.dead_letters import MAX_VALUE_BYTES, DeadLetter, Refused, dead_letter, refused_of
from tests.service.memory import COLLECTION


def test_a_dead_letter_holds_the_batch_as_it_came_with_the_reason_and_the_place() -> None:
    record = Refused(topic="reports", partition=3, offset=17, value=b"\x00batch")
    letter = dead_letter(record, Rejected(Reason.LATE, "its window had closed"), collection=COLLECTION, topic="dead")
    assert (letter.topic, letter.key, letter.value) == ("dead", b"reports-3-17", b"\x00batch")
    assert dict(letter.headers) == {
        "content-type": b"application/vnd.sldp.dead-letter;v=1",
        "reason": b"late",
        "detail": b"its window had closed",
        "source-topic": b"reports",
        "source-partition": b"3",
        "source-offset": b"17",
        "collection": b"survey",
        "fingerprint": COLLECTION.fingerprint.hex().encode(),
    }


def test_a_record_without_a_value_has_an_empty_letter() -> None:
    record = Refused(topic="reports", partition=0, offset=0, value=None)
    assert dead_letter(record, Rejected(Reason.LATE, ""), collection=COLLECTION, topic="dead").value == b""


def test_a_letter_is_read_as_it_was_written() -> None:
    refused = Refused(topic="reports", partition=3, offset=17, value=b"\x00batch")
    written = dead_letter(
        refused, Rejected(Reason.LATE, "its window had closed"), collection=COLLECTION, topic="dead"
    )
    letter = DeadLetter.of(SimpleNamespace(offset=9, timestamp=1_000, headers=written.headers, value=written.value))
    assert letter == DeadLetter(
        offset=9,
        time_ms=1_000,
        reason=Reason.LATE,
        detail="its window had closed",
        topic="reports",
        source_partition=3,
        source_offset=17,
        count=1,
        value=b"\x00batch",
        value_bytes=6,
    )
    assert letter.places == {("reports", 3, 17)}


def read(record: Record) -> DeadLetter:
    return DeadLetter.of(SimpleNamespace(offset=9, timestamp=1_000, headers=record.headers, value=record.value))


def test_a_value_that_is_too_long_for_a_letter_is_reported_by_its_length_and_its_digest() -> None:
    for length, carried in ((MAX_VALUE_BYTES, True), (MAX_VALUE_BYTES + 1, False)):
        refused = Refused(topic="reports", partition=3, offset=17, value=bytes(length))
        written = dead_letter(refused, Rejected(Reason.BAD_MAGIC, ""), collection=COLLECTION, topic="dead")
        letter = read(written)
        assert letter.value == (bytes(length) if carried else None)
        assert letter.value_bytes == length
        digest = hashlib.sha256(bytes(length)).hexdigest().encode()
        assert dict(written.headers).get("value-sha256") == (None if carried else digest)


def rejected(*reasons: Reason) -> list[tuple[int, Rejected]]:
    return [(index, Rejected(each, str(index))) for index, each in enumerate(reasons)]


def runs(
    values: Sequence[bytes | None], rejections: Sequence[tuple[int, Rejected]], *, gap_before: int | None = None
) -> list[tuple[int, int, str]]:
    """Return offset, count and detail of what shares a letter, of records from offset 10 on."""
    offsets = [10 + place + (gap_before is not None and place >= gap_before) for place in range(len(values))]
    found = list(refused_of("reports", 3, offsets, values, rejections))
    assert all(each.value == values[offsets.index(each.offset)] for each, _ in found)
    return [(each.offset, each.count, why.detail) for each, why in found]


def test_records_share_a_letter_that_follow_each_other_and_are_refused_alike() -> None:
    short, magic, late = Reason.TOO_SHORT, Reason.BAD_MAGIC, Reason.LATE
    junk = [b"a", b"b", b"", b"c", b"d"]
    assert runs(junk, rejected(short, short, short, magic, magic)) == [(10, 3, "0"), (13, 2, "3")]
    assert runs(junk, rejected(short, magic, short, magic, short)) == [(10 + n, 1, str(n)) for n in range(5)]
    # One that is counted, or not there, ends a run.
    assert runs(junk, [each for each in rejected(*[short] * 5) if each[0] != 2]) == [(10, 2, "0"), (13, 2, "3")]
    assert runs(junk, rejected(*[short] * 5), gap_before=2) == [(10, 2, "0"), (13, 3, "2")]
    # What may count later is kept, so that it can be sent again.
    assert runs([b"a", b"a", b"b", b"b", None], rejected(*[late] * 5)) == [(10, 2, "0"), (12, 2, "2"), (14, 1, "4")]
    assert runs([], []) == []


@given(
    reasons=st.lists(st.sampled_from([Reason.TOO_SHORT, Reason.LATE]), max_size=30),
    values=st.lists(st.sampled_from([b"", b"a", b"b"]), min_size=30, max_size=30),
    counted=st.sets(st.integers(0, 29)),
)
def test_every_refused_record_has_one_letter(reasons: list[Reason], values: list[bytes], counted: set[int]) -> None:
    rejections = [each for each in rejected(*reasons) if each[0] not in counted]
    letters = [
        read(dead_letter(each, why, collection=COLLECTION, topic="dead"))
        for each, why in refused_of("reports", 3, range(30), values, rejections)
    ]
    found = {place[-1]: letter for letter in letters for place in letter.places}
    assert sum(each.count for each in letters) == len(found)
    assert {offset: letter.reason for offset, letter in found.items()} == {i: why.reason for i, why in rejections}
    assert all(found[i].value == values[i] for i, why in rejections if why.reason.curable)


@pytest.mark.parametrize("count", [b"0", b"-1", b"99999999", b"many"])
def test_a_letter_of_a_forged_number_of_records_is_none(count: bytes) -> None:
    refused = Refused(topic="reports", partition=3, offset=17, value=b"", count=2)
    written = dead_letter(refused, Rejected(Reason.TOO_SHORT, ""), collection=COLLECTION, topic="dead")
    headers = [(name, count if name == "count" else value) for name, value in written.headers]
    with pytest.raises(ValueError, match=r"records|invalid literal"):
        DeadLetter.of(SimpleNamespace(offset=9, timestamp=1_000, headers=headers, value=b""))


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("reason", b"late"),),
        (("reason", b"\xff"),),
        (("reason", b"of a later release"), ("detail", b"")),
        (("reason", None),),
    ],
    ids=["none", "not all", "not text", "unknown", "without a value"],
)
def test_a_record_that_is_not_a_letter_is_refused(headers: tuple[tuple[str, bytes | None], ...]) -> None:
    with pytest.raises(ValueError, match=r"header|codec|Reason"):
        DeadLetter.of(SimpleNamespace(offset=9, timestamp=1_000, headers=headers, value=b""))
