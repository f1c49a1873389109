"""Tests of `stream-ldp inspect`: what an operator is told of a collection, and of each record of its topics."""

import asyncio
import json
from pathlib import Path

import pytest

from stream_ldp.cli.inspect import _lines
from stream_ldp.kafka.fenced_producer import FencedProducer
from stream_ldp.kafka.producer import Record
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.answer import moment
from stream_ldp.records.collection import JointCollection
from stream_ldp.service.state import CollectionState
from tests.cli.on_kafka import run
from tests.service.lived import BEHIND, PARTITION, Lived
from tests.service.test_preflight import CARE


@pytest.mark.parametrize(
    ("members", "said"), [(0, "no worker counts"), (1, "1 worker counts"), (2, "2 workers count")]
)
def test_a_collection_that_nobody_has_counted_yet_is_reported_in_words(members: int, said: str) -> None:
    state = CollectionState(
        members=members, sources=(), watermark_ms=None, undecided=(), finals=(), passed=(), held=()
    )
    first, *_ = _lines(JointCollection.parse(CARE), state)
    assert first == (f"care: {said} it now; still to be counted: 0 records; not complete up to any time yet")


def test_a_collection_and_each_record_of_it_are_reported_in_words(
    settings: Settings, care_file: Path, lived: Lived
) -> None:
    told = run(settings, "inspect", "collection", care_file)
    assert told.exit_code == 0, told.output
    first, *lines = told.stdout.splitlines()
    assert first.startswith(
        f"care: no worker counts it now; still to be counted: {BEHIND} records; complete up to 20"
    )
    assert "  partition 0: offsets 0 to 0; nobody has committed anything" in lines
    assert any(line.startswith(f"  partition {PARTITION}: offsets 0 to 4; counted before 1, kept") for line in lines)
    second_ms = lived.start_ms + JointCollection.parse(CARE).window.size_ms
    assert any(f"window {moment(second_ms)}/" in line and "is open; 2 reports so far" in line for line in lines)
    assert any(line.startswith("  last final: ") and "reports=5" in line for line in lines), lines
    document = json.loads(run(settings, "inspect", "collection", care_file, "--json").stdout)
    assert [each["behind"] for each in document["partitions"]] == [0, BEHIND, 0, 0]
    assert [each["window"].partition("/")[0] for each in document["finals"]] == [moment(lived.start_ms)]

    of_reports = ("inspect", "record", care_file, "--topic", "reports", "--partition", PARTITION)
    told = run(settings, *of_reports, "--offset", 0)
    assert told.exit_code == 0, told.output
    assert ": a batch of 5 reports, in " in told.stdout
    assert "that of care\n" in told.stdout
    assert f"event time: {moment(lived.start_ms)}" in told.stdout
    junk = json.loads(run(settings, *of_reports, "--json").stdout)
    assert (junk["offset"], junk["what"]) == (3, "25 bytes that are no batch")
    assert junk["refused"].startswith("too_short: ")
    for topic, what in {
        "partials": "a watermark: partition 3 of care is complete up to ",
        "estimates": "a final answer, which never changes",
        "dead-letters": "a dead letter: 25 bytes that are no batch",
        settings.topic_names.collections: "the registration of collection care",
    }.items():
        told = run(settings, "inspect", "record", care_file, "--topic", topic)
        assert told.exit_code == 0, told.output
        assert what in told.stdout
        assert "secret" not in told.stdout

    for words, message in [
        (["--topic", "round"], "care has no such topic; it has "),
        (["--topic", "estimates", "--offset", "7"], "has the offsets 0 to 0"),
        (["--topic", "estimates", "--partition", "1"], "has the partitions 0 to 0"),
        (["--topic", "reports"], "has no records"),
    ]:
        refused = run(settings, "inspect", "record", care_file, *words)
        assert refused.exit_code in {1, 2}
        assert message in refused.stderr


async def _write_in_a_transaction(settings: Settings, topic: str, value: bytes) -> int:
    producer = FencedProducer(settings, topic=topic, max_record_bytes=2**20, acknowledge_seconds=20.0)
    try:
        await producer.take()
        return await producer.write(Record(topic=topic, key=b"key", value=value, partition=0))
    finally:
        await producer.stop()


def test_the_newest_record_is_shown_though_the_end_of_its_transaction_stands_behind_it(
    settings: Settings, care_file: Path, lived: Lived
) -> None:
    topic = settings.topic_names.answers(JointCollection.parse(CARE))
    offset = asyncio.run(_write_in_a_transaction(settings, topic, b"no answer"))
    told = run(settings, "inspect", "record", care_file, "--topic", "estimates", "--json")
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["offset"] == offset
    behind = run(settings, "inspect", "record", care_file, "--topic", "estimates", "--offset", offset + 1)
    assert behind.exit_code == 1
    assert "only ends of transactions" in behind.stderr


def test_a_collection_without_topics_is_reported_how_to_create_them(settings: Settings, care_file: Path) -> None:
    refused = run(settings, "inspect", "collection", care_file)
    assert refused.exit_code == 1
    assert "stream-ldp topics create" in refused.stderr
