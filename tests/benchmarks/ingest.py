"""Reports a second that a source partition counts, of RR-LDP and of sampling SH side by side, and what a sum costs.

python -m tests.benchmarks.ingest [SECONDS of each]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console

from stream_ldp.collection import Collection
from stream_ldp.kinds import kind_of
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.mechanisms import SeededEntropy, random_words, walsh
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.pipeline.statistics import ReportSums, SumTally
from stream_ldp.records.collection import JointCollection
from stream_ldp.sets.collection import ItemCollection

#: 12 + 1 bits, two bytes, as sampling SH of 4,096 items; counted in a dense table.
JOINT = """
collection: joint
mechanism: {kind: rr-ldp, f: 0.25}
attributes:
  - {name: a, values: ['1', '2', '3', '4', '5', '6', '7']}
  - {name: b, values: ['1', '2', '3', '4', '5', '6']}
estimates: [{name: both, of: [a, b]}]
window: {size: 60s}
"""
ITEMS = """
collection: items
mechanism: {kind: gfim, epsilon: 2, k: 10, set_size: 8, hash_bits: BITS}
items: {size: SIZE}
window: {size: 60s}
"""

#: 16 attributes of which each user answers one: a byte for the question, and a sampling SH of 64 values.
SAMPLED = f"""
collection: sampled
mechanism: {{kind: sampled, epsilon: 2, oracle: hadamard}}
attributes: [{", ".join(f"{{name: a{place}, values: {list(map(str, range(64)))}}}" for place in range(16))}]
window: {{size: 60s}}
"""

#: Records of a turn, as the worker takes them, and reports of a record.
RECORDS = 2_000
REPORTS = (10, 50, 250)


console = Console(highlight=False, soft_wrap=True)


def records_of(collection: Collection, rows: np.ndarray[Any, np.dtype[np.uint8]], *, reports: int) -> list[bytes]:
    """A turn's batches, all of event time 0; rows are used again and again."""
    return [
        wire.encode(
            wire.Batch(
                fingerprint=collection.fingerprint,
                batch_id=number.to_bytes(16, "little"),
                time_ms=0,
                rows=np.roll(rows, number, axis=0)[:reports],
            )
        )
        for number in range(RECORDS)
    ]


def turn_of(collection: Collection, records: list[bytes]) -> Callable[[], float]:
    """Counts a turn in a new pane; the seconds that it took."""

    def turn() -> float:
        state = SourcePartition(collection, kind_of(collection).layout(collection), partition=0)
        state.take_changes()
        began = time.perf_counter()
        state.count(range(RECORDS), [0] * RECORDS, records)
        state.take_changes()  # which counts what has been gathered
        return time.perf_counter() - began

    return turn


def best_of(*works: Callable[[], float], seconds: float) -> list[float]:
    """Least time of each, in seconds, of runs in turns, so that whatever disturbs one disturbs all."""
    times: list[list[float]] = [[] for _ in works]
    began = time.perf_counter()
    while time.perf_counter() < began + seconds * len(works):
        for work, taken in zip(works, times, strict=True):
            taken.append(work())
    return [min(taken) for taken in times]


def seconds_of(work: Callable[[], object]) -> float:
    """Least seconds of the runs of a second."""
    return min(best_of(lambda: _timed(work), seconds=1.0))


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def ingest(seconds: float) -> None:
    """One table: reports a second and their ratio."""
    rng, entropy = np.random.default_rng(1), SeededEntropy(1)
    joint = JointCollection.parse(JOINT)
    values = np.stack([rng.integers(size, size=10_000) for size in joint.sizes], axis=1)
    populations: dict[str, tuple[Collection, np.ndarray[Any, np.dtype[np.uint8]]]] = {
        "rr-ldp, 13 bits": (joint, joint.mechanism.perturb(values, entropy=entropy))
    }
    for name, size, bits in (("sampling SH, 4,096 items", 4_096, 1), ("3 hash bits, 4,096 items", 4_096, 3)):
        items = ItemCollection.parse(ITEMS.replace("SIZE", str(size)).replace("BITS", str(bits)))
        oracle = items.method.oracle(items.method.first())
        rows = oracle.perturb(rng.integers(size, size=10_000), entropy=entropy)
        populations[f"{name} ({rows.shape[1]} bytes)"] = (items, rows)
    sampled = SampledCollection.parse(SAMPLED)
    people = np.zeros(10_000, dtype=[(str(place), "<i8") for place in range(len(sampled.attributes))])
    asked = sampled.questions.numbers(random_words(len(people), entropy=entropy))
    populations["16 sampled attributes, Hadamard (2 bytes)"] = (
        sampled,
        sampled.questions.perturb(asked, people, entropy=entropy),
    )
    console.print(f"{'':40}" + "".join(f"{f'{reports} a batch':>22}" for reports in REPORTS))
    best = []
    for reports in REPORTS:
        turns = [turn_of(each, records_of(each, rows, reports=reports)) for each, rows in populations.values()]
        best.append([RECORDS * reports / taken for taken in best_of(*turns, seconds=seconds)])
    for place, name in enumerate(populations):
        cells = [f"{rates[place] / 1e6:.2f} M/s ({rates[place] / rates[0]:.2f})" for rates in best]
        console.print(f"{name:40}" + "".join(f"{cell:>22}" for cell in cells))


def largest_domain() -> None:
    """A domain of 2^20 items: transform, adding a turn, and the bytes of its sums."""
    items = ItemCollection.parse(ITEMS.replace("SIZE", str(2**20)).replace("BITS", "1"))
    oracle = items.method.oracle(items.method.first())
    numbers = np.random.default_rng(1).integers(-9, 9, size=2**20).astype(np.float64)
    console.print(f"transform of 2^20 numbers: {1e3 * seconds_of(lambda: walsh.transform(numbers.copy())):.1f} ms")
    rows = oracle.perturb(np.random.default_rng(1).integers(2**20, size=100_000), entropy=SeededEntropy(1))
    tally = SumTally(oracle)
    console.print(f"adding 2,000 of its reports: {1e3 * seconds_of(lambda: tally.update(rows[:2_000])):.1f} ms")
    rng, entropy = np.random.default_rng(1), SeededEntropy(1)
    values, counted = np.zeros(oracle.counters, dtype=np.int64), 0
    for reports in (1_000, 100_000, 10_000_000):
        while counted < reports:
            fresh = rng.integers(2**20, size=min(reports - counted, 500_000))
            values += oracle.sums(oracle.perturb(fresh, entropy=entropy))
            counted += len(fresh)
        sums = ReportSums(reports=reports, values=values)
        data = sums.to_bytes()
        wrote, read = seconds_of(sums.to_bytes), seconds_of(partial(ReportSums.from_bytes, data))
        console.print(
            f"sums of {reports:>10,} reports: {len(data):>9,} bytes, written in {1e3 * wrote:.1f} ms, "
            f"read in {1e3 * read:.1f} ms"
        )


if __name__ == "__main__":
    ingest(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)
    largest_domain()
