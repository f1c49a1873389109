"""Tests that a merge is rebuilt from all that can be read, and that the rest is told."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import topic_specs
from stream_ldp.kinds import kind_of
from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.partials import encode, partition_of
from stream_ldp.pipeline.quarantine import Quarantine
from stream_ldp.records.answer import Estimate
from stream_ldp.service import windows_log
from stream_ldp.service.windows_log import AnswersLog, partials_log
from tests.client.examples import MINUTE_MS, estimate_of
from tests.pipeline.test_merging import JOINT, SURVEY, partial


@pytest.fixture
async def topics(settings: Settings) -> None:
    specs = topic_specs([SURVEY], prefix=settings.topic_prefix, partials_partitions=settings.partials_partitions)
    async with Cluster.connect(settings) as cluster:
        await cluster.create(specs, replication=1)


async def write(
    settings: Settings, topic: str, records: Sequence[tuple[bytes | None, bytes | None]], *, partition: int = 0
) -> None:
    async with AIOKafkaProducer(**settings.client_options()) as producer:
        for key, value in records:
            await producer.send_and_wait(topic, value, key=key, partition=partition)


def final(number: int, **changes: Any) -> Estimate:
    bounds = WindowBounds(start_ms=number * MINUTE_MS, end_ms=(number + 1) * MINUTE_MS)
    return estimate_of(window=bounds, estimate=JOINT.name, **changes)


@pytest.mark.usefixtures("topics")
async def test_finals_are_taken_note_of_and_what_is_no_answer_of_the_collection_is_reported(
    settings: Settings,
) -> None:
    read, foreign, hidden = final(1), final(2, fingerprint="0f" * 16), final(3)
    provisional = final(4, final=False)
    await write(
        settings,
        settings.topic_names.answers(SURVEY),
        [
            (read.key, read.to_bytes()),
            (b"junk", b"junk"),
            (foreign.key, foreign.to_bytes()),
            (hidden.key, None),
            (final(4).key, provisional.to_bytes()),
        ],
    )
    merge, quarantine = Merge(SURVEY, partitions=1), Quarantine(SURVEY)
    unread = [each async for each in AnswersLog(merge, quarantine, settings=settings).read()]
    assert [each.offset for each in unread] == [1, 2, 3, 4]
    assert [each.window.start_ms for each in merge.decided] == [MINUTE_MS]
    assert [each.offset for each in quarantine.holding(merge)] == [3, 4]
    assert merge._undecided.is_decided(3 * MINUTE_MS, JOINT), "it is on the log, although it cannot be read"


@pytest.mark.usefixtures("topics")
async def test_the_partials_log_has_what_is_about_the_collection_and_what_says_nothing(settings: Settings) -> None:
    key, value = encode(partial(5), writer="w")
    other = key.replace(SURVEY.name.encode(), b"films"), value.replace(SURVEY.name.encode(), b"films")
    number = partition_of(SURVEY.name, partitions=settings.partials_partitions)
    await write(
        settings, settings.topic_names.partials, [(key, value), other, (b"junk", None), (key, b"")], partition=number
    )
    entries = [each async for each in partials_log(SURVEY.name, settings=settings)]
    assert [(each.offset, each.record is not None) for each in entries] == [(0, True), (2, False), (3, False)]
    assert [each.collection for each in entries] == [SURVEY.name, None, SURVEY.name]


@pytest.mark.parametrize("error", [ValueError, OverflowError, IndexError, TypeError])
def test_a_final_whose_round_cannot_be_derived_is_reported_and_ends_no_reader(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can write to the topic can write anything that is a final by its form."""

    def after(*_: object) -> None:
        raise error("of this final, nothing follows")

    kind = SimpleNamespace(
        answer=type(final(1)), layout=kind_of(SURVEY).layout, rounds=SimpleNamespace(after=after, layout=None)
    )
    monkeypatch.setattr(windows_log, "kind_of", lambda _: kind)
    merge, quarantine = Merge(SURVEY, partitions=1), Quarantine(SURVEY)
    log = AnswersLog(merge, quarantine, settings=Settings())
    record: Any = SimpleNamespace(
        topic="answers", partition=0, offset=7, key=final(1).key, value=final(1).to_bytes(), headers=()
    )
    unread = log._take(record)
    assert unread is not None
    assert "not an answer that this release can go on from: of this final, nothing follows" in str(unread)
    assert merge.decided == []
