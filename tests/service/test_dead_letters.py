"""Tests that a dead letter shows what was refused, why and where."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stream_ldp.pipeline.rejection import Reason, Rejected
from stream_ldp.service.dead_letters import DeadLetter, Refused, dead_letter
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
        value=b"\x00batch",
    )
    assert letter.place == ("reports", 3, 17)


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
