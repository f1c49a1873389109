"""Count and merge many windows in one process, and show that its memory does not grow with them.

python -m tests.benchmarks.soak --windows 100000 --reports 10000000
"""

import argparse
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console

from stream_ldp.kinds import solve
from stream_ldp.pipeline import partials, wire
from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.partials import Partial, Watermark
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.layout import JointLayout

COLLECTION = JointCollection.parse(
    """
collection: care
mechanism: {kind: rr-ldp, f: 0.5}
attributes: [{name: bathing, values: [no, yes]}, {name: mobility, values: [none, some, full]}]
window: {size: 1s, grace: 500ms}
estimates: [{name: both, of: [bathing, mobility]}]
"""
)

#: Looks at the memory in the course of a soak.
SAMPLES = 10


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What a process is like after some windows.

    memory_bytes: the most memory that it has had so far.
    """

    windows: int
    reports: int
    seconds: float
    memory_bytes: int


def soak(*, windows: int, reports: int, partitions: int = 2) -> Iterator[Sample]:
    """Count so many reports in so many windows, merge them and decide each window; yield SAMPLES samples."""
    rng = np.random.default_rng(7)
    states = [SourcePartition(COLLECTION, JointLayout(COLLECTION), partition=each) for each in range(partitions)]
    merge = Merge(COLLECTION, partitions=partitions)
    merge.expect(JointLayout(COLLECTION))
    began, counted, decided = time.monotonic(), 0, 0
    answer: Estimate | None = None
    for state in states:
        state.take_changes()
    for number in range(windows):
        now = 1_700_000_000_000 + number * 1_000
        for state in states:
            share = reports // windows // partitions
            rows = rng.integers(32, size=(share, 1), dtype=np.uint8)
            made = wire.Batch(fingerprint=COLLECTION.fingerprint, batch_id=rng.bytes(16), time_ms=now, rows=rows)
            counted += state.count([state.position], [now], [wire.encode(made)]).reports
            changes = state.take_changes()
            assert changes is not None
            written: list[Partial | Watermark] = [*changes.partials, *filter(None, [changes.watermark])]
            for record in written:
                read = partials.decode(partials.encode(record, writer="soak")[1])
                assert isinstance(read, Partial | Watermark)
                merge.apply(read)
        while (task := merge.due()) is not None:
            answer = _answer(task, answer)
            merge.decide(answer)
            decided += 1
        merge.forget()
        if (number + 1) % (windows // SAMPLES) == 0:
            yield Sample(
                windows=decided,
                reports=counted,
                seconds=time.monotonic() - began,
                memory_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024,
            )


def _answer(task: Any, before: Estimate | None) -> Estimate:
    """Answer the first question, and after that the same: what is soaked is not the solver."""
    if before is None:
        solved = solve(COLLECTION, task)
        assert isinstance(solved, Estimate)
        return solved
    bounds = WindowBounds(start_ms=task.window_ms, end_ms=task.window_ms + COLLECTION.window.size_ms)
    return before.model_copy(update={"window": bounds, "reports": task.reports})


def main() -> None:
    """Print a line for each sample."""
    arguments = argparse.ArgumentParser(prog="python -m tests.benchmarks.soak", description=__doc__)
    arguments.add_argument("--windows", type=int, default=100_000)
    arguments.add_argument("--reports", type=int, default=10_000_000)
    given = arguments.parse_args()
    console = Console(highlight=False)
    for each in soak(windows=given.windows, reports=given.reports):
        console.print(
            f"{each.windows:>9,} windows {each.reports:>12,} reports {each.seconds:>6.0f} s "
            f"{each.memory_bytes / 2**20:>7.1f} MB"
        )


if __name__ == "__main__":
    main()
