"""The cost of counting, solving and merging against one size at a time, all others being equal."""

import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from stream_ldp.mechanisms import RRLDP, SeededEntropy
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.partials import Partial, Watermark
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.pipeline.windows import closes_at
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.layout import JointLayout
from stream_ldp.records.solve import solve
from tests.benchmarks.speed.counting import document_of, rows_of
from tests.client.examples import estimate_of
from tests.records.estimators.examples import latent

#: Records of a turn of the worker.
_RECORDS = 2_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """A cost against a size.

    against, cost: what is varied, and what is measured, with its unit.
    points: from the scale of the work, sizes and functions that return the cost at them.
    """

    against: str
    cost: str
    points: Callable[[float], Iterator[tuple[int, Callable[[], float]]]]


def measured(curve: Curve, *, scale: float, rounds: int) -> dict[str, Any]:
    """Measure all points in turns, and describe the medians as JSON."""
    points = list(curve.points(scale))
    # What is done once, at the first use, is no cost of a size.
    points[0][1]()
    costs: list[list[float]] = [[] for _ in points]
    for _ in range(rounds):
        for found, (_, cost) in zip(costs, points, strict=True):
            found.append(cost())
    return {
        "against": curve.against,
        "cost": curve.cost,
        "points": [
            [size, float(f"{statistics.median(found):.3g}")] for (size, _), found in zip(points, costs, strict=True)
        ],
    }


def _seconds(work: Callable[[], object]) -> float:
    """Return the processor's seconds of one run."""
    began = time.process_time()
    work()
    return time.process_time() - began


def _collection(attributes: int, size: int, *, estimates: int = 5, window: str = "60s") -> JointCollection:
    document = document_of((size,) * attributes, window=window)
    pairs = [(i, j) for i in range(attributes) for j in range(i)][:estimates]
    document["estimates"] = [{"name": f"e{n}", "of": [f"a{j}", f"a{i}"]} for n, (i, j) in enumerate(pairs)]
    return JointCollection.model_validate(document)


def _counting(collection: JointCollection, *, records: int, reports: int, partitions: int = 1) -> Callable[[], float]:
    """Return a function that counts batches, spread over partitions, and returns the microseconds a batch."""
    layout, rows = JointLayout(collection), rows_of(collection, reports)
    values = [
        wire.encode(
            wire.Batch(
                fingerprint=collection.fingerprint, batch_id=number.to_bytes(16, "little"), time_ms=0, rows=rows
            )
        )
        for number in range(records)
    ]
    parts = [values[partition::partitions] for partition in range(partitions)]

    def count() -> None:
        for partition, part in enumerate(parts):
            state = SourcePartition(collection, layout, partition=partition)
            state.take_changes()  # the claim of the partition
            state.count(range(len(part)), [0] * len(part), part)
            state.take_changes()  # which counts what has been gathered

    return lambda: 1e6 * _seconds(count) / records


def _of_reports(scale: float) -> Iterator[tuple[int, Callable[[], float]]]:
    for reports in (1, 10, 50, 250, 1_000):
        yield reports, _counting(_collection(16, 2), records=max(1, round(scale * _RECORDS)), reports=reports)


def _of_estimates(scale: float) -> Iterator[tuple[int, Callable[[], float]]]:
    for estimates in (1, 5, 20, 60, 120):
        collection = _collection(16, 2, estimates=estimates)
        yield estimates, _counting(collection, records=max(1, round(scale * _RECORDS)), reports=50)


def _of_partitions(scale: float) -> Iterator[tuple[int, Callable[[], float]]]:
    for partitions in (1, 4, 16, 64):
        records = max(partitions, round(scale * _RECORDS))
        yield partitions, _counting(_collection(16, 2), records=records, reports=50, partitions=partitions)


