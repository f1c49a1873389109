"""Tests of workers whose broker is away or frozen for a while, on a real Kafka."""

import asyncio
import json
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from stream_ldp.kafka.embedded import EmbeddedKafka
from tests.kafka.secured import SecuredKafka
from tests.service.harness import JointDeployment, WorkerProcess
from tests.service.test_worker import assert_finals_are_exact, play

#: Seconds within which a worker tells of an outage: a question a second, and two seconds to wait for each answer; the
#: rest is for a busy machine.
TOLD_SECONDS = 20.0


def freeze(broker: EmbeddedKafka) -> None:
    """Stop the broker's processes as they are: its ports stay open, and nobody answers."""
    broker.signal(signal.SIGSTOP)


def thaw(broker: EmbeddedKafka) -> None:
    broker.signal(signal.SIGCONT)


HOW: dict[str, tuple[Callable[[EmbeddedKafka], None], Callable[[EmbeddedKafka], None]]] = {
    "killed": (EmbeddedKafka.kill, EmbeddedKafka.restart),
    "shut down": (EmbeddedKafka.shut_down, EmbeddedKafka.start),
    "frozen": (freeze, thaw),
}


WHY = {
    "killed": "connection refused: no broker listens on this port",
    "shut down": "connection refused: no broker listens on this port",
    "frozen": "no answer within 2 s",
}


async def follow(worker: WorkerProcess, *, seconds: float) -> None:
    """See to it that the worker says within seconds that it is not ready, and never that it should be restarted."""
    began, told = time.monotonic(), False
    while not told or time.monotonic() < began + seconds:
        assert worker.process.poll() is None, worker.log
        assert (await worker.get("/livez"))[0] == 200
        problems = await worker.problems()
        away = any("no broker has answered for" in problem for problem in problems)
        assert away or (not told and time.monotonic() < began + TOLD_SECONDS), problems
        assert not away or "stream_ldp_broker_connected 0.0" in (await worker.get("/metrics"))[1]
        told = away
        await asyncio.sleep(1)


async def through_an_outage(
    mortal: EmbeddedKafka, directory: Path, prefix: str, *, how: str, seconds: float, count: int = 2
) -> None:
    """Lose the broker of so many workers for a while."""
    lose, bring_back = HOW[how]
    deployment = await JointDeployment.create(directory, brokers=mortal.bootstrap, prefix=prefix)
    with ExitStack() as running:
        workers = [running.enter_context(deployment.worker()) for _ in range(count)]
        await asyncio.gather(*[worker.ready() for worker in workers])
        assert "stream_ldp_broker_connected 1.0" in (await workers[0].get("/metrics"))[1]
        # Not long enough for the last windows to close before the broker is lost.
        await play(deployment, users=20_000, seconds=3)
        await asyncio.to_thread(lose, mortal)
        await asyncio.gather(*[follow(worker, seconds=seconds) for worker in workers])
        await asyncio.to_thread(bring_back, mortal)
        await asyncio.gather(*[worker.ready(within=60) for worker in workers])
        await play(deployment, users=10_000, seconds=1)
        await assert_finals_are_exact(deployment, reports=30_000)
        for worker in workers:
            why = f"no broker answers: {mortal.bootstrap}: {WHY[how]}; waiting for up to 10m"
            assert worker.log.count(why) == 1, worker.log
            assert f"broker {mortal.bootstrap} answers again, after" in worker.log
            assert "Traceback" not in worker.log
            assert worker.process.poll() is None


async def test_a_broker_that_is_away_for_seconds_is_reported_at_once_and_costs_no_report(
    mortal: EmbeddedKafka, tmp_path: Path, prefix: str
) -> None:
    await through_an_outage(mortal, tmp_path, prefix, how="killed", seconds=4, count=1)


