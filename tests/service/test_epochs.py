"""Tests of heavy hitters on a real Kafka, phase after phase, with workers as an operator runs them."""

import asyncio
import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kinds import solve
from stream_ldp.pipeline.answer import Status
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.statistics import ReportSums
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.service.replay import compare
from tests.service.epochs import FILMS, FORGER, ItemDeployment, Users, at, film_sets, next_epoch
from tests.service.harness import WorkerProcess

SEED = 20260717


@pytest.fixture
async def deployment(tmp_path: Path, kafka: EmbeddedKafka, prefix: str) -> ItemDeployment:
    return await ItemDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=FILMS)


# tests/kinds/test_on_kafka.py kills one then, too.
@pytest.mark.long
async def test_a_worker_killed_in_phase_2_changes_nothing_in_the_finals(deployment: ItemDeployment) -> None:
    """The other takes over and changes nothing either; provisional rankings come now and then."""
    users = Users(deployment=deployment, sets=film_sets(20_000, items=128, seed=SEED), seed=SEED)
    epoch = next_epoch(deployment)
    with deployment.worker() as first, deployment.worker() as second:
        await asyncio.gather(first.ready(), second.ready())
        for phase in (1, 2, 3):
            asked = await deployment.round(epoch, phase)
            answering = asyncio.create_task(users.answer(asked, seconds=1.0))
            if phase == 2:
                await asyncio.sleep(0.7)
                (await asking(first, second)).signal(signal.SIGKILL)
            await answering
        await users.live(epoch + 1)
        await deployment.final(epoch + 1, 3)
    for each in (epoch, epoch + 1):
        # Everyone answers phase 1, and one half of them each of the other two.
        await deployment.assert_published(each, reports=40_000)
    rankings = await deployment.rankings()
    assert all(each.final for each in rankings)
    assert {(each.epoch, each.phase) for each in rankings} == {
        (each, phase) for each in (epoch, epoch + 1) for phase in (1, 2, 3)
    }
    keys = {ranking.key: ranking for ranking in rankings}
    assert len(keys) == 6
    for ranking in rankings:
        (again,) = await compare(
            deployment.collection, settings=deployment.settings, window_ms=ranking.window.start_ms
        )
        assert again.differences == ()
    assert {each.final for each in await deployment.provisional()} == {False}


async def asking(*workers: WorkerProcess) -> WorkerProcess:
    """Find the worker that has told the clients what is next, and so merges the collection."""
    pages = [(await worker.get("/metrics"))[1] for worker in workers]
    (found,) = (
        worker
        for worker, page in zip(workers, pages, strict=True)
        if 'stream_ldp_rounds_published_total{collection="survey"} 1.0' in page
    )
    return found


async def test_an_epoch_continues_if_a_worker_dies_before_it_publishes_the_next_round(
    deployment: ItemDeployment,
) -> None:
    """Its final is on the log, the round is not; and then nobody answers a phase, which ends the epoch."""
    collection = deployment.collection
    users = Users(deployment=deployment, sets=film_sets(5_000, items=128, seed=SEED), seed=SEED)
    epoch = next_epoch(deployment)
    first = await deployment.round(epoch, 1)
    await users.answer(first)
    (answer, *_) = await deployment.batch_answers(epoch)
    task: WindowTask[Any, Any] = WindowTask(
        series=collection.series[0],
        window_ms=first.start_ms,
        final=True,
        windows=((1.0, (ReportSums.of(reports=answer.reports, values=answer.sums),)),),
        before=None,
    )
    died = solve(collection, task)
    await deployment.send(
        [died.to_bytes()], topic=deployment.names.answers_of("survey", "heavy-hitters"), key=died.key
    )
    with deployment.worker() as worker:
        await worker.ready()
        await users.answer(await deployment.round(epoch, 2))
        assert (await deployment.final(epoch, 2)).reports_per_phase[0] == 5_000
        # Nobody answers phase 3.
        await users.answer(await deployment.round(epoch + 1, 1))
        await deployment.round(epoch + 1, 2)
    finals = await deployment.finals()
    assert set(finals) == {(epoch, 1), (epoch, 2), (epoch, 3), (epoch + 1, 1)}
    assert finals[epoch, 3].status is Status.NO_REPORTS
    assert not finals[epoch, 3].complete


async def test_bad_reports_and_bad_rounds_neither_change_a_final_nor_stop_the_worker(
    deployment: ItemDeployment,
) -> None:
    users = Users(deployment=deployment, sets=film_sets(5_000, items=128, seed=SEED), seed=SEED)
    liars = Users(deployment=deployment, sets=film_sets(500, items=128, seed=SEED + 1), seed=SEED + 1)
    epoch = next_epoch(deployment)
    with deployment.worker() as worker:
        await worker.ready()
        await users.answer(await deployment.round(epoch, 1))
        asked = await deployment.round(epoch, 2)
        others = tuple(item for item in range(20) if item not in (asked.candidates or ()))
        # Well formed, and nobody's: it could have been told to some clients by whoever can write the topic.
        forged = asked.model_copy(update={"candidates": others, "padding": 1})
        never_told = asked.model_copy(update={"candidates": (1, 2), "padding": 1})
        beyond = asked.model_copy(update={"candidates": (*others, 128)})
        # Nobody may spend so many nats.
        dear = [json.dumps(json.loads(asked.to_bytes()) | {"epsilon": nats}).encode() for nats in (1e308, 999.0)]
        await deployment.send(
            [b"garbage", beyond.to_bytes(), *dear, forged.to_bytes()],
            topic=deployment.names.rounds("survey"),
            key=FORGER,
        )
        await deployment.send(liars.batches(forged))
        unknown = liars.batches(never_told)
        closed = [at(asked.start_ms, batch) for batch in liars.batches(await deployment.round(epoch, 1))]
        await deployment.send([*unknown, *closed])
        await users.answer(asked)
        await users.answer(await deployment.round(epoch, 3))
        await deployment.final(epoch, 3)
        letters = await deployment.records(deployment.names.dead_letters("survey"))
        _, metrics = await worker.get("/metrics")
        assert await worker.problems() == []
        assert worker.process.poll() is None
    assert 'records_passed_over_total{collection="survey",topic="rounds"} 4.0' in metrics
    await deployment.assert_published(epoch, reports=10_000)
    told = Counter((dict(letter.headers)["reason"].decode(), letter.value) for letter in letters)
    assert told == Counter(
        [(Reason.UNKNOWN_FINGERPRINT.value, value) for value in unknown]
        + [(Reason.CLOSED_PHASE.value, value) for value in closed]
    )
    assert "records that are no rounds of ours are passed over: " in worker.log


