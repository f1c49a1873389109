"""Tests of topics that are deleted, made again, or lose their end under the workers, on a real Kafka."""

import asyncio
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.topics import topic_specs
from stream_ldp.service.dead_letters import DeadLetter
from tests.service.harness import SURVEY, JointDeployment, WorkerProcess, batches
from tests.service.test_partitions_added import account_for, feed

#: Seconds within which a worker says what has become of a topic: it asks every second, and does so in 5 s on two idle
#: cores; the rest is for a busy machine. A client that is left alone looks after five minutes.
TOLD_SECONDS = 20.0

#: Seconds within which it counts a topic that is there again: its consumer looks every two, and joins its group anew,
#: for which 10 s are enough on two idle cores.
COUNTED_SECONDS = 40.0

#: Windows that are still open when a broker has been away for some seconds.
LONG = SURVEY.replace("size: 2s", "size: 20s")


@pytest.fixture
async def deployment(tmp_path: Path, kafka: EmbeddedKafka, prefix: str) -> JointDeployment:
    return await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix)


async def told(worker: WorkerProcess, what: str) -> None:
    """Wait until the worker says that it is not ready, and why."""
    problems: list[str] = []
    try:
        async with asyncio.timeout(TOLD_SECONDS):
            while not any(what in each for each in problems):
                problems = await worker.problems()
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"it says {problems}, and not {what!r}") from None
    assert what in worker.log


async def create(deployment: JointDeployment, topic: str, *, partitions: int) -> None:
    """Make the reports topic, or another one of the collection, again."""
    specs = topic_specs(
        [deployment.collection],
        prefix=deployment.settings.topic_prefix,
        partials_partitions=deployment.settings.partials_partitions,
        reports_partitions=partitions,
    )
    async with Cluster.connect(deployment.settings) as cluster:
        async with asyncio.timeout(30):
            while await cluster.identities([topic]):
                await asyncio.sleep(0.1)
        await cluster.create([spec for spec in specs if spec.name == topic], replication=1)
    deployment.partitions[topic] = partitions


@pytest.mark.parametrize(
    "partitions", [pytest.param(2, marks=pytest.mark.long), pytest.param(4, marks=pytest.mark.long), 6]
)
async def test_a_reports_topic_that_is_deleted_and_made_again_is_counted_within_seconds(
    partitions: int, deployment: JointDeployment
) -> None:
    topic = deployment.names.reports(deployment.collection.name)
    with deployment.worker() as worker:
        await worker.ready()
        sent = await feed(deployment, seconds=2)
        await deployment.finals_of(sent)
        before = len(await deployment.finals())
        async with Cluster.connect(deployment.settings) as cluster:
            await cluster.delete_topics([topic])
        await told(worker, f"topic {topic} has been deleted: create it, and go on without what it held")
        await create(deployment, topic, partitions=partitions)
        await worker.ready(within=COUNTED_SECONDS)
        # More than there were, so that places of the old log would be places of the new one.
        again = await feed(deployment, seconds=3)
        async with asyncio.timeout(60):
            while sum(each.reports for each in (await deployment.finals())[before:]) < again:
                await asyncio.sleep(0.5)
        assert sum(each.reports for each in (await deployment.finals())[before:]) == again
        assert worker.process.poll() is None, worker.log
        assert "Traceback" not in worker.log


@pytest.mark.long
async def test_a_reports_topic_that_is_made_again_at_once_is_counted_from_its_beginning(
    deployment: JointDeployment,
) -> None:
    """No metadata show that it was ever away, and windows are open."""
    topic = deployment.names.reports(deployment.collection.name)
    with deployment.worker() as worker:
        await worker.ready()
        await feed(deployment, seconds=3)
        async with Cluster.connect(deployment.settings) as cluster:
            await cluster.delete_topics([topic])
        await create(deployment, topic, partitions=4)
        again_ms = time.time() * 1_000
        await feed(deployment, seconds=8)
        expected = {start: counts.reports for start, counts in (await deployment.expected()).items()}
        # The window in which the topic was deleted had reports of the old one, too, if a final said so before.
        later = {start: reports for start, reports in expected.items() if start > again_ms}
        assert len(later) >= 3
        finals: dict[int, int] = {}
        async with asyncio.timeout(30):
            while not later.keys() <= finals.keys():
                await asyncio.sleep(0.5)
                finals = {each.window.start_ms: each.reports for each in await deployment.finals()}
        assert {start: finals[start] for start in later} == later
        await worker.ready()
        assert worker.process.poll() is None, worker.log


