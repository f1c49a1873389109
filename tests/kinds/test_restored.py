"""Open windows of every kind are saved, and the next worker goes on from them to the same counts; what partials take
on the log is what a plan says.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from stream_ldp.kinds import kind_of
from stream_ldp.pipeline import partials, wire
from stream_ldp.pipeline.counting_load import counting_loads
from stream_ldp.pipeline.merge_checkpoint import file_digest
from stream_ldp.pipeline.partials import Partial
from stream_ldp.pipeline.restoring import Restoring
from stream_ldp.pipeline.saved_panes import Saved
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.pipeline.statistics.sending import flush_seconds
from stream_ldp.testing import KafkaInMemory
from tests.kinds.subjects import Subject
from tests.kinds.users import START_MS, epoch_at, report_once


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


async def test_partials_take_about_as_many_bytes_as_planned(
    memory: KafkaInMemory, collection: Any, subject: Subject
) -> None:
    await report_once(memory, collection, subject.users(300))
    state = owner(collection)
    count(state, memory.batches(collection.name))
    changes = state.take_changes()
    assert changes is not None
    nbytes = reports = 0
    for record in changes.records:
        key, value = partials.encode(record, writer="0123abcd")
        nbytes += len(key) + len(value) + sum(len(name) + len(of) for name, of in record.headers)
        reports = max(reports, *(int(part.counts.reports) for part in record.parts))
    # A pane that lasts as long as two flushes are apart.
    pane_s = flush_seconds(collection.series)
    window = collection.window.model_copy(update={"size_ms": round(1_000 * pane_s), "hop_ms": None})
    layout = kind_of(collection).layout(collection)
    (load,) = counting_loads(collection.model_copy(update={"window": window}), layout, populations=[reports])
    assert nbytes / 2 <= load.sent_per_second * pane_s <= 2 * nbytes
