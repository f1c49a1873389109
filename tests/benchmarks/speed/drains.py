"""Other ways to drain a topic than by a worker, each in a process of its own, which prints what it took as JSON.

python -m tests.benchmarks.speed.drains HOW BROKERS TOPIC RECORDS
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiokafka import AIOKafkaConsumer

from tests.benchmarks.faust_agent import reading

#: Partitions of the reports topic, unless a row says otherwise.
PARTITIONS = 4


async def _timed(progress: Callable[[], int], end: int, step: Callable[[], Awaitable[object]]) -> dict[str, float]:
    """Take steps until the end, and measure from the first on that makes progress."""
    began = worked = 0.0
    while not progress():
        began, worked = time.perf_counter(), time.process_time()
        await step()
    while progress() < end:
        await step()
    return {
        "records": progress(),
        "seconds": time.perf_counter() - began,
        "processor": time.process_time() - worked,
    }


async def bare(brokers: str, topic: str, records: int) -> dict[str, float]:
    """Drain by an aiokafka consumer that sums the lengths of the values."""
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=brokers, enable_auto_commit=False, auto_offset_reset="earliest"
    )
    await consumer.start()
    drained = length = 0

    async def step() -> None:
        nonlocal drained, length
        for found in (await consumer.getmany(timeout_ms=200)).values():
            length += sum([len(record.value) for record in found])
            drained += len(found)

    try:
        return await _timed(lambda: drained, records, step)
    finally:
        await consumer.stop()


async def summing_agent(brokers: str, topic: str, records: int) -> dict[str, float]:
    """Drain by a Faust agent that sums the lengths of the values."""
    return await _agent(brokers, topic, records, len)


async def counting_agent(brokers: str, topic: str, records: int) -> dict[str, float]:
    """Drain by a Faust agent that decodes and counts event by event, as a worker does for many records at once."""
    from stream_ldp.pipeline import wire  # noqa: PLC0415  not to be loaded by a bare consumer
    from stream_ldp.records.layout import JointLayout  # noqa: PLC0415
    from tests.benchmarks.speed.counting import collection_of  # noqa: PLC0415

    layout = JointLayout(collection_of((2,) * 16))
    tallies = layout.tallies()

    def count(value: bytes) -> int:
        decoded = wire.decode([value], formats={layout.fingerprint: layout})
        layout.count(tallies, decoded.rows[0])
        return int(decoded.counts[0])

    return await _agent(brokers, topic, records, count)


async def _agent(brokers: str, topic: str, records: int, work: Callable[[bytes], int]) -> dict[str, float]:
    drained = total = 0

    async def drain(stream: Any) -> None:
        nonlocal drained, total
        async for event in stream.events():
            total += work(event.value)
            drained += 1

    async with reading(brokers, topic, drain):
        return await _timed(lambda: drained, records, lambda: asyncio.sleep(0.005))


if __name__ == "__main__":
    _ways = {"bare": bare, "summing-agent": summing_agent, "counting-agent": counting_agent}
    print(json.dumps(asyncio.run(_ways[sys.argv[1]](sys.argv[2], sys.argv[3], int(sys.argv[4])))))  # noqa: T201
