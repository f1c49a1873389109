"""Tests, on a real Kafka, of few compressed bytes that expand to many, which a worker outlasts."""

import asyncio
import hashlib
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from stream_ldp.kafka.decompression import MAX_EXPANDED_REPORTS_BYTES
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.service.dead_letters import MAX_VALUE_BYTES, DeadLetter
from tests.service.harness import JointDeployment, WorkerProcess, batches

SEED = 20261124

#: Batches that expand far, by partition: a fetch of aiokafka has all of them.
BOMBS = 30

#: Memory, in MB, that they may cost a worker at most. Expanded all at once, they are 500.
COST_MB = 150


@pytest.fixture
async def deployment(tmp_path: Path, kafka: EmbeddedKafka, prefix: str) -> JointDeployment:
    return await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix)


def send(deployment: JointDeployment, values: Sequence[bytes], *, together: bool = False) -> None:
    """Write values compressed with zstd, each in a batch of its own or all in one, to the partitions in turn."""
    confluent_kafka = pytest.importorskip("confluent_kafka", reason="the demo extra is not installed")
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": deployment.settings.brokers,
            "compression.type": "zstd",
            "message.max.bytes": 200_000_000,
            "batch.size": 100_000_000,
            "batch.num.messages": 1_000_000 if together else 1,
            "linger.ms": 500 if together else 0,
        }
    )
    for number, value in enumerate(values):
        producer.produce(deployment.names.reports("survey"), value, partition=0 if together else number % 4)
        if not together and number % 20 == 19:
            producer.flush(30)
    assert producer.flush(30) == 0


def peak_mb(worker: WorkerProcess) -> float:
    """Return the most memory that a worker has had at a time."""
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{worker.process.pid}/status").read_text(encoding="utf-8"))
    return int(peak) / 1_024


async def letters(deployment: JointDeployment, count: int) -> list[DeadLetter]:
    """Wait for the dead letters of so many records."""
    async with asyncio.timeout(60):
        while True:
            found = [
                DeadLetter.of(each) for each in await deployment.records(deployment.names.dead_letters("survey"))
            ]
            if sum(each.count for each in found) >= count:
                return found
            await asyncio.sleep(0.5)


async def count_some(deployment: JointDeployment, worker: WorkerProcess) -> None:
    """Let honest reports be counted, each once."""
    now_ms = time.time_ns() // 1_000_000
    rng = np.random.default_rng(SEED)
    await deployment.send(batches(deployment.collection, [now_ms] * 20, reports=5, rng=rng))
    await deployment.finals_of(100)
    await worker.ready()
    assert worker.process.poll() is None


async def test_a_value_of_any_length_becomes_a_letter_that_can_be_written(deployment: JointDeployment) -> None:
    lengths = [n + d for n in (2**20, 2**22, 2**24, 2**26) for d in (-1, 0, 1)] + [17 * 2**20, 2**21]
    await asyncio.to_thread(send, deployment, [bytes(length) for length in lengths])
    with deployment.worker() as worker:
        await count_some(deployment, worker)
        found = await letters(deployment, len(lengths))
    refused: Counter[str] = Counter()
    for each in found:
        refused[each.reason.value] += each.count
    assert refused == {
        # Those of 4 MiB and more make a record batch that is longer than a batch of reports may be.
        "bad_magic": sum(length < MAX_EXPANDED_REPORTS_BYTES - 100 for length in lengths),
        "unreadable_record": sum(length >= MAX_EXPANDED_REPORTS_BYTES - 100 for length in lengths),
    }
    carried = {len(each.value) for each in found if each.value}
    assert carried == {2**20 - 1, 2**20}
    assert {each.value_bytes for each in found if each.value is None} == {2**20 + 1, 2**21}
    (stored,) = [
        dict(each.headers)
        for each in await deployment.records(deployment.names.dead_letters("survey"))
        if ("value-length", b"%d" % 2**21) in each.headers
    ]
    assert stored["value-sha256"].decode() == hashlib.sha256(bytes(2**21)).hexdigest()
    assert MAX_VALUE_BYTES == 2**20


@pytest.mark.parametrize(
    "length",
    [
        pytest.param(MAX_EXPANDED_REPORTS_BYTES - 1_000, id="within"),
        # By their length alone they are refused, which tests/kafka/test_decompression.py holds decompression to.
        pytest.param(15 * 2**20, id="too far", marks=pytest.mark.long),
    ],
)
async def test_batches_that_expand_far_cost_a_worker_bounded_memory(deployment: JointDeployment, length: int) -> None:
    with deployment.worker() as worker:
        await count_some(deployment, worker)
        before = peak_mb(worker)
        await asyncio.to_thread(send, deployment, [bytes(length)] * (4 * BOMBS))
        found = await letters(deployment, 4 * BOMBS)
        assert peak_mb(worker) - before < COST_MB
        await worker.ready()
    assert sum(each.count for each in found) == 4 * BOMBS
    assert not any(each.value for each in found)


async def test_records_of_a_batch_that_are_refused_alike_share_a_letter(deployment: JointDeployment) -> None:
    await asyncio.to_thread(send, deployment, [b""] * 100_000, together=True)
    with deployment.worker() as worker:
        await count_some(deployment, worker)
        found = await letters(deployment, 100_000)
        _, metrics = await worker.get("/metrics")
    assert 'batches_rejected_total{collection="survey",reason="too_short"} 100000.0' in metrics
    assert len(found) < 200
    places = [place for each in found for place in each.places]
    assert len(places) == len(set(places)) == 100_000
