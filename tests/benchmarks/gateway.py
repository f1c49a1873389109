"""Measure what the processor's time of a gateway is enough for, from a client's request to the brokers' answer.

python -m tests.benchmarks.gateway --seconds 5 --connections 64

Clients post batches over connections that they keep, each the next one as soon as the gateway has answered that the
brokers have the last. The time is that of the gateway's process alone, after it has been warmed, so that clients and
broker may share the machine with it. What was acknowledged has to be on the topic. A real Kafka is needed (Java and
Maven). Beside it stands a bare handler of
aiohttp, on the same event loop, which reads a batch, answers, and does nothing else: no gateway on aiohttp is faster.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import tempfile
from contextlib import asynccontextmanager
from multiprocessing import Pipe
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, ProcessCollector
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from stream_ldp.cli.running import quick_loop, run_client
from stream_ldp.http.exposition import exposition
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.log import LogReader
from stream_ldp.pipeline.content_type import BATCH_TYPE
from tests.benchmarks.speed.counting import document_of
from tests.benchmarks.speed.draining import deployed, encoded
from tests.forked import PROCESSES
from tests.gateway.test_on_kafka import gateway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from contextlib import AbstractAsyncContextManager
    from multiprocessing.connection import Connection

    from tests.service.harness import JointDeployment

#: Reports of a batch, batches that are made, which are sent again and again, and seconds that warm the gateway.
SIZES, BATCHES, WARM_SECONDS = (1, 50), 5_000, 2.0


class Client(asyncio.Protocol):
    """A client posts one batch after the other over a connection."""

    def __init__(self, requests: Iterator[bytes]) -> None:
        """`requests`: as they are written."""
        self._requests = requests
        self._transport: asyncio.Transport | None = None
        self._answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        self._answer += data
        if b'{"reports": ' not in self._answer:
            return
        assert self._answer.startswith(b"HTTP/1.1 200 "), self._answer
        self._answer = b""
        assert self._transport is not None
        self._transport.write(next(self._requests))


def requests_of(values: Sequence[bytes], path: str, host: str) -> Iterator[bytes]:
    """Yield requests without end."""
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {BATCH_TYPE}\r\nContent-Length: "
    return itertools.cycle([f"{head}{len(each)}\r\n\r\n".encode() + each for each in values])


@asynccontextmanager
async def bare() -> AsyncIterator[str]:
    """Run a bare handler in a process of its own."""
    ours, theirs = Pipe()
    process = PROCESSES.Process(target=_serve_bare, args=(theirs,))
    process.start()
    try:
        yield f"http://127.0.0.1:{await asyncio.to_thread(ours.recv)}"
    finally:
        process.terminate()
        await asyncio.to_thread(process.join)


def _serve_bare(said: Connection) -> None:
    """Answer batches until terminated, and say on which port."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    batches = Counter("batches", "Batches that were read.", namespace="stream_ldp_gateway", registry=registry)

    async def take(request: web.Request) -> web.Response:
        await request.read()
        batches.inc()
        return web.Response(body=b'{"reports": 1}', content_type="application/json")

    async def show(request: web.Request) -> web.Response:
        return exposition(registry, request)

    async def serve() -> None:
        application = web.Application()
        application.router.add_post("/v1/collections/{name}/batches", take)
        application.router.add_get("/metrics", show)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        said.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    run_client(serve(), loop=quick_loop())


async def measured(
    deployment: JointDeployment,
    reports: int,
    *,
    connections: int,
    seconds: float,
    served: AbstractAsyncContextManager[str],
) -> tuple[str, float]:
    """Return what a server did in so many seconds, in a sentence, and how many batches it has acknowledged."""
    values = encoded(deployment, BATCHES, reports=reports)
    async with served as url:
        at = urlsplit(url)
        assert at.hostname is not None
        assert at.port is not None
        requests = requests_of(values, f"/v1/collections/{deployment.collection.name}/batches", at.netloc)
        loop = asyncio.get_running_loop()
        clients = [
            (await loop.create_connection(lambda: Client(requests), at.hostname, at.port))[0]
            for _ in range(connections)
        ]
        await asyncio.sleep(WARM_SECONDS)
        began, (first, before) = loop.time(), await _looked(url)
        await asyncio.sleep(seconds)
        took, (last, after) = loop.time() - began, await _looked(url)
        for client in clients:
            client.abort()
    batches, processor = last - first, after - before
    found = (
        f"batches of {reports}, {connections} connections: {1e6 * processor / batches:.0f} us of the server each: "
        f"{batches / processor:,.0f} batches a second and core; {batches / took:,.0f} a second were sent, which took "
        f"{processor / took:.2f} of a core"
    )
    return found, last


async def _looked(url: str) -> tuple[float, float]:
    """Return how many batches a gateway has taken, and the seconds of the processor's time."""
    async with aiohttp.ClientSession() as session, session.get(f"{url}/metrics") as answer:
        families = list(text_string_to_metric_families(await answer.text()))
    values = {sample.name: sample.value for family in families for sample in family.samples}
    return values["stream_ldp_gateway_batches_total"], values["process_cpu_seconds_total"]


async def stored(deployment: JointDeployment) -> int:
    """Return how many records the reports topic has."""
    found, topic = 0, deployment.names.reports(deployment.collection.name)
    for partition in range(deployment.partitions[topic]):
        async with LogReader(topic, partition=partition, settings=deployment.settings) as reader:
            found += await reader.end()
    return found


async def run(connections: int, seconds: float, console: Console) -> None:
    """Measure batches of each size."""
    with EmbeddedKafka() as kafka, tempfile.TemporaryDirectory() as directory:
        deployment = await deployed(Path(directory), kafka.bootstrap, document_of((2,) * 16, window="1h"))
        for reports in SIZES:
            log = deployment.directory / f"{reports}.log"
            gate = gateway(deployment, "--rate", "1e9", "--burst", "1000000000", log=log)
            before = await stored(deployment)
            for name, served in (("a bare handler", bare()), ("a gateway", gate)):
                found, acknowledged = await measured(
                    deployment, reports, connections=connections, seconds=seconds, served=served
                )
                console.print(f"{name}, {found}")
            there = await stored(deployment) - before
            assert there >= acknowledged
            console.print(f"{acknowledged:,.0f} batches were acknowledged until then; {there:,} are on the topic")


def main() -> None:
    """Measure what the command line asks for."""
    arguments = argparse.ArgumentParser(prog="python -m tests.benchmarks.gateway", description=__doc__)
    arguments.add_argument("--seconds", type=float, default=5.0, help="that are measured, of each size")
    arguments.add_argument("--connections", type=int, default=64, help="of clients")
    given = arguments.parse_args()
    asyncio.run(run(given.connections, given.seconds, Console(highlight=False, soft_wrap=True)))


if __name__ == "__main__":
    main()
