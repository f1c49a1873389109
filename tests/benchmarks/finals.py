"""Measure what it costs that each final answer is on the log once: a transaction in place of a write.

python -m tests.benchmarks.finals --finals 500
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable

import numpy as np
from rich.console import Console

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.fenced_producer import FencedProducer
from stream_ldp.kafka.producer import Producer, Record
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import TopicSpec

#: Bytes of a final answer of some dozens of cells, and how often a topic is taken.
FINAL_BYTES, TAKEN = 4_000, 20

TOPIC = "finals"


async def _milliseconds(of: Callable[[], Awaitable[object]], times: int) -> np.ndarray:
    """Measure how long something takes, time after time."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        await of()
        took.append(1_000 * (time.perf_counter() - began))
    return np.array(took)


async def measure(finals: int, console: Console) -> None:
    """Write so many finals in each way, and take the topic now and then; print a line for each."""
    with EmbeddedKafka() as broker:
        settings = Settings.load(brokers=broker.bootstrap)
        async with Cluster.connect(settings) as cluster:
            await cluster.create([TopicSpec(name=TOPIC, partitions=1, config={})], replication=1)
        record = Record(topic=TOPIC, key=b"final", value=bytes(FINAL_BYTES), partition=0)
        plain = Producer(settings)
        fenced = FencedProducer(settings, topic=TOPIC, max_record_bytes=2**20, acknowledge_seconds=60.0)
        await plain.start()
        took = {
            "a write": await _milliseconds(lambda: plain.write(record), finals),
            "taking the topic": await _milliseconds(fenced.take, TAKEN),
            "a write in a transaction": await _milliseconds(lambda: fenced.write(record), finals),
        }
        await plain.stop()
        await fenced.stop()
    for what, each in took.items():
        median, most = np.quantile(each, [0.5, 0.99])
        console.print(f"{what:24} {median:5.1f} ms (median), {most:5.1f} ms (p99)")


def main() -> None:
    """Measure what the command line asks for."""
    arguments = argparse.ArgumentParser(prog="python -m tests.benchmarks.finals", description=__doc__)
    arguments.add_argument("--finals", type=int, default=500, help="number of finals to write in each way")
    given = arguments.parse_args()
    asyncio.run(measure(given.finals, Console(highlight=False, soft_wrap=True)))


if __name__ == "__main__":
    main()
