"""Let a worker and its peers drain one topic of batches, in turns, each by its quickest way to read many at once.

python -m tests.benchmarks.peers --shape 8x8 --pairs 28 --records 1000000

A worker does all that it does: it also publishes partials and answers, commits, and refuses copies. The peers do
nothing but decode and count, by the package's own code, what they read: a librdkafka consumer, a Faust agent that
takes buffers, Bytewax and Quix Streams. The bare consumer, aiokafka's, counts nothing. Bytewax and Quix have other
releases of their libraries, and so need an environment of their own; without it, they are left out:

python -m venv build/peers
build/peers/bin/pip install 'bytewax>=0.21,<1' 'quixstreams>=3.20,<4' --editable '.[worker]'
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
import uuid
from itertools import combinations, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from stream_ldp.kinds import kind_of, load_collection
from stream_ldp.pipeline import wire
from tests.benchmarks.faust_agent import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Records that are taken at once, and encoded at once.
TAKEN, ENCODED = 5_000, 100_000

#: Partitions of the topic, and reports of a batch.
PARTITIONS, REPORTS = 4, 50


class Drain:
    """A drain that measures itself, from its first records on until it has seen so many."""

    def __init__(self, file: Path, records: int) -> None:
        collection = load_collection(file)
        self._layout = kind_of(collection).layout(collection)
        self._tallies = self._layout.tallies()
        self._records = records
        self._seen = self._first = 0
        self._began = self._worked = 0.0

    def take(self, values: Sequence[bytes]) -> bool:
        """Decode and count; return whether all has been seen."""
        decoded = wire.decode(values, formats={self._layout.fingerprint: self._layout})
        self._layout.count(self._tallies, decoded.rows[0])
        return self.see(values)

    def see(self, values: Sequence[bytes]) -> bool:
        """Take note of records; return whether all has been seen."""
        if values and not self._seen:
            self._first, self._began, self._worked = len(values), time.perf_counter(), time.process_time()
        self._seen += len(values)
        return self._seen >= self._records

    def found(self) -> dict[str, float]:
        """Return what it took."""
        return {
            "records": self._seen - self._first,
            "seconds": time.perf_counter() - self._began,
            "processor": time.process_time() - self._worked,
        }


def bare(drain: Drain, brokers: str, topic: str) -> dict[str, float]:
    """Drain by an aiokafka consumer that sums the lengths of the values."""
    from aiokafka import AIOKafkaConsumer, TopicPartition  # noqa: PLC0415  each way has its libraries alone

    async def run() -> dict[str, float]:
        consumer = AIOKafkaConsumer(bootstrap_servers=brokers, enable_auto_commit=False)
        await consumer.start()
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        done, length = False, 0
        while not done:
            for records in (await consumer.getmany(timeout_ms=200)).values():
                values = [record.value for record in records]
                length += sum(map(len, values))
                done = drain.see(values)
        found = drain.found()
        await consumer.stop()
        return found

    return asyncio.run(run())


def librdkafka(drain: Drain, brokers: str, topic: str) -> dict[str, float]:
    """Drain by confluent-kafka's consumer."""
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415

    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": uuid.uuid4().hex,
            "enable.auto.commit": False,
            "queued.min.messages": 500_000,
        }
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    while True:
        messages = consumer.consume(TAKEN, timeout=1.0)
        if messages and drain.take([message.value() or b"" for message in messages]):
            break
    found = drain.found()
    consumer.close()
    return found


def faust(drain: Drain, brokers: str, topic: str) -> dict[str, float]:
    """Drain by a Faust agent that takes buffers."""

    async def run() -> dict[str, float]:
        done = asyncio.Event()

        async def agent(stream: Any) -> None:
            async for values in stream.take(TAKEN, within=0.2):
                if drain.take(values):
                    done.set()

        async with reading(brokers, topic, agent):
            await done.wait()
            return drain.found()

    return asyncio.run(run())


def bytewax(drain: Drain, brokers: str, topic: str) -> dict[str, float]:
    """Drain by a Bytewax dataflow that counts what its source has read at once."""
    from bytewax import operators as op  # type: ignore[import-not-found]  # noqa: PLC0415
    from bytewax.connectors.kafka import operators as kafka  # type: ignore[import-not-found]  # noqa: PLC0415
    from bytewax.dataflow import Dataflow  # type: ignore[import-not-found]  # noqa: PLC0415
    from bytewax.testing import TestingSink, run_main  # type: ignore[import-not-found]  # noqa: PLC0415

    flow = Dataflow("drain")
    read = kafka.input("read", flow, brokers=[brokers], topics=[topic], tail=False, batch_size=TAKEN)
    found: list[dict[str, float]] = []

    def count(messages: Sequence[Any]) -> list[bool]:
        if drain.take([message.value for message in messages]):
            found.append(drain.found())
        return []

    op.output("out", op.flat_map_batch("count", read.oks, count), TestingSink([]))
    run_main(flow)
    return found[0]


