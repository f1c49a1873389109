"""The service with every kind: what users report becomes the answer, and what cannot count is a dead letter."""

import json
import zlib
from typing import Any

import numpy as np
import pytest

from stream_ldp.kafka.topics import topic_specs
from stream_ldp.kinds import parse_collection, w_event_of
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.kind import Kind
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.testing import KafkaInMemory, kafka_in_memory
from tests.kinds.subjects import SUBJECTS, Subject
from tests.kinds.users import START_MS, play, report_once

USERS = 600


#: Id of a batch that has come before under another.
RENAMED = bytes(range(16))


def renamed(batch: bytes) -> bytes:
    """Return a batch with another id, at the place that docs/wire.md gives."""
    checked = batch[8:32] + RENAMED + batch[48:]
    return batch[:4] + zlib.crc32(checked).to_bytes(4, "little") + checked


def written(answers: list[Any]) -> list[bytes]:
    return [each.to_bytes() for each in answers]


def test_every_kind_has_a_subject(kind: Kind[Any, Any, Any]) -> None:
    assert kind.name in SUBJECTS


def test_a_collection_has_the_topics_of_its_kind(collection: Any, kind: Kind[Any, Any, Any]) -> None:
    specs = topic_specs([collection], prefix="p", partials_partitions=1)
    own = {"reports", "dead-letters", "provisional", collection.topics.answers}
    own |= {"rounds"} if kind.rounds else set()
    own |= {"records"} if "synthesis" in collection.document else set()
    assert {spec.name for spec in specs} == {
        "p.collections",
        "p.partials",
        *(f"p.{collection.name}.{topic}" for topic in own),
    }


async def test_a_collection_with_rows_publishes_every_cell_of_its_finals_and_means_the_same(
    collection: Any, subject: Subject, kind: Kind[Any, Any, Any]
) -> None:
    asking = parse_collection(f"{subject.text.rstrip()}\nrows: true\n")
    assert asking.fingerprint == collection.fingerprint
    assert "rows" not in collection.document
    specs = {spec.name: spec for spec in topic_specs([asking], prefix="p", partials_partitions=1)}
    finals, rows = (specs[f"p.{collection.name}.{kind.collection.topics.answers}{end}"] for end in ("", "-rows"))
    assert rows.config == finals.config
    with kafka_in_memory(asking, now_ms=START_MS) as kafka:
        answers = await play(kafka, asking, subject.users(USERS))
        records = kafka.broker.available(kafka.settings.topic_names.rows(asking))
    cells = [cell for answer in answers for cell in answer.cells()]
    told = [json.loads(record.value) for record in records]
    assert [row["estimate"] for row in told] == pytest.approx([cell.estimate for cell in cells])
    assert [json.loads(row["cell_labels"]) for row in told] == [dict(cell.labels) for cell in cells]
    assert len({record.key for record in records}) == len(cells) > 0
    assert not any(isinstance(part, list | dict) for row in told for part in row.values())


async def test_finals_are_near_what_users_hold(memory: KafkaInMemory, collection: Any, subject: Subject) -> None:
    """At the subjects' epsilons, and with this seed, no number of 600 users is off by a tenth."""
    *_, final = await play(memory, collection, subject.users(USERS))
    assert final.final
    assert final.settled
    found = {(final.target, cell.key): cell.estimate / final.look.scale for cell in final.cells()}
    for key, truth in subject.truth.items():
        assert found[key] == pytest.approx(truth, rel=0.1, abs=0.1), key


async def test_the_answers_are_on_their_topic_under_keys_that_compaction_keeps(
    memory: KafkaInMemory, collection: Any, subject: Subject
) -> None:
    answers = await play(memory, collection, subject.users(30))
    topic = memory.settings.topic_names.answers(collection)
    assert topic.endswith(f".{collection.topics.answers}")
    records = memory.broker.available(topic)
    assert [record.value for record in records] == written(answers)
    assert [record.key for record in records] == [each.key for each in answers]
    assert len({record.key for record in records}) == len(records)


