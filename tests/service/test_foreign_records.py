"""Tests, on a real Kafka, of records that other software than ours writes to the topics of a collection."""

import asyncio
import re
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from typer.testing import CliRunner

from stream_ldp.cli import app
from stream_ldp.collection import Collection
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kinds import load_collection
from stream_ldp.pipeline import partials
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_series import STATISTIC
from stream_ldp.records.collection import JointCollection
from stream_ldp.service.replay import compare
from stream_ldp.strings.collection import StringCollection
from tests.kafka.unreadable_batch import append
from tests.service.harness import JointDeployment, batches

SEED = 20261122

CODECS = ("gzip", "snappy", "lz4", "zstd")

#: Reports of a batch, all alike but for the noise: enough for every codec to make the records smaller.
REPORTS = 2_000


@pytest.fixture
async def deployment(tmp_path: Path, kafka: EmbeddedKafka, prefix: str) -> JointDeployment:
    return await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix)


def batches_of_now(deployment: JointDeployment, count: int, *, reports: int) -> list[bytes]:
    now_ms = time.time_ns() // 1_000_000
    return batches(deployment.collection, [now_ms] * count, reports=reports, rng=np.random.default_rng(SEED))


async def send_by_aiokafka(deployment: JointDeployment, codec: str, values: Sequence[bytes]) -> None:
    async with AIOKafkaProducer(**deployment.settings.client_options(), compression_type=codec) as producer:
        for value in values:
            await producer.send_and_wait(deployment.names.reports("survey"), value)


def send_by_librdkafka(deployment: JointDeployment, codec: str, values: Sequence[bytes]) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka", reason="the demo extra is not installed")
    producer = confluent_kafka.Producer({"bootstrap.servers": deployment.settings.brokers, "compression.type": codec})
    for value in values:
        producer.produce(deployment.names.reports("survey"), value)
    assert producer.flush(10) == 0


async def test_reports_count_whatever_codec_their_producer_compresses_with(deployment: JointDeployment) -> None:
    with deployment.worker() as worker:
        await worker.ready()
        for codec in CODECS:
            theirs, ours = batches_of_now(deployment, 2, reports=REPORTS)
            await asyncio.to_thread(send_by_librdkafka, deployment, codec, [theirs])
            await send_by_aiokafka(deployment, codec, [ours])
        await deployment.finals_of(2 * len(CODECS) * REPORTS)
        assert worker.process.poll() is None


@pytest.mark.parametrize("ends", ["abort_transaction", pytest.param("commit_transaction", marks=pytest.mark.long)])
async def test_a_transaction_on_the_topic_of_reports_keeps_no_window_open(
    deployment: JointDeployment, ends: str
) -> None:
    """Its mark, at which the log ends, is no record: nothing of it is ever read."""
    values = batches_of_now(deployment, 2, reports=5)
    topic, options = deployment.names.reports("survey"), deployment.settings.client_options()
    with deployment.worker() as worker:
        await worker.ready()
        await send_by_aiokafka(deployment, "gzip", values[:1])
        async with AIOKafkaProducer(
            **options, transactional_id=f"{deployment.settings.topic_prefix}-{ends}"
        ) as producer:
            await producer.begin_transaction()
            await producer.send_and_wait(topic, values[1], partition=1)
            await getattr(producer, ends)()
        # Reports count when they are on the log: an open transaction would otherwise stop all that come behind it.
        await deployment.finals_of(10, within=45.0)
        assert worker.process.poll() is None
    for final in await deployment.finals():
        found = await compare(deployment.collection, settings=deployment.settings, window_ms=final.window.start_ms)
        assert [each.differences for each in found] == [()]


#: What the header of a batch may say that is not so: of its times, of its producer, and in bits without a meaning.
LIES: tuple[dict[str, Any], ...] = (
    {"first_ms": 1, "largest_ms": 2**62},
    {"first_ms": -(2**62), "largest_ms": -1},
    {"producer_id": 0, "producer_epoch": 2**15 - 1, "sequence": 2**31 - 1},
    {"attributes": 0x40},
    {"attributes": 0xFF00},
)


