"""How long /livez takes to answer while a worker's solver solves wide estimates for some collections.

python -m tests.benchmarks.liveness [COLLECTIONS] [SECONDS]
"""

import asyncio
import sys
import threading
import time
import urllib.request
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console

from stream_ldp.kinds import solve
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.collection import JointCollection
from stream_ldp.service.admin import AdminServer
from stream_ldp.service.metrics import Metrics
from stream_ldp.service.solver import Solver

#: 24,336 cells.
SIZES = (12, 12, 13, 13)
REPORTS = 2_000


class Health:
    def live(self) -> list[str]:
        return []

    def ready(self) -> list[str]:
        return []


def wide(name: str) -> JointCollection:
    attributes = "\n".join(f"  - {{name: a{n}, values: {[f'v{v}' for v in range(r)]}}}" for n, r in enumerate(SIZES))
    return JointCollection.parse(f"""
collection: {name}
mechanism: {{kind: rr-ldp, f: 0.25}}
attributes:
{attributes}
window: {{size: 60s}}
estimates: [{{name: all, of: [a0, a1, a2, a3]}}]
""")


def question_of(collection: JointCollection) -> WindowTask[Any, Any]:
    values = np.random.default_rng(1).integers(0, SIZES, size=(REPORTS, len(SIZES)))
    rows = collection.mechanism.perturb(values, entropy=SeededEntropy(1))
    counts = RowCounts.of(rows, bits=collection.mechanism.bits)
    return WindowTask(
        series=collection.estimates[0], window_ms=0, final=True, windows=((1.0, (counts,)),), before=None
    )


def ask(url: str, latencies: list[float], stop: threading.Event) -> None:
    while not stop.wait(0.02):
        began = time.perf_counter()
        urllib.request.urlopen(url).read()
        latencies.append(time.perf_counter() - began)


async def measure(collections: int, seconds: float) -> tuple[list[float], int]:
    """Return the seconds of every answer, and how many estimates were solved meanwhile."""
    names = [f"wide-{number}" for number in range(collections)]
    metrics = Metrics(names)
    server = AdminServer(host="127.0.0.1", port=0, health=Health(), metrics=metrics)
    await server.start()
    solver, solved = Solver(metrics=metrics.solve), 0

    async def solve_on(collection: JointCollection) -> None:
        nonlocal solved
        task = question_of(collection)
        while True:
            await solver.work(collection, task, partial(solve, collection, task))
            solved += 1

    tasks = [asyncio.create_task(solve_on(wide(name))) for name in names]
    latencies: list[float] = []
    stop = threading.Event()
    asking = asyncio.create_task(asyncio.to_thread(ask, f"http://127.0.0.1:{server.port}/livez", latencies, stop))
    await asyncio.sleep(seconds)
    stop.set()
    await asking
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await server.stop()
    return sorted(latencies), solved


def main(collections: int = 1, seconds: float = 15.0) -> None:
    latencies, solved = asyncio.run(measure(collections, seconds))
    p50, p99 = (1_000 * latencies[int(len(latencies) * share)] for share in (0.5, 0.99))
    Console(highlight=False, soft_wrap=True).print(
        f"{collections} collections of {np.prod(SIZES):,} cells, {solved} estimates solved: "
        f"/livez answers after {p50:.1f} ms (median), {p99:.1f} ms (p99), {1_000 * latencies[-1]:.1f} ms (longest)"
    )


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((int, float), sys.argv[1:], strict=False)))
