"""This module sends one worker more reports than it can count, and shows what grows and what does not.

python -m tests.benchmarks.overload --seconds 30
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import re
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from aiokafka import AIOKafkaProducer
from rich.console import Console

from stream_ldp.kafka.embedded import EmbeddedKafka
from tests.service.harness import JointDeployment, batches

if TYPE_CHECKING:
    from tests.service.harness import WorkerProcess

__all__ = ["main"]

SURVEY = """
collection: {name}
mechanism: {{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}}
attributes:
  - {{name: bathing, values: [no, yes]}}
  - {{name: mobility, values: [none, some, full]}}
window: {{size: 5s, grace: 1s, idle_timeout: 2s}}
estimates:
  - {{name: both, of: [bathing, mobility], method: lremh, every: 500ms}}
"""

#: Reports of a batch: few, so that a batch costs more to count than to send.
REPORTS = 5


def _flood(brokers: str, topic: str, file: Path, seconds: float) -> None:
    """Send as many batches as the brokers take, in a process of its own."""
    from stream_ldp.kinds import load_collection  # noqa: PLC0415

    async def send() -> None:
        collection, rng = load_collection(file), np.random.default_rng(1)
        producer = AIOKafkaProducer(bootstrap_servers=brokers, acks=1, linger_ms=20, max_batch_size=2**18)
        await producer.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            now = time.time_ns() // 1_000_000
            for value in batches(collection, [now] * 2_000, reports=REPORTS, rng=rng):  # type: ignore[arg-type]
                await producer.send(topic, value)
        await producer.stop()

    asyncio.run(send())


async def _metric(worker: WorkerProcess, name: str) -> float:
    """Sum a metric over its labels."""
    _, text = await worker.get("/metrics")
    return sum(float(value) for value in re.findall(rf"^stream_ldp_{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE))


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


async def overload(seconds: float, console: Console) -> None:
    """Run a worker through some calm seconds, a flood and the time after it; print a line every few seconds."""
    with tempfile.TemporaryDirectory() as directory, EmbeddedKafka() as broker:
        deployment = await JointDeployment.create(
            Path(directory), brokers=broker.bootstrap, prefix="overload", text=SURVEY
        )
        topic = deployment.names.reports("survey")
        with deployment.worker() as worker:
            await worker.ready()
            provisional = r'estimates_published_total{collection="survey",kind="provisional"}'
            phases = (("calm", 0.0), ("overload", seconds))
            for phase, flooding in phases:
                delays: list[float] = []
                context = multiprocessing.get_context("spawn")
                length = flooding or 10.0
                flood = context.Process(
                    target=_flood, args=(broker.bootstrap, topic, deployment.file, length if flooding else 0.01)
                )
                flood.start()
                before = await _published(worker, provisional)
                counted, began = await _metric(worker, "reports_counted_total"), time.monotonic()
                until = began + length
                probing = asyncio.create_task(_measure(worker, delays, until))
                while time.monotonic() < until:
                    await asyncio.sleep(min(5.0, max(0.1, until - time.monotonic())))
                    console.print(
                        f"{phase:9} {time.monotonic() - began:5.0f} s: lag "
                        f"{await _metric(worker, 'consumer_lag_records'):>10,.0f} batches, "
                        f"memory {_memory_mb(worker):6.1f} MB"
                    )
                await probing
                flood.join()
                rate = (await _metric(worker, "reports_counted_total") - counted) / (time.monotonic() - began)
                published = await _published(worker, provisional) - before
                console.print(
                    f"{phase:9} counted {rate:,.0f} reports/s; {published / length:.2f} provisionals/s; /livez p50 "
                    f"{np.quantile(delays, 0.5) * 1e3:.0f} ms, p99 {np.quantile(delays, 0.99) * 1e3:.0f} ms, "
                    f"of {len(delays)}"
                )
            lag, began = await _metric(worker, "consumer_lag_records"), time.monotonic()
            while await _metric(worker, "consumer_lag_records") > 0:
                await asyncio.sleep(0.5)
            took = time.monotonic() - began
            console.print(
                f"catch-up  {lag:,.0f} batches in {took:.1f} s: {lag * REPORTS / max(took, 0.5):,.0f} reports/s; "
                f"memory {_memory_mb(worker):.1f} MB"
            )


async def _published(worker: WorkerProcess, line: str) -> float:
    _, text = await worker.get("/metrics")
    return next((float(each.rpartition(" ")[2]) for each in text.splitlines() if line in each), 0.0)


def main() -> None:
    """Measure what the command line asks for."""
    arguments = argparse.ArgumentParser(prog="python -m tests.benchmarks.overload", description=__doc__)
    arguments.add_argument("--seconds", type=float, default=30.0, help="of the flood")
    given = arguments.parse_args()
    asyncio.run(overload(given.seconds, Console(highlight=False, soft_wrap=True)))


if __name__ == "__main__":
    main()