async def test_a_record_that_cannot_be_read_becomes_a_dead_letter_and_its_neighbours_count(
    deployment: JointDeployment, kafka: EmbeddedKafka
) -> None:
    topic = deployment.names.reports("survey")
    values = batches_of_now(deployment, 9 + len(LIES), reports=1)
    async with AIOKafkaProducer(**deployment.settings.client_options()) as producer:
        # In one record batch: a good record, one with a header whose name is not UTF-8, a good one.
        await append(producer, TopicPartition(topic, 0), values[:3], spoiled={1})
        for value in values[3:6]:
            await producer.send_and_wait(topic, value, partition=1)
        # Offsets that brokers do not check: from the second record on, those of reports that others send next.
        await append(producer, TopicPartition(topic, 0), [b"", b"", b""], offsets=[0, 2, 4])
        for value, lie in zip(values[9:], LIES, strict=True):
            await append(producer, TopicPartition(topic, 0), [value], **lie)
        damage(kafka.data / "log" / f"{topic}-1", values[4])
        with deployment.worker() as worker:
            await worker.ready()
            for number, value in enumerate(values[6:9]):
                await producer.send_and_wait(topic, value, partition=number % 2)
            await deployment.finals_of(7 + len(LIES))
            _, metrics = await worker.get("/metrics")
    letters = await deployment.records(deployment.names.dead_letters("survey"))
    told = {
        (headers["source-partition"], headers["source-offset"]): (headers["reason"], headers["detail"], letter.value)
        for letter in letters
        if (headers := {name: text.decode() for name, text in letter.headers})
    }
    assert told == {
        ("0", "1"): ("unreadable_record", "the name of a header is not UTF-8", values[1]),
        ("0", "3"): ("too_short", "0 bytes, a header has 56", b""),
        ("0", "5"): (
            "unreadable_record",
            "offsets 3 to 5: the batch has offsets that no broker gave, from record 1 of 3 on",
            b"",
        ),
        ("1", "1"): ("unreadable_record", "offsets 1 to 1: the batch is damaged, its checksum does not match", b""),
    }
    assert 'batches_rejected_total{collection="survey",reason="unreadable_record"} 3.0' in metrics
    assert f"survey: a batch is refused as unreadable_record, at {topic} partition" in worker.log


def key_of(deployment: JointDeployment, partition: int, pane_ms: int, *, writer: str) -> tuple[bytes, bytes]:
    """Key and value of a partial of two reports."""
    (spec,) = deployment.collection.estimates
    rows = np.zeros((2, 1), dtype=np.uint8)
    counts = RowCounts.of(rows, bits=len(deployment.collection.bits_of(spec.of)))
    record = partials.Partial(
        **source(deployment, partition),
        pane_ms=pane_ms,
        pane_length_ms=deployment.collection.window.pane_ms,
        of=spec.of,
        segment=0,
        end=1,
        counts=counts,
    )
    return partials.encode(record, writer=writer)


def source(deployment: JointDeployment, partition: int) -> dict[str, Any]:
    collection = deployment.collection
    return {
        "collection": collection.name,
        "fingerprint": collection.fingerprint.hex(),
        "partition": partition,
        "generation": 5,
    }


async def write_partials(
    deployment: JointDeployment, records: Sequence[tuple[bytes, bytes | None]]
) -> TopicPartition:
    """Write to the partition of the partials topic that has the collection."""
    number = partials.partition_of("survey", partitions=deployment.settings.partials_partitions)
    place = TopicPartition(deployment.names.partials, number)
    async with AIOKafkaProducer(**deployment.settings.client_options()) as producer:
        for key, value in records:
            await producer.send_and_wait(place.topic, value, key=key, partition=place.partition)
    return place


async def test_junk_on_the_topics_of_workers_is_passed_over_and_finals_are_exact(deployment: JointDeployment) -> None:
    names = deployment.names
    pane_ms = time.time_ns() // 1_000_000 // 2_000 * 2_000
    key, value = key_of(deployment, 9, pane_ms, writer="w")
    foreign = value.replace(deployment.collection.fingerprint.hex().encode(), b"0f" * 16)
    await deployment.send([b"junk"], topic=names.collections)
    await deployment.send([b"junk"], topic=names.answers_of("survey", "estimates"))
    with deployment.worker() as worker:
        await worker.ready()
        for number in range(deployment.settings.partials_partitions):
            async with AIOKafkaProducer(**deployment.settings.client_options()) as producer:
                await producer.send_and_wait(names.partials, b"\0\1\2\3", key=b"junk", partition=number)
        of_worker, _ = key_of(deployment, 0, pane_ms, writer="w")
        junk = [(b"junk", None), (b"junk", b""), (key, value), (of_worker, foreign)]
        place = await write_partials(deployment, junk)
        async with AIOKafkaProducer(**deployment.settings.client_options()) as producer:
            await append(producer, place, [b"good", b"bad"], spoiled={1})
        await deployment.send(batches_of_now(deployment, 3, reports=4))
        await deployment.finals_of(12)
        _, metrics = await worker.get("/metrics")
        assert await worker.problems() == []
        worker.signal(signal.SIGTERM)
        assert await worker.ended() == 0
    assert 'records_passed_over_total{collection="survey",topic="partials"} 7.0' in metrics
    assert 'records_passed_over_total{collection="survey",topic="answers"} 1.0' in metrics
    letters = await deployment.records(names.dead_letters("survey"))
    details = [dict(letter.headers)["detail"].decode() for letter in letters]
    assert len(details) == 7
    assert any("fingerprint 0f0f" in detail for detail in details)
    with deployment.worker() as worker:
        await worker.ready()
        await deployment.send(batches_of_now(deployment, 1, reports=4))
        await deployment.finals_of(16)