async def test_windows_of_pipelined_epochs_ask_both_phases_and_bring_a_result_each(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str
) -> None:
    text = FILMS.replace("gfim", "ldpminer") + "epochs: pipelined"
    deployment = await ItemDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=text)
    users = Users(deployment=deployment, sets=film_sets(3_000, items=128, seed=SEED), seed=SEED)
    begin = next_epoch(deployment)
    with deployment.worker() as worker:
        await worker.ready()
        for window in range(begin, begin + 3):
            asked = [
                await deployment.round(window - phase + 1, phase) for phase in (1, 2) if window - phase + 1 >= begin
            ]
            assert {each.start_ms for each in asked} == {window * deployment.collection.schedule.size_ms}
            # At once, or the first answers would close the window for the others.
            await deployment.send([batch for each in asked for batch in users.batches(each)])
        await deployment.final(begin + 1, 2)
    for epoch in (begin, begin + 1):
        await deployment.assert_published(epoch, reports=6_000)
    phases = [(each.window.start_ms, each.phase) for each in (await deployment.finals()).values()]
    size_ms = deployment.collection.schedule.size_ms
    assert sorted(phases) == [
        ((begin + window) * size_ms, phase) for window in range(3) for phase in (1, 2) if phase <= window + 1
    ]


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_a_worker_that_is_down_for_a_whole_phase_loses_no_more_than_that_epoch(
    deployment: ItemDeployment,
) -> None:
    users = Users(deployment=deployment, sets=film_sets(5_000, items=128, seed=SEED), seed=SEED)
    epoch = next_epoch(deployment)
    with deployment.worker() as worker:
        await worker.ready()
        await users.answer(await deployment.round(epoch, 1))
        await deployment.records(deployment.names.reports("survey"))
        worker.signal(signal.SIGKILL)
    # Phases 2 and 3 pass without answers; the clients go on with the next epoch.
    await users.answer(await deployment.round(epoch + 1, 1))
    with deployment.worker() as worker:
        for phase in (2, 3):
            await users.answer(await deployment.round(epoch + 1, phase))
        await deployment.final(epoch + 1, 3)
    await deployment.assert_published(epoch + 1, reports=10_000)
    (first, *_) = await deployment.batch_answers(epoch)
    finals = await deployment.finals()
    # On a busy machine, the worker may have asked the second phase before it was killed.
    asked = [(epoch, 2)] if (epoch, 2) in await deployment.rounds() else []
    assert sorted(finals) == [(epoch, 1), *asked, (epoch + 1, 1), (epoch + 1, 2), (epoch + 1, 3)]
    assert [finals[each].reports for each in asked] == [0] * len(asked)
    assert finals[epoch, 1].reports == first.reports == 5_000


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_epochs_of_200_000_users_survive_a_killed_worker_and_a_zombie(
    deployment: ItemDeployment,
) -> None:
    users = Users(deployment=deployment, sets=film_sets(200_000, items=128, seed=SEED), seed=SEED)
    epoch = next_epoch(deployment)
    with deployment.worker() as first, deployment.worker() as second:
        await asyncio.gather(first.ready(), second.ready())
        await users.answer(await deployment.round(epoch, 1), seconds=3)
        answering = asyncio.create_task(users.answer(await deployment.round(epoch, 2), seconds=3))
        await asyncio.sleep(1.5)
        killed = await asking(first, second)
        killed.signal(signal.SIGKILL)
        await answering
        other = second if killed is first else first
        with deployment.worker() as third:
            await users.answer(await deployment.round(epoch, 3), seconds=3)
            await third.ready()
            await users.answer(await deployment.round(epoch + 1, 1), seconds=3)
            answering = asyncio.create_task(users.answer(await deployment.round(epoch + 1, 2), seconds=3))
            await asyncio.sleep(1.5)
            # Longer than the session: it wakes up to find that its partitions have gone to the other.
            other.signal(signal.SIGSTOP)
            await answering
            await asyncio.sleep(9)
            other.signal(signal.SIGCONT)
            await users.answer(await deployment.round(epoch + 1, 3), seconds=3)
            await deployment.final(epoch + 1, 3)
            # The one that was stopped has had time to say what it knows.
            await other.ready()
            await asyncio.sleep(3)
    for each in (epoch, epoch + 1):
        await deployment.assert_published(each, reports=400_000)