def quix(drain: Drain, brokers: str, topic: str) -> dict[str, float]:
    """Drain by a Quix dataframe that keeps records until there are enough to count."""
    from quixstreams import Application  # type: ignore[import-not-found]  # noqa: PLC0415

    app = Application(
        broker_address=brokers, consumer_group=uuid.uuid4().hex, auto_offset_reset="earliest", loglevel="ERROR"
    )
    kept: list[bytes] = []
    found: list[dict[str, float]] = []

    def keep(value: bytes) -> None:
        kept.append(value)
        if len(kept) >= TAKEN:
            if drain.take(kept):
                found.append(drain.found())
                app.stop()
            kept.clear()

    app.dataframe(app.topic(topic, value_deserializer="bytes", key_deserializer="bytes")).update(keep)
    app.run()
    return found[0]


#: Of each way, whether it needs an environment of its own.
WAYS: dict[Callable[[Drain, str, str], dict[str, float]], bool] = {
    bare: False,
    librdkafka: False,
    faust: False,
    bytewax: True,
    quix: True,
}


def compare(shape: str, *, pairs: int, records: int, rounds: int, peers: Path, console: Console) -> None:
    """Let all of them drain such batches, and print what each takes for one."""
    # Not to be loaded by the peers.
    from stream_ldp.kafka.embedded import EmbeddedKafka  # noqa: PLC0415
    from tests.benchmarks.speed.counting import document_of  # noqa: PLC0415
    from tests.benchmarks.speed.draining import deployed, drained, encoded, fill  # noqa: PLC0415

    attributes, values = map(int, shape.split("x"))
    document = document_of((values,) * attributes, window="1h")
    document["estimates"] = [
        {"name": f"e{number}", "of": [f"a{i}", f"a{j}"]}
        for number, (i, j) in enumerate(islice(combinations(range(attributes), 2), pairs))
    ]
    with EmbeddedKafka() as kafka, tempfile.TemporaryDirectory() as directory:
        deployment = asyncio.run(deployed(Path(directory), kafka.bootstrap, document))
        batches = encoded(deployment, records, reports=REPORTS)
        for first in range(0, records, ENCODED):
            asyncio.run(fill(deployment, batches[first : first + ENCODED]))
        del batches
        about = [str(deployment.file), kafka.bootstrap, deployment.names.reports("bench"), str(records)]
        for _ in range(rounds):
            _print(console, "worker", drained(deployment, records * REPORTS, REPORTS))
            for way, apart in WAYS.items():
                python = str(peers) if apart else sys.executable
                if Path(python).exists():
                    command = [python, "-m", "tests.benchmarks.peers", "--way", way.__name__, *about]
                    done = subprocess.run(command, check=True, capture_output=True, text=True)
                    _print(console, way.__name__, json.loads(done.stdout.splitlines()[-1]))


def _print(console: Console, name: str, found: dict[str, float]) -> None:
    per = {clock: 1e6 * found[clock] / found["records"] for clock in ("processor", "seconds")}
    console.print(
        f"{name:10} {per['processor']:6.2f} us of the processor a batch, {per['seconds']:6.2f} us by the clock, "
        f"{found['seconds']:.1f} s"
    )


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--shape", default="16x2", help="attributes, and values of each")
    parser.add_argument("--pairs", type=int, default=5, help="that are counted")
    parser.add_argument("--records", type=int, default=2_000_000, help="batches on the topic")
    parser.add_argument("--rounds", type=int, default=3, help="how often each drains it")
    parser.add_argument("--peers", type=Path, default=Path("build/peers/bin/python"), help="of Bytewax and Quix")
    parser.add_argument("--way", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way is not None:
        name, file, brokers, topic, records = given.way
        (way,) = (each for each in WAYS if each.__name__ == name)
        print(json.dumps(way(Drain(Path(file), int(records)), brokers, topic)))  # noqa: T201
        return
    console = Console(highlight=False, soft_wrap=True)
    options = {"pairs": given.pairs, "records": given.records, "rounds": given.rounds, "peers": given.peers}
    compare(given.shape, **options, console=console)


if __name__ == "__main__":
    main()