async def test_what_may_hide_a_count_stops_that_collection_until_an_operator_releases_it(
    deployment: JointDeployment,
) -> None:
    pane_ms = (time.time_ns() // 1_000_000 - 60_000) // 2_000 * 2_000
    watermarks = [
        partials.encode(partials.Watermark(**source(deployment, each), time_ms=pane_ms + 3_000), writer="w")
        for each in range(4)
    ]
    hidden, _ = key_of(deployment, 1, pane_ms, writer="other")
    place = await write_partials(
        deployment, [key_of(deployment, 0, pane_ms, writer="w"), (hidden, b"damaged"), *watermarks]
    )
    where = f"{place.topic} partition {place.partition} offset 1: not a partial of this release"
    with deployment.worker() as worker:
        async with asyncio.timeout(60):
            while not any("held back" in each for each in await worker.problems()):
                await asyncio.sleep(0.2)
        (problem,) = await worker.problems()
        assert where in problem
        assert "stream-ldp quarantine release" in problem
        assert where in worker.log
        _, metrics = await worker.get("/metrics")
        assert 'stream_ldp_records_holding{collection="survey"} 1.0' in metrics
        assert (await worker.get("/livez"))[0] == 200
        assert f"survey: holds finals back: {where}" in await quarantine(deployment, "list")
        assert await deployment.finals() == []
        assert f"survey: released: {where}" in await quarantine(deployment, "release")
        await deployment.finals_of(2)
        await worker.ready()
    assert f"survey: passed over: {where}" in await quarantine(deployment, "list")
    assert "survey: nothing holds its finals back" in await quarantine(deployment, "release")
    with deployment.worker() as worker:
        await worker.ready()
        await deployment.send(batches_of_now(deployment, 1, reports=4))
        await deployment.finals_of(6)


#: Windows are apart, so that a record is of one that no other test's records are of.
STRINGS = """
collection: {name}
mechanism: {{kind: strings, epsilon: 4, k: 8}}
string: {{name: word, length: 6, alphabet: abcdefghijklmnopqrstuvwxyz}}
min_reports: 1
window: {{size: 2s, grace: 1s, idle_timeout: 2s}}
"""


async def write_forged(
    deployment: JointDeployment,
    collection: Collection,
    records: Sequence[partials.Partial | partials.Watermark],
    *,
    writer: str = "forger",
) -> None:
    """Write what a worker of one of the collections could write of another."""
    number = partials.partition_of(collection.name, partitions=deployment.settings.partials_partitions)
    async with AIOKafkaProducer(**deployment.settings.client_options()) as producer:
        for record in records:
            key, value = partials.encode(record, writer=writer)
            await producer.send_and_wait(deployment.names.partials, value, key=key, partition=number)


async def test_forged_counts_and_times_end_neither_a_worker_nor_the_finals_of_others(
    deployment: JointDeployment,
) -> None:
    deployment = await deployment.beside_another(text=STRINGS)
    strings = load_collection(deployment.others[0])
    assert isinstance(strings, StringCollection)
    forged = {"collection": "another", "fingerprint": strings.fingerprint.hex(), "partition": 0, "generation": 5}
    now_ms = time.time_ns() // 1_000_000 // 2_000 * 2_000

    def partial(pane_ms: int, end: int) -> partials.Partial:
        rows = np.zeros((3, len(strings.method.questions.widths) + 5), dtype=np.uint8)[:, : strings.bits // 8 + 1]
        rows[:, 0] = range(3)
        counts = RowCounts(bits=strings.bits, rows=rows, counts=np.full(3, 2**32 - 1))
        pane = {"pane_ms": pane_ms, "pane_length_ms": 2_000, "of": STATISTIC, "segment": 0}
        return partials.Partial(**forged, **pane, end=end, counts=counts)  # type: ignore[arg-type]

    def closing(time_ms: int) -> list[partials.Partial | partials.Watermark]:
        return [partials.Watermark(**forged | {"partition": each}, time_ms=time_ms) for each in range(4)]  # type: ignore[arg-type]

    with deployment.worker() as worker:
        await worker.ready()
        await write_forged(deployment, strings, [partial(2**62 // 2_000 * 2_000, 1), *closing(2**63 - 1)])
        # By so many records as there may be, and by one, which nobody needs who closes no pane.
        await write_forged(deployment, strings, [partial(now_ms - 60_000, 2**40), *closing(now_ms)])
        await write_forged(deployment, strings, [partial(now_ms - 60_000, 1)], writer="another")
        await deployment.send(batches_of_now(deployment, 3, reports=4))
        await deployment.finals_of(12)
        async with asyncio.timeout(60):
            while "another/strings: final answer of" not in worker.log:
                assert worker.process.poll() is None, worker.log
                await asyncio.sleep(0.2)
        _, metrics = await worker.get("/metrics")
        assert await worker.problems() == []
    letters = await deployment.records(deployment.names.dead_letters("another"))
    details = " ".join(dict(letter.headers)["detail"].decode() for letter in letters)
    assert "beyond the years 1 to 9999" in details
    assert "more than the 1 records before it can hold" in details
    assert 'records_passed_over_total{collection="another",topic="partials"} 6.0' in metrics
    # Rows as often as a count of 32 bits can say would take 24 GiB one by one.
    assert peak_bytes(metrics) < 2**30


def peak_bytes(metrics: str) -> float:
    (line,) = (line for line in metrics.splitlines() if line.startswith("process_resident_memory_bytes "))
    return float(line.split()[1])


async def test_a_window_that_cannot_be_solved_stops_its_collection_alone_until_it_is_released(
    deployment: JointDeployment,
) -> None:
    deployment = await deployment.beside_another()
    another = JointCollection.load(deployment.others[0])
    with deployment.worker(broken="solve-all-but-seven") as worker:
        await worker.ready()
        await deployment.send(batches_of_now(deployment, 1, reports=7))
        # The neighbour goes on.
        now_ms = time.time_ns() // 1_000_000
        batch = batches(another, [now_ms], reports=4, rng=np.random.default_rng(SEED))
        await deployment.send(batch, topic=deployment.names.reports("another"))
        async with asyncio.timeout(60):
            while not any("cannot be computed" in each for each in await worker.problems()):
                await asyncio.sleep(0.2)
        (problem,) = await worker.problems()
        assert re.search(
            r"^survey: finals are held back .*: bathing-mobility of 20.*Z/20.*Z: MemoryError; it is tried again ",
            problem,
        )
        assert "stream-ldp quarantine release --unsolved" in problem
        _, metrics = await worker.get("/metrics")
        assert 'stream_ldp_windows_unsolved{collection="survey"} 1.0' in metrics
        assert 'stream_ldp_windows_unsolved{collection="another"} 0.0' in metrics
        assert 'stream_ldp_solve_failures_total{collection="survey",error="MemoryError"}' in metrics
        assert (await worker.get("/livez"))[0] == 200
        async with asyncio.timeout(60):
            while "another/bathing-mobility: final answer of" not in worker.log:
                await asyncio.sleep(0.2)
        assert "nothing holds its finals back" in await quarantine(deployment, "release")
        assert "survey: released: all windows" in await quarantine(deployment, "release", "--unsolved")
        await worker.ready()
        async with asyncio.timeout(60):
            while "released, and passed over: bathing-mobility of" not in worker.log:
                await asyncio.sleep(0.2)
        await deployment.send(batches_of_now(deployment, 1, reports=4))
        await deployment.finals_of(4)
        assert [each.reports for each in await deployment.finals() if each.reports] == [4]
        worker.signal(signal.SIGTERM)
        assert await worker.ended() == 0
    # So it stays, and without the fault the window is answered until a later one is.
    with deployment.worker(broken="solve-all-but-seven") as worker:
        await worker.ready()
        await deployment.send(batches_of_now(deployment, 1, reports=5))
        await deployment.finals_of(9)


async def quarantine(deployment: JointDeployment, command: str, *options: str) -> str:
    """Run one of the commands as an operator does."""
    where = ("--brokers", deployment.settings.brokers, "--topic-prefix", deployment.settings.topic_prefix)
    arguments = ["quarantine", command, *options, str(deployment.file), *where]
    done = await asyncio.to_thread(CliRunner().invoke, app, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def damage(directory: Path, value: bytes) -> None:
    """Flip a bit of a record in the log of a running broker."""
    (segment,) = directory.glob("*.log")
    place = segment.read_bytes().index(value)
    with segment.open("r+b") as file:
        file.seek(place)
        file.write(bytes([value[0] ^ 1]))
