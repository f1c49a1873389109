"""What is seen around the rows of a batch, and how two users' batches differ in it."""

import dataclasses

import numpy as np
import pytest

from stream_ldp.client.audit.sending import around, broker_of, differences, pseudonyms, rows_of
from stream_ldp.kafka.memory import Sent
from stream_ldp.pipeline.wire import Batch, encode
from stream_ldp.records.layout import JointLayout
from tests.client.examples import collection_of

FORMATS = {collection_of().fingerprint: JointLayout(collection_of())}


def sent(*rows: int, number: int = 1, time_ms: int = 0) -> Sent:
    batch = Batch(
        fingerprint=collection_of().fingerprint,
        batch_id=bytes([number]) * 16,
        time_ms=time_ms,
        rows=np.array([[row] for row in rows], dtype=np.uint8),
    )
    return Sent(topic="reports", key=batch.batch_id, value=encode(batch), at_ms=5)


def test_batches_that_differ_in_rows_and_id_alone_look_the_same() -> None:
    assert list(differences(around([sent(1, 2)], FORMATS), around([sent(3, 4, number=7)], FORMATS))) == []


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ([sent(1, 2, time_ms=1)], "the event time"),
        ([sent(1)], "length"),
        ([dataclasses.replace(sent(1, 2), at_ms=6)], "the time of sending"),
        ([dataclasses.replace(sent(1, 2), key=b"k")], "key"),
        ([dataclasses.replace(sent(1, 2), others=(("partition", 3),))], "beside key and value"),
        ([sent(1, 2), sent(1, 2)], "1 batches are sent of one, and 2 of the other"),
    ],
)
def test_whatever_else_differs_is_named(other: list[Sent], what: str) -> None:
    (found,) = differences(around([sent(1, 2)], FORMATS), around(other, FORMATS))
    assert what in found


def test_rows_are_those_of_all_batches() -> None:
    assert rows_of([sent(1, 2), sent(3)], 1) == [b"\x01", b"\x02", b"\x03"]


def test_a_batch_that_workers_would_reject_is_an_error() -> None:
    with pytest.raises(ValueError, match="workers would reject"):
        around([dataclasses.replace(sent(1), value=b"short")], FORMATS)


@pytest.mark.parametrize(
    "option", [{"enable_idempotence": True}, {"transactional_id": "me"}, {"compression_type": "gzip"}]
)
def test_a_producer_that_brokers_can_recognise_is_found(option: dict[str, object]) -> None:
    broker = broker_of(collection_of())
    broker.producers.append({"enable_idempotence": False})
    assert list(pseudonyms(broker)) == []
    broker.producers.append(option)
    assert len(list(pseudonyms(broker))) == 1