def _of_collections(scale: float) -> Iterator[tuple[int, Callable[[], float]]]:
    """Count as many batches in all, in turns of ever fewer for each collection."""
    for number in (1, 4, 16, 64):
        records = max(1, round(scale * _RECORDS) // number)
        counts = [_counting(_collection(16, 2), records=records, reports=50) for _ in range(number)]
        yield number, lambda counts=counts: statistics.mean(count() for count in counts)  # type: ignore[misc]


def _solving(sizes: tuple[int, ...], reports: int) -> Callable[[], float]:
    """Return a function that solves a first window, and returns the milliseconds."""
    joint = latent(sizes, seed=1)
    mechanism = RRLDP(sizes=sizes, f=0.25, p=0.25, q=0.75)
    cells = np.random.default_rng(1).choice(joint.size, size=reports, p=joint.ravel())
    rows = mechanism.perturb(np.stack(np.unravel_index(cells, sizes), axis=1), entropy=SeededEntropy(1))
    counts = RowCounts.of(rows, bits=mechanism.bits)
    document = document_of(sizes)
    document["estimates"] = [{"name": "all", "of": [f"a{j}" for j in range(len(sizes))]}]
    collection = JointCollection.model_validate(document)
    task: WindowTask[Any, Any] = WindowTask(
        series=collection.estimates[0], window_ms=0, final=True, windows=((1.0, (counts,)),), before=None
    )
    return lambda: 1e3 * _seconds(lambda: solve(collection, task))


def _of_cells(scale: float) -> Iterator[tuple[int, Callable[[], float]]]:
    for sizes in ((2, 2), (4, 4), (8, 8), (8, 8, 4), (8, 8, 8), (16, 16, 8)):
        yield int(np.prod(sizes)), _solving(sizes, round(scale * 100_000))


def _of_window_reports(scale: float) -> Iterator[tuple[int, Callable[[], float]]]:
    for reports in (10_000, 100_000, 1_000_000, 5_000_000):
        yield reports, _solving((8, 8), round(scale * reports))


def _memory(scale: float) -> Iterator[tuple[int, Callable[[], float]]]:
    """The longer a window, the more batches it has; their ids are kept until it closes."""
    collection = _collection(16, 2)
    layout, rows = JointLayout(collection), rows_of(collection, 50)
    for batches in (1_000, 10_000, 100_000):

        def grown(records: int = max(1, round(scale * batches))) -> float:
            state = SourcePartition(collection, layout, partition=0)
            state.take_changes()  # the claim of the partition
            tracemalloc.start()
            for begin in range(0, records, _RECORDS):
                values = [
                    wire.encode(
                        wire.Batch(
                            fingerprint=collection.fingerprint,
                            batch_id=number.to_bytes(16, "little"),
                            time_ms=0,
                            rows=rows,
                        )
                    )
                    for number in range(begin, min(records, begin + _RECORDS))
                ]
                state.count(range(begin, begin + len(values)), [0] * len(values), values)
                state.take_changes()  # which counts what has been gathered
            del values
            held = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
            return held / 2**10

        yield batches, grown


def _of_past_windows(scale: float) -> Iterator[tuple[int, Callable[[], float]]]:
    """Close windows, and rebuild the next one from where the merge says that it can be rebuilt."""
    collection = _collection(16, 2, estimates=1)
    spec, window = collection.estimates[0], collection.window
    counts = RowCounts.of(rows_of(collection, 50)[:, :1] & np.uint8(15), bits=4)
    source = {
        "collection": collection.name,
        "fingerprint": collection.fingerprint.hex(),
        "partition": 0,
        "generation": 1,
    }
    final = estimate_of(estimate=spec.name)

    def decided(number: int) -> Estimate:
        start_ms = number * window.size_ms
        bounds = WindowBounds(start_ms=start_ms, end_ms=start_ms + window.size_ms)
        return final.model_copy(update={"window": bounds})

    def read_again(windows: int) -> float:
        merge, log = Merge(collection, partitions=1), list[Partial | Watermark]()
        for number in range(windows):
            start_ms = number * window.size_ms
            log.append(
                Partial(
                    **source,  # type: ignore[arg-type]
                    pane_ms=start_ms,
                    pane_length_ms=window.pane_ms,
                    of=spec.of,
                    segment=0,
                    end=number + 1,
                    counts=counts,
                )
            )
            log.append(Watermark(**source, time_ms=closes_at(start_ms, window)))  # type: ignore[arg-type]
            for offset in (2 * number, 2 * number + 1):
                merge.apply(log[offset], offset=offset)
            merge.decide(decided(number), offset=number)
            merge.forget()
        begin = merge.checkpoint
        assert begin is not None
        rebuilt = Merge(collection, partitions=1)
        rebuilt.resume(begin)
        for number in range(begin.answers, windows):
            rebuilt.decide(decided(number), offset=number)
        for offset in range(begin.partials, len(log)):
            rebuilt.apply(log[offset], offset=offset)
        assert (rebuilt.due(), rebuilt.watermark_ms) == (None, merge.watermark_ms)
        return windows - begin.answers + len(log) - begin.partials

    for windows in (10, 100, 1_000, 10_000):
        yield windows, partial(read_again, max(2, round(scale * windows)))


CURVES = (
    Curve(against="reports of a batch", cost="us a batch, counted", points=_of_reports),
    Curve(against="estimates of pairs", cost="us a batch of 50, counted", points=_of_estimates),
    Curve(against="partitions of a worker", cost="us a batch of 50, counted", points=_of_partitions),
    Curve(against="collections of a worker", cost="us a batch of 50, counted", points=_of_collections),
    Curve(against="cells of an estimate, 100,000 reports", cost="ms a first solve", points=_of_cells),
    Curve(against="reports in a window, 8 x 8 cells", cost="ms a first solve", points=_of_window_reports),
    Curve(against="batches in an open window", cost="KiB of memory", points=_memory),
    Curve(against="past windows on the log", cost="records read at a restart", points=_of_past_windows),
)
