"""What is seen of clients: the form of records, the bytes of the system, and what is logged."""

import logging
import os

import pytest

from stream_ldp.audit.wire.batch import encoded
from stream_ldp.client.audit.seen import Log, SystemRandomness, frame_problems, reveals
from stream_ldp.kafka.memory import Sent

FINGERPRINT, ID = bytes(range(16)), bytes(range(16, 32))
HEADERS = [("content-type", b"application/vnd.sldp.batch;v=1")]
VALUE = encoded([b"ab", b"cd"], fingerprint=FINGERPRINT, batch_id=ID, time_ms=120_000)
OTHERS = {"headers": HEADERS, "timestamp_ms": 120_000}


def problems(*, value: bytes = VALUE, key: bytes = ID, at_ms: int = 120_999, **others: object) -> list[str]:
    given = tuple(sorted({**OTHERS, **others}.items()))
    sent = Sent(topic="reports", key=key, value=value, at_ms=at_ms, others=given)
    return list(frame_problems([sent], topic="reports", window={"size": "10s"}, fingerprints={FINGERPRINT}))


def test_a_record_as_the_specification_has_it_has_no_problem() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"value": VALUE[:-1]}, "rows"),
        ({"value": VALUE[:9] + b"\1" + VALUE[10:]}, "other bytes"),
        ({"key": bytes(16)}, "batch id"),
        ({"at_ms": 121_000}, "its step begins at 121000"),
        ({"timestamp_ms": 120_007}, "time of a record"),
        ({"headers": [*HEADERS, ("pid", b"7")]}, "headers"),
        ({"partition": 3}, "partition"),
    ],
    ids=str,
)
def test_a_record_of_another_form_is_reported(record: dict[str, object], problem: str) -> None:
    assert problem in problems(**record)[0]  # type: ignore[arg-type]


def test_the_bytes_of_the_system_are_kept_while_they_are_watched() -> None:
    system = SystemRandomness()
    with system.watched():
        drawn = os.urandom(8)
    os.urandom(8)
    assert (system.drawn, next(iter(system.words()))) == (drawn, int.from_bytes(drawn[:4], "little"))


def test_a_log_is_kept_at_every_level_and_shown_to_nobody(own_log: pytest.LogCaptureFixture) -> None:
    log, logger = Log(), logging.getLogger("stream_ldp.client")
    before = logging.getLogger("stream_ldp").level
    with log.kept():
        logger.debug("took %.3f s", 0.25)
    assert log.comparable() == ["stream_ldp.client: took # s (#,) "]
    assert own_log.messages == []
    assert logging.getLogger("stream_ldp").level == before


def test_a_secret_is_found_in_every_form() -> None:
    secret = bytes(range(200, 232))
    assert all(reveals(f"x {form} y", secret) for form in (secret.hex(), repr(secret), list(secret)))
    assert not reveals("nothing of it", secret)
