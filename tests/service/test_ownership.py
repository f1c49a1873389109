"""Tests that partitions are taken over at the last commit, read without a gap, and given up whole."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from aiokafka.errors import (
    CommitFailedError,
    GroupCoordinatorNotAvailableError,
    IllegalStateError,
    KafkaError,
    NoError,
    NotCoordinatorForGroupError,
)
from aiokafka.structs import OffsetAndMetadata

from stream_ldp.kafka.cluster import NoCoordinator
from stream_ldp.kafka.patience import passes
from stream_ldp.kafka.producer import Record
from stream_ldp.pipeline import partials
from stream_ldp.pipeline.pane_limits import PaneLimits
from stream_ldp.pipeline.partials import Watermark
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.pipeline.topic_identity import TopicIdentity
from stream_ldp.service import ownership as ownership_module
from stream_ldp.service.ownership import Owned, Ownership, ReportsLost
from tests.service.memory import COLLECTION, START_MS, MemoryKafka

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiokafka import TopicPartition

CHECKPOINT = Checkpoint(generation=7, offset=3, position=5, watermark_ms=START_MS, watermark_generation=7)


def memory_with_commit(*, records: int = 6) -> MemoryKafka:
    """Make a partition for which an earlier owner has committed an offset."""
    memory = MemoryKafka()
    for _ in range(records):
        memory.report()
    memory.commits[memory.all[0]] = OffsetAndMetadata(CHECKPOINT.offset, CHECKPOINT.metadata())
    return memory


async def joined(memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch, *, accept_loss: bool = False) -> Ownership:
    ownership = memory.ownership(monkeypatch, accept_loss=accept_loss)
    await ownership.start()
    await ownership.on_partitions_assigned(memory.all)
    return ownership


async def test_a_partition_is_taken_over_at_its_last_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memory_with_commit()
    ownership = await joined(memory, monkeypatch)
    await ownership.take_over()
    state = ownership.partitions[memory.all[0]].state
    assert state.position == memory.place[memory.all[0]] == CHECKPOINT.offset
    assert state.watermark_ms == CHECKPOINT.watermark_ms
    changes = state.take_changes()
    assert changes is not None
    assert changes.checkpoint.generation == START_MS, "numbered by the time of day"


async def test_the_limits_of_a_new_owner_hold_from_the_end_of_the_log_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner before may have refused some of the last records, and not have committed it."""
    memory, before = memory_with_commit(), PaneLimits(batches=9)
    committed = replace(CHECKPOINT, limits=(before,))
    memory.commits[memory.all[0]] = OffsetAndMetadata(CHECKPOINT.offset, committed.metadata())
    ownership = await joined(memory, monkeypatch)
    await ownership.take_over()
    state = ownership.partitions[memory.all[0]].state
    state.take_changes()
    read = memory.log[memory.all[0]][CHECKPOINT.offset : CHECKPOINT.position]
    state.count([each.offset for each in read], [each.timestamp for each in read], [each.value for each in read])
    state.take_changes()
    assert [each.since for each in state.checkpoint.limits] == [0, 6]


async def test_a_partition_without_a_commit_is_read_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = MemoryKafka()
    memory.report()
    memory.expire(before=1)
    ownership = await joined(memory, monkeypatch)
    await ownership.take_over()
    assert ownership.partitions[memory.all[0]].state.position == 1


async def test_nothing_is_taken_over_before_the_group_has_given_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memory_with_commit()
    ownership = memory.ownership(monkeypatch)
    await ownership.start()
    await ownership.take_over()
    assert ownership.partitions == {}


async def counted(ownership: Ownership, memory: MemoryKafka) -> Owned:
    """Take a partition over, claim it, count what it holds, and commit."""
    await ownership.take_over()
    (partition,) = memory.all
    owned = ownership.partitions[partition]
    claim = owned.state.take_changes()
    assert claim is not None
    records = memory.log[partition][owned.state.position :]
    owned.state.count(
        [each.offset for each in records], [each.timestamp for each in records], [each.value for each in records]
    )
    changes = owned.state.take_changes()
    assert changes is not None
    assert await ownership.commit({partition: changes.checkpoint})
    return owned


async def test_a_partition_that_comes_back_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memory_with_commit()
    ownership = await joined(memory, monkeypatch)
    owned = await counted(ownership, memory)
    assert memory.committed().offset < memory.committed().position == 6, "open windows would be read again"
    await ownership.on_partitions_revoked()
    assert ownership.partitions == {}
    await ownership.on_partitions_assigned(memory.all)
    await ownership.take_over()
    assert ownership.partitions == {memory.all[0]: owned}
    assert memory.place[memory.all[0]] == owned.state.position == 6