async def test_batches_that_come_twice_count_once(memory: KafkaInMemory, collection: Any, subject: Subject) -> None:
    once = written(await play(memory, collection, subject.users(30)))
    with kafka_in_memory(collection, now_ms=START_MS) as again:
        reports = again.settings.topic_names.reports(collection.name)
        original = again.broker.on_send
        assert original is not None

        def twice(record: Any) -> None:
            original(record)
            original(record)

        again.broker.on_send = twice
        answers = await play(again, collection, subject.users(30))
        assert len(again.broker.available(reports)) == 2 * len(memory.batches(collection.name))
    assert [each.reports for each in answers] == [30] * len(answers)
    assert len(once) == len(answers)


async def test_bad_reports_are_dead_letters_with_their_reason_and_change_no_answer(
    memory: KafkaInMemory, collection: Any, subject: Subject
) -> None:
    without = written(await play(memory, collection, subject.users(30)))
    with kafka_in_memory(collection, now_ms=START_MS) as kafka:
        names = kafka.settings.topic_names
        good = memory.batches(collection.name)[0]
        foreign = wire.encode(
            wire.Batch(
                fingerprint=bytes(16), batch_id=bytes(16), time_ms=START_MS, rows=np.zeros((1, 1), dtype=np.uint8)
            )
        )
        for value in (b"nothing of ours", good[:-1] + bytes([good[-1] ^ 1]), foreign):
            kafka.broker.put(names.reports(collection.name), value, key=b"")
        assert written(await play(kafka, collection, subject.users(30))) == without
        assert [each.reason for each in kafka.refused] == [
            Reason.TOO_SHORT,
            Reason.BAD_CHECKSUM,
            Reason.UNKNOWN_FINGERPRINT,
        ]
        letters = kafka.broker.available(names.dead_letters(collection.name))
        assert [dict(letter.headers)["reason"] for letter in letters] == [
            each.reason.value.encode() for each in kafka.refused
        ]


async def test_reports_whose_window_has_closed_are_refused_as_late(
    memory: KafkaInMemory, collection: Any, subject: Subject
) -> None:
    answers = await play(memory, collection, subject.users(30))
    memory.advance(60)
    batch = memory.batches(collection.name)[0]
    memory.broker.put(memory.settings.topic_names.reports(collection.name), renamed(batch), key=b"")
    later = await play(memory, collection, subject.users(3))
    assert [each.reason for each in memory.refused] == [Reason.LATE]
    assert [each.reports for each in answers] == [30] * len(answers)
    assert {each.window.start_ms for each in later}.isdisjoint(each.window.start_ms for each in answers)


async def test_windows_are_answered_from_their_own_reports(
    memory: KafkaInMemory, collection: Any, subject: Subject
) -> None:
    """A second window, of other users, has a final of its own."""
    first = await play(memory, collection, subject.users(30))
    memory.advance(60)
    second = await play(memory, collection, subject.users(60))
    assert {each.reports for each in first} == {30}
    assert {each.reports for each in second if each.final} >= {60}
    assert first[-1].window.end_ms <= second[0].window.start_ms


async def test_answers_say_what_any_windows_cost_of_users_who_take_turns(
    rotated: Any, subject: Subject, kind: Kind[Any, Any, Any]
) -> None:
    with kafka_in_memory(rotated, now_ms=START_MS) as kafka:
        answers = await play(kafka, rotated, subject.users(USERS))
    for answer in answers:
        if getattr(answer, "privacy", None) is not None:
            assert answer.privacy.w_event == w_event_of(rotated)
            assert str(answer.privacy.w_event) in answer.judgement().privacy
        assert 0.2 * USERS < answer.reports < 0.5 * USERS
    assert w_event_of(rotated).windows == 3


async def test_nothing_is_reported_before_somebody_reports(memory: KafkaInMemory, collection: Any) -> None:
    assert memory.close_windows() == []
    assert memory.reports(collection.name) == 0
    await report_once(memory, collection, [])
    assert memory.reports(collection.name) == 0
