"""Send one worker more reports than it can count, and show what grows and what does not.

The worker has one processor, which it shares, during the flood, with processes that do nothing but compute. Several
producers and the broker have the others.

python -m tests.benchmarks.overload --seconds 30
"""

import argparse
import asyncio
import contextlib
import multiprocessing
import os
import re
import tempfile
import time
from pathlib import Path

import numpy as np
from aiokafka import AIOKafkaProducer
from rich.console import Console

from stream_ldp.kafka.embedded import EmbeddedKafka
from tests.service.harness import JointDeployment, WorkerProcess, batches

SURVEY = """
collection: {name}
mechanism: {{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}}
attributes:
  - {{name: a, values: [0, 1, 2, 3, 4, 5, 6, 7]}}
  - {{name: b, values: [0, 1, 2, 3, 4, 5, 6, 7]}}
  - {{name: c, values: [0, 1, 2, 3, 4, 5, 6, 7]}}
window: {{size: 5s, grace: 1s, idle_timeout: 2s}}
estimates:
  - {{name: ab, of: [a, b], every: 200ms}}
  - {{name: bc, of: [b, c], every: 200ms}}
"""
#: One estimate more. A window keeps each different row of its 24 bits, and nearly every report has a row of its own.
WIDE = "  - {{name: abc, of: [a, b, c], every: 500ms}}\n"

#: Reports of a batch: few, so that a batch costs more to count than to send.
REPORTS = 5

#: Batches of a calm second, of all producers.
CALM = 400


def _flood(brokers: str, topic: str, file: Path, seconds: float, rate: float | None, number: int) -> None:
    """Send so many batches a second, or as many as the brokers take, in a process of its own."""
    from stream_ldp.kinds import load_collection  # noqa: PLC0415

    _keep_off_the_workers_processor()

    async def send() -> None:
        collection, rng = load_collection(file), np.random.default_rng(number)
        producer = AIOKafkaProducer(bootstrap_servers=brokers, acks=1, linger_ms=20, max_batch_size=2**18)
        await producer.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            now = time.time_ns() // 1_000_000
            some = 2_000 if rate is None else round(rate / 10)
            for value in batches(collection, [now] * some, reports=REPORTS, rng=rng):  # type: ignore[arg-type]
                await producer.send(topic, value)
            if rate is not None:
                await asyncio.sleep(0.1)
        await producer.stop()

    asyncio.run(send())


def _compute() -> None:
    """Compute for ever, on the worker's processor."""
    os.sched_setaffinity(0, {0})
    while True:
        sum(range(100_000))


def _keep_off_the_workers_processor() -> None:
    if len(others := os.sched_getaffinity(0) - {0}) > 0:
        os.sched_setaffinity(0, others)


#: Provisional answers that are published and that are left out, and reports that are counted, as `_metric` has them.
COUNTS = (
    r'estimates_published_total\{[^}]*kind="provisional"\}',
    r"provisionals_skipped_total\{[^}]*\}",
    r"reports_counted_total\{[^}]*\}",
)
LAG = r"consumer_lag_records\{[^}]*\}"


async def _metric(worker: WorkerProcess, pattern: str) -> float:
    """Sum the samples of a metric whose names and labels match."""
    _, text = await worker.get("/metrics")
    return sum(float(value) for value in re.findall(rf"^stream_ldp_{pattern} (\S+)$", text, re.MULTILINE))


async def _measure(worker: WorkerProcess, delays: list[float], until: float) -> None:
    """Note how long /livez takes, again and again."""
    while time.monotonic() < until:
        began = time.monotonic()
        status, _ = await worker.get("/livez")
        assert status == 200, worker.log
        delays.append(time.monotonic() - began)
        await asyncio.sleep(0.02)


def _memory_mb(worker: WorkerProcess) -> float:
    fields = Path(f"/proc/{worker.process.pid}/statm").read_text().split()
    return int(fields[1]) * 4_096 / 2**20


async def overload(seconds: float, producers: int, beside: int, console: Console, *, wide: bool = False) -> None:
    """Run a worker through some calm seconds, a flood and the time after it; print a line every few seconds.

    beside: number of processes that compute on the worker's processor.
    wide: whether there is an estimate of 24 bits too.
    """
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as directory, EmbeddedKafka() as broker, contextlib.ExitStack() as stack:
        _keep_off_the_workers_processor()
        deployment = await JointDeployment.create(
            Path(directory), brokers=broker.bootstrap, prefix="overload", text=SURVEY + WIDE * wide
        )
        worker = stack.enter_context(deployment.worker())
        await worker.ready()
        for thread in Path(f"/proc/{worker.process.pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {0})
        for phase, length, rate in (("calm", 15.0, CALM / producers), ("overload", seconds, None)):
            floods = [
                context.Process(
                    target=_flood,
                    args=(
                        broker.bootstrap,
                        deployment.names.reports("survey"),
                        deployment.file,
                        length,
                        rate,
                        number,
                    ),
                )
                for number in range(producers)
            ]
            computing = [context.Process(target=_compute, daemon=True) for _ in range(0 if rate else beside)]
            for process in (*floods, *computing):
                process.start()
            published, skipped, counted = [await _metric(worker, name) for name in COUNTS]
            delays: list[float] = []
            began = time.monotonic()
            probing = asyncio.create_task(_measure(worker, delays, began + length))
            while time.monotonic() < began + length:
                await asyncio.sleep(min(5.0, max(0.1, began + length - time.monotonic())))
                console.print(
                    f"{phase:9} {time.monotonic() - began:5.0f} s: lag "
                    f"{await _metric(worker, LAG):>10,.0f} batches, memory {_memory_mb(worker):6.1f} MB"
                )
            await probing
            took = time.monotonic() - began
            now = [await _metric(worker, name) for name in COUNTS]
            for process in computing:
                process.kill()
            for process in floods:
                process.join()
            console.print(
                f"{phase:9} counted {(now[2] - counted) / took:,.0f} reports/s; "
                f"{(now[0] - published) / took:.2f} provisionals/s, {(now[1] - skipped) / took:.2f}/s left out; "
                f"/livez p50 {np.quantile(delays, 0.5) * 1e3:.0f} ms, p99 {np.quantile(delays, 0.99) * 1e3:.0f} ms, "
                f"of {len(delays)}"
            )
        lag, began = await _metric(worker, LAG), time.monotonic()
        while await _metric(worker, LAG) > 0:
            await asyncio.sleep(0.5)
        took = time.monotonic() - began
        console.print(
            f"catch-up  {lag:,.0f} batches in {took:.1f} s: {lag * REPORTS / max(took, 0.5):,.0f} reports/s; "
            f"memory {_memory_mb(worker):.1f} MB"
        )


def main() -> None:
    """Measure what the command line asks for."""
    arguments = argparse.ArgumentParser(prog="python -m tests.benchmarks.overload", description=__doc__)
    arguments.add_argument("--seconds", type=float, default=30.0, help="of the flood")
    arguments.add_argument("--producers", type=int, default=3, help="that send it")
    arguments.add_argument("--beside", type=int, default=1, help="processes that compute on the worker's processor")
    arguments.add_argument("--wide", action="store_true", help="with an estimate of 24 bits too")
    given = arguments.parse_args()
    console = Console(highlight=False, soft_wrap=True)
    asyncio.run(overload(given.seconds, given.producers, given.beside, console, wide=given.wide))


if __name__ == "__main__":
    main()