async def test_a_partition_that_another_has_claimed_in_between_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memory_with_commit()
    ownership = await joined(memory, monkeypatch)
    owned = await counted(ownership, memory)
    await ownership.on_partitions_revoked()
    ours = memory.committed()
    claim = replace(ours, generation=ours.generation + 1)
    memory.commits[memory.all[0]] = OffsetAndMetadata(claim.offset, claim.metadata())
    await ownership.on_partitions_assigned(memory.all)
    await ownership.take_over()
    after = ownership.partitions[memory.all[0]]
    assert after is not owned
    assert after.state.position == ours.offset


async def test_a_revoked_partition_is_forgotten_with_all_that_was_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memory_with_commit()
    ownership = await joined(memory, monkeypatch)
    await ownership.take_over()
    before = ownership.partitions[memory.all[0]]
    await ownership.on_partitions_revoked()
    assert ownership.partitions == {}
    assert not ownership.joined
    await ownership.on_partitions_assigned(memory.all)
    await ownership.take_over()
    after = ownership.partitions[memory.all[0]]
    assert after.state is not before.state
    assert after.writer != before.writer


async def test_a_partition_that_went_to_a_peer_is_dropped_and_the_others_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = MemoryKafka(partitions=2)
    ownership = await joined(memory, monkeypatch)
    await ownership.take_over()
    kept = ownership.partitions[memory.all[1]]
    memory.assigned = {memory.all[1]}
    await ownership.take_over()
    assert ownership.partitions == {memory.all[1]: kept}


async def test_records_of_an_earlier_fetch_are_not_counted_and_reading_is_put_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = memory_with_commit()
    (partition,) = memory.all
    ownership = await joined(memory, monkeypatch)
    await ownership.take_over()
    assert await ownership.continues(partition, [3])
    memory.place[partition] = 6
    assert not await ownership.continues(partition, [5])
    assert memory.place[partition] == 3
    # What is found after that seek is what there is, also if it begins further on.
    assert await ownership.continues(partition, [4])
    assert not await ownership.continues(partition._replace(partition=1), [3]), "not ours"


async def test_offsets_that_were_damaged_on_their_way_hide_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memory_with_commit()
    (partition,) = memory.all
    ownership = await joined(memory, monkeypatch)
    await ownership.take_over()
    assert await ownership.continues(partition, [3])
    for damaged in ([3, 4, 9], [3, 4, 5, 5]):
        memory.place[partition] = 6
        assert not await ownership.continues(partition, damaged)
        assert memory.place[partition] == 3, "all are read again"
        assert await ownership.continues(partition, [3, 4, 5])
    # What is there again, such as the marks of transactions, is a gap of the log.
    assert not await ownership.continues(partition, [3, 4, 9])
    assert await ownership.continues(partition, [3, 4, 9])
    # What has been counted is not counted again, however often it comes.
    assert [await ownership.continues(partition, [2, 3]) for _ in range(3)] == [False] * 3


async def test_marks_of_transactions_at_the_end_of_a_log_leave_nothing_to_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = memory_with_commit()
    (partition,) = memory.all
    ownership = await joined(memory, monkeypatch)
    await ownership.take_over()
    state, records = ownership.partitions[partition].state, memory.log[partition][3:]
    assert await ownership.continues(partition, [each.offset for each in records])
    state.count(
        [each.offset for each in records], [each.timestamp for each in records], [each.value for each in records]
    )
    memory.place[partition] = 6
    ownership.pass_marks(partition, 7)
    assert state.read_to == 6, "a report may be on its way"
    memory.place[partition] = 7
    ownership.pass_marks(partition, 7)
    assert memory.place[partition] == state.read_to == 6, "offsets may be damaged on their way: read again"
    memory.place[partition] = 7
    ownership.pass_marks(partition, 7)
    assert state.read_to == 7
    assert state.position == 6, "where the next report may begin"
    # A commit and what is said of the log are about reports.
    assert await ownership.ends() == {partition: 6}
    assert ownership.partitions.keys() == {partition}


async def test_a_gap_that_compaction_left_is_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memory_with_commit()
    ownership = await joined(memory, monkeypatch)
    await ownership.take_over()
    # Just sought, and the next record there is lies further on.
    assert await ownership.continues(memory.all[0], [4])


