"""Comparisons of counting: from packed rows to the counts of every estimate, and from records to them."""

import zlib
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from numpy.typing import NDArray

from stream_ldp.kafka.columns import Columns, runs_of
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.layout import JointLayout
from tests.benchmarks.speed import before, peers
from tests.benchmarks.speed.measuring import Comparison, Work

#: Five pairs of attributes, some of them neighbours.
_PAIRS = ((0, 1), (2, 9), (4, 5), (3, 14), (11, 12))

#: Records of a turn of the worker.
_RECORDS = 2_000


def comparisons(scale: float) -> Iterator[Comparison]:
    """Yield the comparisons, on `scale` times as many reports as are meant."""
    users = round(scale * 100_000)
    for attributes, size in ((16, 2), (8, 8)):
        yield _counting(collection_of((size,) * attributes), users)
    for reports in (50, 1):
        yield _decoding(collection_of((2,) * 16), reports)
        yield _reading(collection_of((2,) * 16), reports)


def collection_of(sizes: tuple[int, ...]) -> JointCollection:
    """Make a collection of attributes of these sizes, with five pairs as estimates."""
    return JointCollection.model_validate(document_of(sizes))


def document_of(sizes: tuple[int, ...], *, window: str = "60s", every_pair: bool = False) -> dict[str, Any]:
    """Make the document of such a collection.

    every_pair: whether it has all pairs as estimates.
    """
    attributes = [{"name": f"a{j}", "values": [str(value) for value in range(k)]} for j, k in enumerate(sizes)]
    attributes_of = combinations(range(len(sizes)), 2) if every_pair else _PAIRS
    pairs = [(i % len(sizes), j % len(sizes)) for i, j in attributes_of]
    return {
        "collection": "bench",
        "mechanism": {"kind": "rr-ldp", "f": 0.25, "p": 0.25, "q": 0.75},
        "attributes": attributes,
        "estimates": [{"name": f"e{number}", "of": [f"a{i}", f"a{j}"]} for number, (i, j) in enumerate(pairs)],
        "window": {"size": window},
    }


def rows_of(collection: JointCollection, users: int) -> NDArray[np.uint8]:
    """Draw packed rows of random bits."""
    bits = np.random.default_rng(1).integers(2, size=(users, collection.mechanism.bits), dtype=np.uint8)
    return np.packbits(bits, axis=1, bitorder="little")


def _counting(collection: JointCollection, users: int) -> Comparison:
    layout, rows = JointLayout(collection), rows_of(collection, users)
    tallies = layout.tallies()
    columns = [np.array(collection.bits_of(estimate.of)) for estimate in collection.estimates]
    patterns = [np.random.default_rng(1).integers(2 ** len(each), size=users) for each in columns]
    some = np.unpackbits(rows[: max(1, users // 50)], axis=1, count=layout.bits, bitorder="little")
    return Comparison(
        work=f"counting {_shape(collection)} values, {len(columns)} pairs",
        unit="us a report",
        now=Work(run=lambda: layout.count(tallies, rows), units=users),
        against={
            "unpacked": Work(run=lambda: before.count_unpacked(rows, layout.bits, columns), units=users),
            "bincount of ready patterns": Work(run=lambda: [np.bincount(each) for each in patterns], units=users),
            **peers.aggregating(some, collection.sizes),
        },
    )


def _decoding(collection: JointCollection, reports: int) -> Comparison:
    layout, rows = JointLayout(collection), rows_of(collection, reports)
    records = [_record(collection, rows, number) for number in range(_RECORDS)]
    offsets, appended = range(_RECORDS), [0] * _RECORDS

    def turn() -> object:
        state = SourcePartition(collection, layout, partition=0)
        state.take_changes()  # the claim of the partition
        state.count(offsets, appended, records)
        return state.take_changes()  # which counts what has been gathered

    return Comparison(
        work=f"decoding and counting batches of {reports}, {_shape(collection)} values, 5 pairs",
        unit="us a batch",
        now=Work(run=turn, units=_RECORDS),
        against={"checksums alone": Work(run=lambda: [zlib.crc32(each) for each in records], units=_RECORDS)},
    )


def _reading(collection: JointCollection, reports: int) -> Comparison:
    rows, count = rows_of(collection, reports), _RECORDS // 2
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 2**20)
    for number in range(count):
        builder.append(number, 0, None, _record(collection, rows, number), [])
    stored = bytes(builder.build())

    def columns() -> object:
        found = Columns.joined(runs_of(memoryview(stored)) or ())
        return found.offsets, found.timestamps_ms, found.values

    def records() -> object:
        found = list(DefaultRecordBatch(stored))
        return [each.offset for each in found], [each.timestamp for each in found], [each.value for each in found]

    return Comparison(
        work=f"reading batches of {reports} from a stored batch, {_shape(collection)} values",
        unit="us a batch",
        now=Work(run=columns, units=count),
        against={"aiokafka's records": Work(run=records, units=count)},
    )


def _record(collection: JointCollection, rows: NDArray[Any], number: int) -> bytes:
    batch_id = number.to_bytes(16, "little")
    return wire.encode(wire.Batch(fingerprint=collection.fingerprint, batch_id=batch_id, time_ms=0, rows=rows))


def _shape(collection: JointCollection) -> str:
    return f"{len(collection.sizes)} x {collection.sizes[0]}"
