"""Let a worker and its peers drain topics of batches, in turns, each by its quickest way to read many at once.

python -m tests.benchmarks.peers [--rounds N] [--scale SHARE] [--write]

A worker does all that it does: it also publishes partials and answers, commits, and refuses copies. The peers do
nothing but decode and count, by the package's own code, what they read: a librdkafka consumer, a Faust agent that
takes buffers, Bytewax and Quix Streams. The bare consumer, aiokafka's, counts nothing. Bytewax and Quix have other
releases of their libraries, and so need an environment of their own; without it, they are left out:

python -m venv build/peers
build/peers/bin/pip install 'bytewax>=0.21,<1' 'quixstreams>=3.20,<4' --editable '.[worker]'

--write keeps the table in the README of the benchmarks.
"""

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stream_ldp.kinds import kind_of, load_collection
from stream_ldp.pipeline import wire
from tests.benchmarks.faust_agent import reading
from tests.paths import REPOSITORY

#: Records that are taken at once.
TAKEN = 5_000


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


def bare(drain: Drain, brokers: str, topic: str, partitions: int) -> dict[str, float]:
    """Drain by an aiokafka consumer that sums the lengths of the values."""
    from aiokafka import AIOKafkaConsumer, TopicPartition  # noqa: PLC0415  each way has its libraries alone

    async def run() -> dict[str, float]:
        consumer = AIOKafkaConsumer(bootstrap_servers=brokers, enable_auto_commit=False)
        await consumer.start()
        assigned = [TopicPartition(topic, number) for number in range(partitions)]
        consumer.assign(assigned)
        await consumer.seek_to_beginning(*assigned)
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


def librdkafka(drain: Drain, brokers: str, topic: str, partitions: int) -> dict[str, float]:
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
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    while True:
        messages = consumer.consume(TAKEN, timeout=1.0)
        if messages and drain.take([message.value() or b"" for message in messages]):
            break
    found = drain.found()
    consumer.close()
    return found


def faust(drain: Drain, brokers: str, topic: str, _partitions: int) -> dict[str, float]:
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


def bytewax(drain: Drain, brokers: str, topic: str, _partitions: int) -> dict[str, float]:
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


def quix(drain: Drain, brokers: str, topic: str, _partitions: int) -> dict[str, float]:
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


#: Of each way, its name, whether it needs an environment of its own, and the share of the records that it drains:
#: slow ones need no more.
WAYS: dict[Callable[[Drain, str, str, int], dict[str, float]], tuple[str, bool, float]] = {
    bare: ("bare aiokafka, counts nothing", False, 1.0),
    librdkafka: ("confluent-kafka that counts", False, 1.0),
    bytewax: ("Bytewax that counts", True, 1.0),
    quix: ("Quix Streams that counts, buffered", True, 0.25),
    faust: ("Faust that counts, buffered", False, 0.05),
}

_WORKER = "a whole worker"
_README = REPOSITORY / "tests" / "benchmarks" / "README.md"
_TABLE = re.compile(r"(?<=<!-- peers -->\n\n).*?(?=\n<!-- /peers -->)", re.DOTALL)


def compare(*, scale: float, rounds: int, peers: Path) -> str:
    """Let all of them drain `scale` times the records that are meant, and return the table of what a batch takes."""
    # Not to be loaded by the peers.
    from stream_ldp.kafka.embedded import EmbeddedKafka  # noqa: PLC0415
    from tests.benchmarks.speed.draining import TOPICS, drained, made  # noqa: PLC0415

    ways = {way: about for way, about in WAYS.items() if peers.exists() or not about[1]}
    lines = {name: f"| {name} |" for name in (_WORKER, *(name for name, *_ in ways.values()))}
    for topic in TOPICS:
        with EmbeddedKafka() as kafka, tempfile.TemporaryDirectory() as directory:
            records = round(scale * topic.records)
            deployment = asyncio.run(made(Path(directory), kafka.bootstrap, replace(topic, records=records)))
            where = [str(deployment.file), kafka.bootstrap, deployment.names.reports("bench"), str(topic.partitions)]
            found: dict[str, list[dict[str, float]]] = {name: [] for name in lines}
            for _ in range(rounds):
                found[_WORKER].append(drained(deployment, records * topic.reports, topic.reports))
                for way, (name, apart, share) in ways.items():
                    python = str(peers) if apart else sys.executable
                    some = str(max(1, round(share * records)))
                    command = [python, "-m", "tests.benchmarks.peers", "--way", way.__name__, some, *where]
                    done = subprocess.run(command, check=True, capture_output=True, text=True)
                    found[name].append(json.loads(done.stdout.splitlines()[-1]))
        for name, runs in found.items():
            cell = " / ".join(
                f"{statistics.median(1e6 * run[clock] / run['records'] for run in runs):.3g}"
                for clock in ("processor", "seconds")
            )
            lines[name] += f" {cell} |"
            print(f"{topic}: {name} {cell}", file=sys.stderr)  # noqa: T201
    head = f"| us of the processor / by the clock | {' | '.join(map(str, TOPICS))} |\n|---|{'---:|' * len(TOPICS)}\n"
    return head + "".join(f"{line}\n" for line in lines.values())


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often each drains each topic")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the records that are meant")
    parser.add_argument("--peers", type=Path, default=Path("build/peers/bin/python"), help="of Bytewax and Quix")
    parser.add_argument("--write", action="store_true", help="keep the table")
    parser.add_argument("--way", nargs=6, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way is not None:
        name, records, file, brokers, topic, partitions = given.way
        (way,) = (each for each in WAYS if each.__name__ == name)
        print(json.dumps(way(Drain(Path(file), int(records)), brokers, topic, int(partitions))))  # noqa: T201
        return
    table = compare(scale=given.scale, rounds=given.rounds, peers=given.peers)
    print(table)  # noqa: T201
    if given.write:
        _README.write_text(_TABLE.sub(lambda _: table, _README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
