"""Open windows of every kind are saved, and the next worker goes on from them to the same counts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stream_ldp.kinds import kind_of
from stream_ldp.pipeline import partials, wire
from stream_ldp.pipeline.merge_checkpoint import file_digest
from stream_ldp.pipeline.restoring import Restoring
from stream_ldp.pipeline.source_partition import SourcePartition
from tests.kinds.users import START_MS, epoch_at, report_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.pipeline.partials import Partial
    from stream_ldp.pipeline.saved_panes import Saved
    from stream_ldp.pipeline.source_checkpoint import Checkpoint
    from stream_ldp.testing import KafkaInMemory
    from tests.kinds.subjects import Subject


def owner(collection: Any, *, checkpoint: Checkpoint | None = None) -> SourcePartition:
    layout = kind_of(collection).layout(collection)
    state = SourcePartition(collection, layout, partition=0, checkpoint=checkpoint, save_records=1)
    state.take_changes()  # the claim
    rounds = kind_of(collection).rounds
    if rounds is not None:
        state.learn(rounds.layout(collection, rounds.first(collection, epoch_at(collection, START_MS))))
    return state


def count(state: SourcePartition, records: Sequence[bytes]) -> None:
    begin = state.position
    state.count(range(begin, len(records)), [START_MS] * (len(records) - begin), records[begin:])


def sent(state: SourcePartition) -> list[Partial]:
    changes = state.take_changes()
    assert changes is not None
    return [replace(partial, generation=1) for partial in changes.partials]


async def test_the_next_worker_goes_on_from_saved_windows_to_the_same_counts(
    memory: KafkaInMemory, collection: Any, subject: Subject
) -> None:
    for seed in (1, 2):
        await report_once(memory, collection, subject.users(30), seed=seed)
    records = memory.batches(collection.name)
    half = len(records) // 2
    assert half
    before = owner(collection)
    count(before, records[:half])
    changes = before.take_changes()
    assert changes is not None
    place = changes.checkpoint.saved
    assert place is not None
    restoring = Restoring({0: place}, fingerprint=collection.fingerprint.hex(), file=file_digest(collection))
    written: list[Partial | Saved] = [*changes.partials, *changes.saved]
    for record in written:
        restoring.take(partials.decode(partials.encode(record, writer="w")[1]))
    panes = restoring.panes(0)
    assert panes is not None
    assert panes.fingerprints == wire.fingerprints(records)
    after, alone = owner(collection, checkpoint=changes.checkpoint), owner(collection)
    after.restore(panes)
    assert after.position == half
    for state in (after, alone):
        count(state, records)
    assert sent(after) == sent(alone)
