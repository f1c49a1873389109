"""Tests of `stream-ldp dead-letters`: what was refused is shown, and sent again exactly as it was."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from stream_ldp.client.reporter import now_ms
from stream_ldp.collection import Collection
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.producer import Producer
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import load_collection
from stream_ldp.mechanisms import OSEntropy
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.rejection import Reason, Rejected
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.service.dead_letters import Refused, dead_letter
from tests.cli.on_kafka import run
from tests.service.harness import JointDeployment, batches
from tests.service.test_preflight import CARE

PARTITION = 2


@pytest.fixture
def collection(tmp_path: Path, settings: Settings) -> Collection:
    """Create the topics of a collection, whose file is care.yaml."""
    file = tmp_path / "care.yaml"
    file.write_text(CARE)
    assert run(settings, "topics", "create", file).exit_code == 0
    return load_collection(file)


def batch(collection: Collection, *, time_ms: int | None = None, fingerprint: bytes | None = None) -> bytes:
    return wire.encode(
        wire.Batch(
            fingerprint=fingerprint or collection.fingerprint,
            batch_id=OSEntropy().words(4).tobytes(),
            time_ms=now_ms() if time_ms is None else time_ms,
            rows=np.zeros((3, 1), dtype=np.uint8),
        )
    )


async def write_letters(
    settings: Settings, collection: Collection, *letters: tuple[Reason, bytes], partition: int = PARTITION
) -> None:
    """Write a letter for each, of the offsets 0, 1, 2, ... of a partition of the reports topic."""
    names = settings.topic_names
    producer = Producer(settings)
    await producer.start()
    for offset, (reason, value) in enumerate(letters):
        record = Refused(topic=names.reports(collection.name), partition=partition, offset=offset, value=value)
        letter = dead_letter(
            record, Rejected(reason, "the detail"), collection=collection, topic=names.dead_letters(collection.name)
        )
        await producer.publish([letter])
    await producer.stop()


async def sent_again(settings: Settings, collection: Collection) -> list[bytes]:
    """Return the values on PARTITION, where all of the topic must be."""
    consumer = AIOKafkaConsumer(**settings.client_options())
    await consumer.start()
    try:
        partitions = [TopicPartition(settings.topic_names.reports(collection.name), number) for number in range(4)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends = await consumer.end_offsets(partitions)
        found: list[bytes] = []
        while len(found) < sum(ends.values()):
            for partition, records in (await consumer.getmany(timeout_ms=200)).items():
                assert partition.partition == PARTITION
                assert all(each.key == each.value[32:48] for each in records)
                found += [each.value for each in records]
        return found
    finally:
        await consumer.stop()


async def close_windows_before(settings: Settings, collection: Collection, time_ms: int) -> None:
    """Commit, as a worker does, that the windows of PARTITION before this time have closed."""
    checkpoint = Checkpoint(generation=1, offset=0, position=0, watermark_ms=time_ms, watermark_generation=1)
    partition = TopicPartition(settings.topic_names.reports(collection.name), PARTITION)
    consumer = AIOKafkaConsumer(
        **settings.client_options(), group_id=settings.group_names.ingest, enable_auto_commit=False
    )
    await consumer.start()
    try:
        consumer.assign([partition])
        await consumer.commit({partition: OffsetAndMetadata(0, checkpoint.metadata())})
    finally:
        await consumer.stop()


def test_letters_are_counted_by_reason_and_the_newest_are_shown_with_their_place(
    settings: Settings, collection: Collection, tmp_path: Path
) -> None:
    file = tmp_path / "care.yaml"
    assert run(settings, "dead-letters", "list", file).stdout == "care: 0 refused records\n"
    junk = [(Reason.TOO_SHORT, b"junk")] * 5
    asyncio.run(write_letters(settings, collection, *junk, (Reason.LATE, batch(collection))))
    # A worker that takes over may write a letter once more.
    asyncio.run(write_letters(settings, collection, *junk[:2]))
    shown = run(settings, "dead-letters", "list", file, "--newest", "2")
    head, *lines = shown.stdout.splitlines()
    assert head == "care: 6 refused records: 5 too_short, 1 late"
    reports = settings.topic_names.reports("care")
    assert [line.split("  ")[1:] for line in lines] == [
        ["too_short", f"{reports} partition {PARTITION} offset 4", "the detail"],
        ["late", f"{reports} partition {PARTITION} offset 5", "the detail"],
    ]
    (line,) = run(settings, "dead-letters", "list", file, "--reason", "late", "--json").stdout.splitlines()
    letter = json.loads(line)
    assert (letter["reason"], letter["source_partition"], letter["source_offset"]) == ("late", PARTITION, 5)
    assert letter["fingerprint"] == collection.fingerprint.hex()
    assert "junk" not in shown.stdout


def test_the_batches_of_a_reason_are_sent_again_as_the_same_bytes_to_the_same_partition(
    settings: Settings, collection: Collection, tmp_path: Path
) -> None:
    file = tmp_path / "care.yaml"
    mended = [batch(collection) for _ in range(3)]
    others = [(Reason.LATE, batch(collection)), (Reason.BAD_CHECKSUM, batch(collection))]
    letters = [(Reason.FUTURE_TIME, each) for each in mended]
    for partition in (4, -1):  # which the topic does not have
        asyncio.run(write_letters(settings, collection, letters[0], partition=partition))
    asyncio.run(write_letters(settings, collection, *letters, *others))
    words = ("dead-letters", "replay", file, "--reason", "future_time")
    topic = settings.topic_names.reports("care")
    foreign = "2 not sent: not reports\n"
    would = f"3 batches of 9 reports would be sent again to {topic}\n"
    assert run(settings, *words, "--dry-run").stdout == would + foreign
    assert asyncio.run(sent_again(settings, collection)) == []
    assert run(settings, *words).stdout == f"3 batches of 9 reports sent again to {topic}\n{foreign}"
    assert asyncio.run(sent_again(settings, collection)) == mended


def test_what_cannot_count_any_more_is_not_sent_unless_asked_for(
    settings: Settings, collection: Collection, tmp_path: Path
) -> None:
    file, now = tmp_path / "care.yaml", now_ms()
    old = batch(collection, time_ms=now - 3_600_000)
    letters = [old, batch(collection, fingerprint=bytes(16)), batch(collection, time_ms=now + 3_600_000), b"junk"]
    letters += [batch(collection, time_ms=now - 2 * 86_400_000), batch(collection)]
    asyncio.run(write_letters(settings, collection, *((Reason.LATE, each) for each in letters)))
    asyncio.run(close_windows_before(settings, collection, now - 1_800_000))
    replayed = run(settings, "dead-letters", "replay", file, "--reason", "late")
    assert sorted(replayed.stdout.splitlines()) == [
        "1 batch of 3 reports sent again to " + settings.topic_names.reports("care"),
        "1 not sent: late: their windows have closed",
        "1 not sent: made with another collection file",
        "1 not sent: not batches of reports",
        "1 not sent: older than max_age",
        "1 not sent: too far in the future",
    ]
    assert asyncio.run(sent_again(settings, collection)) == letters[-1:]
    replayed = run(settings, "dead-letters", "replay", file, "--reason", "late", "--hopeless", "--dry-run")
    assert replayed.stdout.startswith("6 batches of 15 reports would be sent")


def test_a_reason_that_nothing_can_mend_is_refused(
    settings: Settings, collection: Collection, tmp_path: Path
) -> None:
    refused = run(settings, "dead-letters", "replay", tmp_path / "care.yaml", "--reason", "bad_checksum")
    assert refused.exit_code == 2
    assert "--reason bad_checksum: this is in the bytes of the batch" in refused.stderr


async def test_what_is_sent_again_is_counted_however_often_it_is_sent(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str
) -> None:
    deployment = await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix)
    (early,) = batches(deployment.collection, [now_ms()], reports=5, rng=np.random.default_rng(1))
    await write_letters(deployment.settings, deployment.collection, (Reason.FUTURE_TIME, early))
    words = ("dead-letters", "replay", deployment.file, "--reason", "future_time")
    for _ in range(2):
        shown = await asyncio.to_thread(run, deployment.settings, *words)
        assert "1 batch of 5 reports sent again" in shown.stdout
    # Whether windows have closed is asked of the times of reports alone: a worker that begins late changes nothing.
    with deployment.worker() as worker:
        finals = await deployment.finals_of(5)
        _, metrics = await worker.get("/metrics")
    assert sum(final.reports for final in finals) == 5
    assert 'stream_ldp_reports_duplicate_total{collection="survey"} 5.0' in metrics
