"""Measure how late final answers are after a worker is killed, beside those of a calm time.

python -m tests.benchmarks.takeover --kills 3

Two workers share a topic to which batches come at an even rate. One is killed (`kill -9`), the other takes over, and
a new one is started beside it once finals come again. A final is late by the time from the end of its window to its
arrival at a consumer, which is `grace` at least. The workers have their default settings.
"""

import argparse
import asyncio
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from aiokafka import AIOKafkaConsumer, TopicPartition
from rich.console import Console

from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.records.answer import Estimate
from tests.benchmarks.growth.workers import _produce
from tests.benchmarks.speed.counting import document_of
from tests.benchmarks.speed.draining import deployed
from tests.service.harness import JointDeployment

#: Length and grace of windows, in seconds; batches a second; and calm windows that are measured before each kill.
SIZE, GRACE, RATE, CALM = 5, 1, 50, 4

#: Seconds that a final may take to come.
PATIENCE = 180.0


async def late_finals(consumer: AIOKafkaConsumer, *, after_ms: float, windows: int) -> list[float]:
    """Wait for the finals of so many windows that end after a time, and return by how many seconds each is late."""
    found: dict[int, float] = {}
    async with asyncio.timeout(PATIENCE):
        while len(found) < windows:
            final = Estimate.from_bytes((await consumer.getone()).value)
            if final.window.end_ms > after_ms:
                found.setdefault(final.window.end_ms, time.time() - final.window.end_ms / 1_000)
    return list(found.values())


async def killed(deployment: JointDeployment, kills: int) -> tuple[list[float], list[float], list[float]]:
    """Return how late the finals of calm windows were, of each kill the first one, and its seconds from the kill."""
    calm: list[float] = []
    first: list[float] = []
    since: list[float] = []
    topic = deployment.names.answers(deployment.collection)
    consumer = AIOKafkaConsumer(**deployment.settings.client_options(), enable_auto_commit=False)
    workers = [deployment.worker(fresh=True) for _ in range(2)]
    await consumer.start()
    consumer.assign([TopicPartition(topic, 0)])
    producing = asyncio.create_task(_produce(deployment, RATE, seconds=1e9))
    try:
        for worker in workers:
            await worker.ready(within=PATIENCE)
        for kill in range(kills):
            begun_ms = 1_000 * time.time()
            calm += (await late_finals(consumer, after_ms=begun_ms, windows=CALM))[1:]
            # The older one first: it leads the groups.
            worker = workers.pop(0)
            now_ms = 1_000 * time.time()
            worker.signal(signal.SIGKILL)
            await worker.ended()
            first += await late_finals(consumer, after_ms=now_ms, windows=1)
            since.append(time.time() - now_ms / 1_000)
            if kill < kills - 1:
                workers.append(deployment.worker(fresh=True))
                await workers[-1].ready(within=PATIENCE)
    finally:
        producing.cancel()
        await consumer.stop()
        for worker in workers:
            worker.signal(signal.SIGKILL)
            await worker.ended()
    return calm, first, since


def shown(late: Sequence[float]) -> str:
    """Write seconds in words."""
    return f"{np.median(late):.1f} s (median), {max(late):.1f} s (longest of {len(late)})"


def main() -> None:
    """Measure what the command line asks for."""
    arguments = argparse.ArgumentParser(prog="python -m tests.benchmarks.takeover", description=__doc__)
    arguments.add_argument("--kills", type=int, default=3, help="workers that are killed, one after the other")
    kills, console = arguments.parse_args().kills, Console(highlight=False, soft_wrap=True)
    document = document_of((2,) * 16) | {"window": {"size": f"{SIZE}s", "grace": f"{GRACE}s"}}
    with EmbeddedKafka() as kafka, tempfile.TemporaryDirectory() as directory:
        deployment = asyncio.run(deployed(Path(directory), kafka.bootstrap, document))
        calm, first, since = asyncio.run(killed(deployment, kills))
    console.print(f"finals of calm windows come {shown(calm)} after their end, of which {GRACE} s are grace")
    console.print(
        f"those of the first window that ends after a kill: {shown(first)}, or {shown(since)} from the kill"
    )


if __name__ == "__main__":
    main()
