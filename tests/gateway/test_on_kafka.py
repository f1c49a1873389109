"""Tests of the gateway before a real broker and a real worker."""

from __future__ import annotations

import asyncio
import gzip
import os
import re
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import aiohttp
import numpy as np
import pytest

from stream_ldp.client.reporter import now_ms
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.content_type import BATCH_TYPE
from tests.forked import Forked
from tests.http.servers import Served
from tests.kafka.secured import SecuredKafka
from tests.service.epochs import FILMS, ItemDeployment
from tests.service.harness import Deployment, JointDeployment
from tests.service.test_worker import assert_finals_are_exact
from tests.sets.examples import round_of


@asynccontextmanager
async def gateway(
    deployment: Deployment, *flags: str, environment: Mapping[str, str] | None = None, log: Path | None = None
) -> AsyncIterator[str]:
    """Run a gateway as an operator does, and stop it by SIGTERM, which must end it with 0.

    log: the file of all that it says.
    """
    settings = deployment.settings
    reach = ["--brokers", settings.brokers, "--topic-prefix", settings.topic_prefix, "--port", "0", *flags]
    output = deployment.directory / "gateway.log" if log is None else log
    command = ["-m", "stream_ldp", "gateway", str(deployment.file), *reach]
    process = Forked(command, output=output, environment={**os.environ, **(environment or {})})
    try:
        async with asyncio.timeout(30):
            while not (urls := re.findall(r"(http://\S+)/v1", output.read_text(encoding="utf-8"))):
                await asyncio.sleep(0.05)
        yield urls[0]
    finally:
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 60) == 0


async def test_reports_over_http_are_in_the_published_estimate(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str
) -> None:
    deployment = await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix)
    collection = deployment.collection
    rng = np.random.default_rng(20261122)
    values = np.stack([rng.integers(size, size=4_000) for size in collection.sizes], axis=1)
    rows = collection.mechanism.perturb(values, entropy=SeededEntropy(20261122))
    async with gateway(deployment, "--rate", "1000") as url, aiohttp.ClientSession(url) as session:
        with deployment.worker() as worker:
            await worker.ready()
            for part in np.array_split(rows, 40):
                batch = wire.Batch(
                    fingerprint=collection.fingerprint, batch_id=os.urandom(16), time_ms=now_ms(), rows=part
                )
                body = wire.encode(batch)
                # The second copy is what a client sends that has not seen the first one's answer.
                for _ in range(2):
                    place, headers = "/v1/collections/survey/batches", {"Content-Type": BATCH_TYPE}
                    async with session.post(place, data=body, headers=headers) as response:
                        assert (response.status, await response.json()) == (200, {"reports": len(part)})
            await assert_finals_are_exact(deployment, reports=4_000)


# That the watch over its brokers asks for a restart is quickly shown in tests/kafka/test_broker_watch.py.
@pytest.mark.long
async def test_a_gateway_whose_password_has_changed_asks_for_a_restart(
    changing: SecuredKafka, tmp_path: Path, prefix: str
) -> None:
    environment = changing.environment()
    plain = await JointDeployment.create(tmp_path, brokers=changing.bootstrap, prefix=prefix)
    brokers = environment.pop("STREAM_LDP_BROKERS")
    deployment = replace(plain, settings=plain.settings.model_copy(update={"brokers": brokers}))
    async with gateway(deployment, environment=environment) as url, aiohttp.ClientSession(url) as session:
        async with session.get("/livez") as live, session.get("/readyz") as ready:
            assert (live.status, ready.status) == (200, 200)
        await asyncio.to_thread(changing.change_password)
        async with asyncio.timeout(40):
            # No connection that is there is closed: the next one would be refused.
            while (live := await session.get("/livez")).status == 200:
                await asyncio.sleep(0.5)
        async with session.get("/readyz") as ready:
            assert ready.status == 503
            (problem,) = (await ready.json())["problems"]
        assert problem.endswith("accept those that its files have now: restart it")
        assert (await live.json())["problems"] == [problem]


async def test_strangers_take_no_batch_and_leave_no_line_in_the_log(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str
) -> None:
    deployment = await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix)
    batches = "/v1/collections/survey/batches"
    typed = "Content-Type: application/vnd.sldp.batch"
    log, address, secret = tmp_path / "log", "127.0.9.9", "SECRETTOKEN"
    async with gateway(deployment, "--origin", "http://good.example", log=log) as url:
        served = Served(port=int(url.rpartition(":")[2]), path="/v1/collections")
        bomb = gzip.compress(bytes(2**24))
        for status, lines, body in (
            (403, ["Origin: http://attacker.example", typed], b"x"),
            (415, ["Origin: http://good.example", "Content-Type: text/plain"], b"x"),
            (415, [typed, "Content-Encoding: gzip"], bomb),
            (421, [typed, "Host: attacker.example"], b"x"),
            (400, [f"Authorization : Bearer {secret}"], b"x"),
        ):
            lines.append(f"Content-Length: {len(body)}")
            host = "" if status == 421 else "127.0.0.1"
            head = served.head(*lines, method="POST", path=batches, host=host)
            answer = await served.ask(head + body, address=address)
            assert answer.split()[1] == str(status).encode()
        async with served.connection(address) as (_, writer):
            writer.write(served.head(typed, "Content-Length: 100", method="POST", path=batches) + secret.encode())
            await writer.drain()
            await asyncio.sleep(0.1)  # So that it goes in the middle of an upload.
        assert (await served.ask(served.head())).startswith(b"HTTP/1.1 200 ")
    said = log.read_text(encoding="utf-8")
    assert [word for word in (address, secret, "Traceback", "attacker") if word in said] == []


async def test_rounds_are_served_as_they_are_published(tmp_path: Path, kafka: EmbeddedKafka, prefix: str) -> None:
    deployment = await ItemDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=FILMS)
    asked = round_of(deployment.collection, epoch=7, candidates=[0, 1])
    async with gateway(deployment) as url, aiohttp.ClientSession(url) as session:
        async with session.get("/v1/collections/survey/rounds") as response:
            assert await response.json() == {"rounds": []}
        await deployment.send([asked.to_bytes()], topic=deployment.names.rounds("survey"), key=asked.key)
        async with session.get("/v1/collections/survey/rounds") as response:
            assert f"[{asked.to_bytes().decode()}]" in await response.text()
