"""Item collections, sets and reports for the tests of the core."""

import numpy as np
from numpy.typing import NDArray

from stream_ldp.kinds import solve
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.partials import Partial
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.sets.answer import Ranking
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.layout import PhaseLayout
from stream_ldp.sets.phases import Inquiry
from stream_ldp.sets.rounds import Round
from stream_ldp.sets.sampling import respond

SIZE_MS = 10_000

TEXT = """
collection: films
mechanism: {kind: KIND, epsilon: EPSILON, k: 2, OPTIONS}
items: {size: SIZE}
epochs: EPOCHS
window: {size: 10s, grace: 2s, idle_timeout: 5s, ahead: 3s, max_age: 1d}
"""


def collection_of(
    kind: str = "gfim",
    *,
    options: str = "set_size: 3, hash_bits: 1",
    epochs: str = "sequential",
    size: int = 16,
    epsilon: float = 4,
) -> ItemCollection:
    text = TEXT.replace("KIND", kind).replace("OPTIONS", options).replace("EPOCHS", epochs)
    return ItemCollection.parse(text.replace("SIZE", str(size)).replace("EPSILON", str(epsilon)))


def inquiry_of(phase: int, candidates: list[int], *, padding: int = 1) -> Inquiry:
    return Inquiry(phase=phase, candidates=np.array(candidates), padding=padding)


def round_of(
    collection: ItemCollection, *, epoch: int = 0, phase: int = 2, candidates: list[int], padding: int = 1
) -> Round:
    return Round.of(collection, inquiry_of(phase, candidates, padding=padding), epoch=epoch)


def answers(collection: ItemCollection, asked: Round, sets: list[list[int]], *, seed: int = 1) -> NDArray[np.uint8]:
    """Make one packed row of each user."""
    return respond(collection.method, asked.inquiry, ItemSets.of(sets), entropy=SeededEntropy(seed))


def batch(asked: Round, rows: NDArray[np.uint8], *, batch_id: int, time_ms: int | None = None) -> bytes:
    return wire.encode(
        wire.Batch(
            fingerprint=asked.fingerprint,
            batch_id=batch_id.to_bytes(16, "little"),
            time_ms=asked.start_ms if time_ms is None else time_ms,
            rows=rows,
        )
    )


def learned(collection: ItemCollection, *rounds: Round) -> SourcePartition:
    """Make a source partition that knows these rounds, and has claimed its partition."""
    state = SourcePartition(collection, PhaseLayout(collection), partition=0)
    for asked in rounds:
        state.learn(PhaseLayout(collection, asked))
    state.take_changes()
    return state


def flush(state: SourcePartition) -> list[Partial]:
    changes = state.take_changes()
    return [] if changes is None else changes.partials


def decided(merge: Merge, window_ms: int, phase: str) -> Ranking:
    """Solve the final of a window, and decide it."""
    (series,) = (each for each in merge.collection.series if each.name == phase)
    answer = solve(merge.collection, merge.task(window_ms, series, final=True))
    assert isinstance(answer, Ranking)
    merge.decide(answer)
    return answer