@pytest.mark.parametrize("when", ["before it is taken over", "after it was sought"])
async def test_reports_that_retention_deleted_end_the_worker_unless_loss_is_accepted(
    when: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def read(*, accept_loss: bool) -> MemoryKafka:
        memory = memory_with_commit()
        ownership = await joined(memory, monkeypatch, accept_loss=accept_loss)
        if when == "before it is taken over":
            memory.expire(before=5)
            await ownership.take_over()
        else:
            await ownership.take_over()
            memory.expire(before=5)
        assert await ownership.continues(memory.all[0], [5])
        return memory

    with pytest.raises(
        ReportsLost, match=r"retention deleted offsets 3 to 4 before they were counted.*--accept-loss"
    ):
        await read(accept_loss=False)
    with caplog.at_level(logging.ERROR):
        memory = await read(accept_loss=True)
    assert memory.metric("offsets_lost_total", collection="survey") == 2.0
    assert "retention deleted offsets 3 to 4" in caplog.text


async def test_a_commit_says_how_far_was_read_and_can_be_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memory_with_commit()
    ownership = await joined(memory, monkeypatch)
    await ownership.take_over()
    later = CHECKPOINT.moved_to(4)
    assert await ownership.commit({memory.all[0]: later})
    assert await ownership.commits() == {memory.all[0]: later}


@pytest.mark.parametrize("refusal", [CommitFailedError(), IllegalStateError()])
async def test_a_refused_commit_gives_up_all_partitions(refusal: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memory_with_commit()
    ownership = await joined(memory, monkeypatch)
    await ownership.take_over()
    memory.refusing = refusal
    assert not await ownership.commit({memory.all[0]: CHECKPOINT})
    assert ownership.partitions == {}


async def test_a_coordinator_that_moves_is_waited_for_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memory_with_commit()
    ownership = await joined(memory, monkeypatch)
    asked = 0

    async def moving(
        group: str, *, partitions: Sequence[TopicPartition], **_: int
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        nonlocal asked
        asked += 1
        if asked <= 2:
            raise NotCoordinatorForGroupError if asked == 1 else GroupCoordinatorNotAvailableError
        return memory.commits

    monkeypatch.setattr(memory, "list_consumer_group_offsets", moving)
    assert (await ownership.commits())[memory.all[0]] == CHECKPOINT
    assert asked == 3
    asked = 0
    monkeypatch.setattr(ownership_module, "COORDINATOR_SECONDS", 0.0)
    with pytest.raises(NoCoordinator):
        await ownership.commits()


async def test_a_loading_coordinator_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = memory_with_commit()
    ownership = await joined(memory, monkeypatch)
    answer, asked = memory.list_consumer_group_offsets, 0

    async def loading(
        group: str, *, partitions: Sequence[TopicPartition], **_: int
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        nonlocal asked
        asked += 1
        commits = await answer(group, group_coordinator_id=0, partitions=partitions)
        # As aiokafka does with the error of a whole answer, and then as no broker should.
        return {1: {}, 2: dict(list(commits.items())[1:])}.get(asked, commits)

    monkeypatch.setattr(memory, "list_consumer_group_offsets", loading)
    await ownership.take_over()
    assert asked == 3
    state = ownership.partitions[memory.all[0]].state
    assert (state.position, state.checkpoint.position) == (CHECKPOINT.offset, CHECKPOINT.position)


async def test_an_error_of_one_partition_is_no_answer_about_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memory_with_commit()
    ownership = await joined(memory, monkeypatch)
    monkeypatch.setattr(ownership_module, "COORDINATOR_SECONDS", 0.0)

    async def failing(group: str, *, partitions: Sequence[TopicPartition], **_: int) -> None:
        raise NoError(f"Unable to get offset info of {group} for {partitions[0]}")

    monkeypatch.setattr(memory, "list_consumer_group_offsets", failing)
    with pytest.raises(NoCoordinator):
        await ownership.take_over()
    assert not ownership.partitions


async def test_a_topic_that_a_starting_broker_does_not_know_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = memory_with_commit()
    ownership = await joined(memory, monkeypatch)
    owned = await counted(ownership, memory)
    await ownership.on_partitions_revoked()
    await ownership.on_partitions_assigned(memory.all)
    with monkeypatch.context() as starting:
        starting.setattr(memory, "partitions_for_topic", lambda _: None)
        with pytest.raises(KafkaError) as unknown:
            await ownership.take_over()
    assert passes(unknown.value)
    await ownership.take_over()
    assert ownership.partitions == {memory.all[0]: owned}, "and what was counted is still there"


async def test_a_fetch_ends_even_while_the_group_has_no_coordinator(monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait_for_an_assignment(**_: int) -> None:
        await asyncio.sleep(3_600)

    memory = MemoryKafka()
    ownership = await joined(memory, monkeypatch)
    monkeypatch.setattr(memory, "getmany", wait_for_an_assignment)
    monkeypatch.setattr(ownership_module, "ASSIGNMENT_SECONDS", 0.01)
    async with asyncio.timeout(30):
        assert await ownership.fetch(timeout_ms=10, max_records=1) == {}


async def test_a_worker_leaves_the_group_when_it_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = MemoryKafka()
    ownership = memory.ownership(monkeypatch)
    await ownership.stop()
    assert not memory.stopped, "it had not joined"
    await ownership.start()
    await ownership.stop()
    assert memory.stopped


async def test_the_partitions_that_a_worker_counts_are_logged_also_if_it_gets_none(
    monkeypatch: pytest.MonkeyPatch, own_log: pytest.LogCaptureFixture
) -> None:
    memory = MemoryKafka(partitions=2)
    with own_log.at_level("INFO", logger="stream_ldp"):
        ownership = await joined(memory, monkeypatch)
        await ownership.on_partitions_assigned([])
    topic = memory.all[0].topic
    assert [each.getMessage().partition(": ")[2] for each in own_log.records] == [
        f"counts partitions 0, 1 of {topic}",
        f"counts partitions none of {topic}",
    ]
    assert [each.__dict__["partitions"] for each in own_log.records] == [[0, 1], []]


def others_closed(memory: MemoryKafka, time_ms: int, *, partitions: int) -> None:
    """Let other owners have passed a time with all partitions that the topic had then."""
    topic = TopicIdentity(id="a1", partitions=partitions)
    for partition in range(partitions):
        key, value = partials.encode(
            Watermark(
                collection="survey",
                fingerprint=COLLECTION.fingerprint.hex(),
                partition=partition,
                generation=1,
                time_ms=time_ms,
                topic=topic,
            ),
            writer="w",
        )
        memory.published.append(Record(topic=memory.settings.topic_names.partials, key=key, value=value))


async def test_a_partition_that_was_added_joins_and_begins_where_the_others_have_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = MemoryKafka(partitions=2)
    others_closed(memory, START_MS + 7, partitions=1)
    memory.assigned = {memory.all[1]}
    ownership = await joined(memory, monkeypatch)
    await ownership.take_over()
    assert memory.done == [("publish", ["joining"])]
    state = ownership.partitions[memory.all[1]].state
    assert (state.position, state.watermark_ms) == (0, START_MS + 7)
    claim = state.take_changes()
    assert claim is not None
    assert claim.checkpoint.topic == TopicIdentity(id="a1", partitions=2)
    assert claim.watermark is not None
    assert claim.watermark.time_ms == START_MS + 7


async def test_a_topic_that_was_made_again_is_counted_from_its_beginning_and_opens_no_window_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memory = MemoryKafka()
    for _ in range(6):
        memory.report()
    of_old = replace(CHECKPOINT, topic=TopicIdentity(id="a1", partitions=1))
    memory.commits[memory.all[0]] = OffsetAndMetadata(of_old.offset, of_old.metadata())
    others_closed(memory, START_MS + 7, partitions=1)
    ownership = await joined(memory, monkeypatch)
    await ownership.take_over()
    assert ownership.partitions[memory.all[0]].state.position == of_old.offset
    memory.topics[memory.topic] = ("b2", 1)
    with caplog.at_level(logging.ERROR):
        ownership.compare(TopicIdentity(id="b2", partitions=1))
    assert "has been deleted and made again" in caplog.text
    await ownership.take_over()
    state = ownership.partitions[memory.all[0]].state
    assert (state.position, state.watermark_ms) == (0, START_MS + 7)
    ownership.compare(TopicIdentity(id="b2", partitions=2))
    assert ownership.partitions[memory.all[0]].state is state, "more partitions are no other topic"


async def test_a_partition_that_the_broker_does_not_know_yet_is_taken_over_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = MemoryKafka(partitions=2)
    memory.topics[memory.topic] = ("a1", 1)
    ownership = await joined(memory, monkeypatch)
    with pytest.raises(KafkaError) as unknown:
        await ownership.take_over()
    assert passes(unknown.value)
    assert memory.done == []


async def test_a_log_that_lost_its_end_is_counted_on_from_there_which_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memory = memory_with_commit(records=4)
    partition = memory.all[0]
    ownership = await joined(memory, monkeypatch)
    with caplog.at_level(logging.ERROR):
        await ownership.take_over()
        await counted(ownership, memory)
        await ownership.ends()
    assert caplog.text.count("partition 0 was counted up to offset 5, and the brokers have lost the end") == 1
    assert memory.committed().position == 4
    del memory.log[partition][2:]
    with caplog.at_level(logging.ERROR):
        await ownership.ends()
        assert ownership.partitions == {}
        await ownership.take_over()
    assert caplog.text.count("was counted up to offset 4, and the brokers have lost the end") == 1
    state = ownership.partitions[partition].state
    assert state.position == 2
    assert not state.replaying
    assert state.watermark_ms is not None


@pytest.mark.parametrize("owner", ["the same", "the next"])
async def test_an_offset_that_a_client_wrote_into_a_record_is_no_lost_end(
    owner: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A broker that is asked for the first record of a time names the offset that is in the record."""
    memory = memory_with_commit(records=6)
    partition = memory.all[0]
    ownership = await joined(memory, monkeypatch)
    await counted(ownership, memory)
    memory.seconds += 1
    memory.report()
    memory.log[partition][-1].offset = 2
    with caplog.at_level(logging.ERROR):
        if owner == "the next":
            ownership = await joined(memory, monkeypatch)
            await ownership.take_over()
        else:
            await ownership.ends()
    assert "lost the end" not in caplog.text
    assert ownership.partitions[partition].state.checkpoint.position == 6


@pytest.mark.parametrize("owner", ["the same", "the next"])
async def test_a_log_that_has_grown_again_beyond_the_end_that_it_lost_is_known_by_the_broker_s_clock(
    owner: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memory = memory_with_commit(records=6)
    partition = memory.all[0]
    ownership = await joined(memory, monkeypatch)
    owned = await counted(ownership, memory)
    del memory.log[partition][4:]
    memory.seconds += 1
    for _ in range(5):
        memory.report()
    with caplog.at_level(logging.ERROR):
        if owner == "the next":
            ownership = await joined(memory, monkeypatch)
        else:
            assert not await ownership.continues(partition, [0]), "the reader was put back to the beginning"
            await ownership.ends()
        await ownership.take_over()
    assert caplog.text.count("was counted up to offset 6, and the brokers have lost the end") == 1
    state = ownership.partitions[partition].state
    assert state is not owned.state
    records = memory.log[partition][state.position :]
    again = state.count(
        [each.offset for each in records], [each.timestamp for each in records], [each.value for each in records]
    )
    assert again.reports == 5 * 5, "all that are new, and no other"


async def test_a_worker_gives_up_the_partitions_of_a_topic_that_is_deleted_while_it_commits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def never(_: object) -> None:
        del memory.topics[memory.topic]
        await asyncio.Event().wait()

    memory = memory_with_commit()
    ownership = await joined(memory, monkeypatch)
    await ownership.take_over()
    monkeypatch.setattr(memory, "commit", never)
    monkeypatch.setattr(ownership_module, "LOOK_SECONDS", 0.01)
    async with asyncio.timeout(30):
        assert not await ownership.commit({memory.all[0]: CHECKPOINT})
    assert ownership.partitions == {}


async def test_nothing_is_taken_over_of_a_collection_that_has_been_registered_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another version of it may be counted beside by now."""
    memory, current = memory_with_commit(), False

    async def is_current() -> bool:
        return current

    ownership = await joined(memory, monkeypatch)
    ownership._is_current = is_current
    await ownership.take_over()
    assert (ownership.partitions, ownership.waiting) == ({}, [0])
    current = True
    await ownership.take_over()
    assert list(ownership.partitions) == memory.all


async def test_a_position_that_no_worker_has_committed_is_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memory = memory_with_commit()
    memory.commits[memory.all[0]] = OffsetAndMetadata(4, "")
    ownership = await joined(memory, monkeypatch)
    await ownership.take_over()
    assert ownership.partitions[memory.all[0]].state.position == 4
    assert f"partitions 0 of {memory.topic} begin where an operator, or something else" in caplog.text


async def test_a_commit_that_is_missing_is_named_unless_the_topic_is_a_new_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memory = MemoryKafka()
    others_closed(memory, START_MS + 7, partitions=1)
    memory.topics[memory.topic] = ("b2", 1)
    await (await joined(memory, monkeypatch)).take_over()
    assert "have no commit any more" not in caplog.text
    memory.topics[memory.topic] = ("a1", 1)
    await (await joined(memory, monkeypatch)).take_over()
    assert f"survey: partitions 0 of {memory.topic} were counted before, and have no commit any more" in caplog.text