# That it waits at its start, and ends with the reason of an outage, is quickly shown in test_worker.py.
@pytest.mark.long
async def test_a_worker_waits_for_its_broker_and_ends_with_a_reason_after_a_long_outage_only(
    mortal: EmbeddedKafka, tmp_path: Path, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits at the start, too, and says so. One that is told to stop while it waits ends without a reason."""
    monkeypatch.setenv("STREAM_LDP_OUTAGE", "5s")
    deployment = await JointDeployment.create(tmp_path, brokers=mortal.bootstrap, prefix=prefix)
    refused = f"{mortal.bootstrap}: connection refused: no broker listens on this port"
    await asyncio.to_thread(mortal.kill)
    with deployment.worker(environment={"STREAM_LDP_OUTAGE": "10m"}) as patient:
        async with asyncio.timeout(30):
            while await patient.problems() != [refused]:
                await asyncio.sleep(0.1)
        assert (await patient.get("/livez"))[0] == 200
        assert "stream_ldp_broker_connected 0.0" in (await patient.get("/metrics"))[1]
        assert patient.log.count(f"not started yet, and waiting for up to 10m (--outage): {refused}") == 1
        await asyncio.to_thread(mortal.start)
        await patient.ready(within=60)
        assert "the brokers answer" in patient.log
        with deployment.worker() as worker:
            await asyncio.gather(worker.ready(), patient.ready())
            await play(deployment, users=1_000, seconds=1)
            await asyncio.to_thread(mortal.kill)
            with deployment.worker() as late:
                assert await worker.ended(within=60) == 1
                patient.signal(signal.SIGTERM)
                # One that does not end by itself is ended by force, with another code.
                assert await patient.ended() == 0, patient.log
                assert await late.ended(within=60) == 1
        assert "stopped without a last flush, since no broker lets it in" in patient.log
        assert f"no broker has answered for 5s (--outage): {refused}" in worker.log, worker.log
        assert "Traceback" not in worker.log
        assert json.loads(late.log.splitlines()[-1])["message"].endswith(refused)


#: Seconds within which a worker tells that it has to be restarted: it looks at its files every ten.
OUTDATED_SECONDS = 40.0


def change_both(broker: SecuredKafka) -> None:
    """Neither file alone lets a worker in."""
    broker.change_password()
    broker.change_authority()


# That the watch over a worker's and a gateway's brokers asks for a restart is quickly shown in
# tests/kafka/test_broker_watch.py.
@pytest.mark.long
@pytest.mark.parametrize("change", [SecuredKafka.change_password, SecuredKafka.change_authority, change_both])
async def test_a_worker_whose_password_or_authority_has_changed_asks_for_a_restart_and_can_be_stopped(
    changing: SecuredKafka, tmp_path: Path, prefix: str, change: Callable[[SecuredKafka], None]
) -> None:
    environment = changing.environment()
    plain = await JointDeployment.create(tmp_path, brokers=changing.bootstrap, prefix=prefix)
    brokers = environment.pop("STREAM_LDP_BROKERS")
    deployment = replace(plain, settings=plain.settings.model_copy(update={"brokers": brokers}))
    with deployment.worker(environment=environment) as worker:
        await worker.ready()
        await play(plain, users=5_000, seconds=1)
        await asyncio.to_thread(change, changing)
        await asyncio.to_thread(changing.restart)
        async with asyncio.timeout(OUTDATED_SECONDS):
            while (await worker.get("/livez"))[0] != 503:
                await asyncio.sleep(0.2)
        for page in ("/livez", "/readyz"):
            status, said = await worker.get(page)
            assert status == 503
            assert "accept those that its files have now: restart it" in said
        assert worker.process.poll() is None
        worker.signal(signal.SIGTERM)
        # One that does not end by itself is ended by force, with another code.
        assert await worker.ended() == 0, worker.log
    with deployment.worker(environment=environment) as worker:
        await worker.ready()
        assert (await worker.get("/livez"))[0] == 200
        await play(plain, users=5_000, seconds=1)
        await assert_finals_are_exact(plain, reports=10_000)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("how", "seconds"), [("killed", 50), ("shut down", 60), ("frozen", 50), ("killed", 300)])
async def test_a_longer_outage_is_survived_and_told_likewise(
    how: str, seconds: float, mortal: EmbeddedKafka, tmp_path: Path, prefix: str
) -> None:
    await through_an_outage(mortal, tmp_path, prefix, how=how, seconds=seconds)