# That each missing topic is said of a worker, tests/service/test_ingest.py and test_topics_watch.py show in memory.
@pytest.mark.long
@pytest.mark.parametrize("which", ["estimates", "partials"])
async def test_a_topic_of_the_workers_that_is_deleted_is_reported_within_seconds(
    which: str, deployment: JointDeployment
) -> None:
    names = deployment.names
    topic = names.partials if which == "partials" else names.answers_of(deployment.collection.name, "estimates")
    with deployment.worker() as worker:
        await worker.ready()
        async with Cluster.connect(deployment.settings) as cluster:
            await cluster.delete_topics([topic])
        await told(worker, f"topic {topic} has been deleted: create it")
        assert worker.process.poll() is None, worker.log


def cut(broker: EmbeddedKafka, topic: str) -> int:
    """Cut the log of every partition of a topic in half, and return by how many bytes; the broker is not running."""
    lost = 0
    for segment in (broker.data / "log").glob(f"{topic}-*/*.log"):
        size = segment.stat().st_size
        with segment.open("r+b") as file:
            file.truncate(size // 2)
        lost += size - size // 2
    return lost


async def told_of_the_cut(worker: WorkerProcess, partitions: int) -> None:
    """Wait until the worker has said of each partition that the brokers have lost its end."""
    async with asyncio.timeout(COUNTED_SECONDS):
        while (told := worker.log.count("the brokers have lost the end of that")) < partitions:
            await asyncio.sleep(0.1)
    assert told == partitions


async def on_the_log(deployment: JointDeployment) -> int:
    """Count the reports that the reports topic has now."""
    return round(sum(counts.reports for counts in (await deployment.expected()).values()))


async def beginning_of_a_window(deployment: JointDeployment) -> None:
    """Wait until a window has just begun, which is still open when the broker has been away and is back."""
    seconds = deployment.collection.window.size_ms / 1_000
    await asyncio.sleep(seconds - time.time() % seconds)


async def refused(deployment: JointDeployment) -> int:
    """Count the records that have a dead letter, each once."""
    letters = await deployment.records(deployment.names.dead_letters(deployment.collection.name))
    return len({place for each in letters for place in DeadLetter.of(each).places})


# In memory, test_ownership.py and test_ingest.py cut the log, of the same owner and of the next.
@pytest.mark.long
async def test_a_log_that_lost_its_end_is_reported_once_and_its_windows_close_with_what_is_left(
    mortal: EmbeddedKafka, tmp_path: Path, prefix: str
) -> None:
    deployment = await JointDeployment.create(tmp_path, brokers=mortal.bootstrap, prefix=prefix, text=LONG)
    topic = deployment.names.reports(deployment.collection.name)
    with deployment.worker() as worker:
        await worker.ready()
        await beginning_of_a_window(deployment)
        sent = await feed(deployment, seconds=3)
        await asyncio.sleep(1)
        await asyncio.to_thread(mortal.kill)
        assert cut(mortal, topic) > 0
        await asyncio.to_thread(mortal.start)
        await told_of_the_cut(worker, deployment.partitions[topic])
        await worker.ready(within=COUNTED_SECONDS)
        left = await on_the_log(deployment)
        assert 0 < left < sent
        # Nobody reports any more.
        await account_for(deployment, left)
        junk = [b"junk %d" % number for number in range(40)]
        await deployment.send(junk)
        new = batches(
            deployment.collection, [time.time_ns() // 1_000_000] * 8, reports=5, rng=np.random.default_rng(5)
        )
        await deployment.send(new)
        await deployment.finals_of(left + 40)
        assert await refused(deployment) == len(junk)
        assert worker.log.count("the brokers have lost the end of that") == deployment.partitions[topic]
        await worker.ready()
        assert worker.process.poll() is None


@pytest.mark.long
async def test_a_worker_that_starts_on_a_log_which_lost_its_end_and_grew_again_counts_what_is_there(
    mortal: EmbeddedKafka, tmp_path: Path, prefix: str
) -> None:
    deployment = await JointDeployment.create(tmp_path, brokers=mortal.bootstrap, prefix=prefix, text=LONG)
    with deployment.worker() as worker:
        await worker.ready()
        await beginning_of_a_window(deployment)
        await feed(deployment, seconds=2)
        await asyncio.sleep(1)
        worker.signal(signal.SIGKILL)
    await asyncio.to_thread(mortal.kill)
    assert cut(mortal, deployment.names.reports(deployment.collection.name)) > 0
    await asyncio.to_thread(mortal.start)
    await feed(deployment, seconds=4)
    junk = [b"junk %d" % number for number in range(40)]
    await deployment.send(junk)
    with deployment.worker() as worker:
        await worker.ready()
        await told_of_the_cut(worker, 4)
        await deployment.finals_of(await on_the_log(deployment))
        assert await refused(deployment) == len(junk)
