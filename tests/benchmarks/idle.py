"""Measure what workers take of collections to which nobody reports: connections, groups, and the processor.

A worker follows a registry of so many collections. Once it serves them all, its processor time over some seconds is
taken, and its connections are counted. The processor time is that of the worker alone, so other work on the machine
inflates it by what it takes of the caches. With `--finals`, each collection has had a batch and published its final,
and time goes on closing its windows.

python -m tests.benchmarks.idle --collections 1 20 100 300 --seconds 60 --finals
"""

import argparse
import asyncio
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.registry import Registration, register
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import topic_specs
from stream_ldp.records.collection import JointCollection
from tests.service.harness import SURVEY, JointDeployment, WorkerProcess, batches

#: Topics that are created by one request: a controller has one at a time in hand, and a busy machine is slow.
_TOPICS_AT_ONCE = 20

#: Seconds after the worker is ready that are not measured, and those that it may take to be ready.
_SETTLE_SECONDS, _READY_SECONDS = 20.0, 300.0

#: Seconds within which the first finals are there, whose windows have to end; and those after them that are not
#: measured, in which each collection also says that nobody reports any more.
_FINALS_SECONDS, _SILENT_SECONDS = 300.0, 85.0

_TEXT = SURVEY.replace("size: 2s", "size: 60s")


async def deployed(directory: Path, brokers: str, *, collections: int) -> JointDeployment:
    """Create the topics of so many collections, and register them all."""
    settings = Settings.load(brokers=brokers, topic_prefix=f"idle-{collections}")
    found = [JointCollection.parse(_TEXT.format(name=f"survey-{number}")) for number in range(collections)]
    specs = topic_specs(
        found, prefix=settings.topic_prefix, partials_partitions=settings.partials_partitions, reports_partitions=4
    )
    async with Cluster.connect(settings) as cluster:
        for begin in range(0, len(specs), _TOPICS_AT_ONCE):
            await cluster.create(specs[begin : begin + _TOPICS_AT_ONCE], replication=1)
    await register(settings, [Registration.of(each) for each in found])
    return JointDeployment(
        directory=directory, settings=settings, file=directory, collection=found[0], partitions={}, follows=True
    )


async def report(deployment: JointDeployment, *, collections: int) -> None:
    """Write a batch of each collection, and wait a little: they are all of one window, or of two."""
    rng, now_ms = np.random.default_rng(1), time.time_ns() // 1_000_000
    for number in range(collections):
        collection = JointCollection.parse(_TEXT.format(name=f"survey-{number}"))
        values = batches(collection, [now_ms], reports=5, rng=rng)
        await deployment.send(values, topic=deployment.names.reports(collection.name))


async def finals(worker: WorkerProcess, *, number: int) -> None:
    """Wait until so many finals have been published."""
    async with asyncio.timeout(_FINALS_SECONDS):
        published = 0.0
        while published < number:
            await asyncio.sleep(2.0)
            families = text_string_to_metric_families((await worker.get("/metrics"))[1])
            published = sum(
                sample.value
                for family in families
                for sample in family.samples
                if sample.name == "stream_ldp_estimates_published_total" and sample.labels["kind"] == "final"
            )


def connections(process: int) -> int:
    """Count the open sockets of a process over TCP that are connected, but for its admin port's."""
    inodes = set()
    for each in Path(f"/proc/{process}/fd").iterdir():
        try:
            inodes.add(os.readlink(each))
        except FileNotFoundError:
            continue
    lines = [line.split() for line in Path(f"/proc/{process}/net/tcp").read_text("ascii").splitlines()[1:]]
    established = "01"
    return sum(line[3] == established and f"socket:[{line[9]}]" in inodes for line in lines)


def processor_seconds(process: int) -> float:
    """Return the processor time that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measured(
    brokers: str, *, collections: int, seconds: float, with_finals: bool
) -> tuple[float, int, int, float]:
    """Return the share of a core in percent, the connections, the consumer groups, and the seconds to be ready."""
    with tempfile.TemporaryDirectory() as directory:
        deployment = await deployed(Path(directory), brokers, collections=collections)
        with deployment.worker(environment={"OPENBLAS_NUM_THREADS": "1"}) as worker:
            began = time.monotonic()
            await worker.ready(within=_READY_SECONDS)
            ready = time.monotonic() - began
            if with_finals:
                await report(deployment, collections=collections)
                await finals(worker, number=collections)
                await asyncio.sleep(_SILENT_SECONDS)
            await asyncio.sleep(_SETTLE_SECONDS)
            process = worker.process.pid
            worked, began = processor_seconds(process), time.monotonic()
            await asyncio.sleep(seconds)
            share = 100 * (processor_seconds(process) - worked) / (time.monotonic() - began)
            open_now = connections(process)
            async with Cluster.connect(deployment.settings) as cluster:
                groups = [each for each in await cluster.groups() if each.startswith(f"{deployment.settings.group}.")]
                joined = [each for each in groups if await cluster.members(each)]
    return share, open_now, len(joined), ready


def main() -> None:
    """Measure each number of collections, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--collections", type=int, nargs="+", default=[1, 20, 100, 300])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--finals", action="store_true")
    options = parser.parse_args()
    console = Console(highlight=False)
    console.print("collections  of a core  connections  groups  ready after")
    with EmbeddedKafka() as kafka:
        for number in options.collections:
            share, found, groups, ready = asyncio.run(
                measured(kafka.bootstrap, collections=number, seconds=options.seconds, with_finals=options.finals)
            )
            console.print(f"{number:11d}  {share:7.2f} %  {found:11d}  {groups:6d}  {ready:9.1f} s")


if __name__ == "__main__":
    main()
