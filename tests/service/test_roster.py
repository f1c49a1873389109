"""Tests that collections are added, changed and retired while workers go on, each by itself."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import pytest
from aiokafka.errors import KafkaConnectionError
from typer.testing import CliRunner

from stream_ldp.cli import app
from stream_ldp.collection import Collection
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.memory import MemoryBroker, connected
from stream_ldp.kafka.registry import REMOVED, Registration, register
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import load_collection
from stream_ldp.records.collection import JointCollection
from stream_ldp.service import roster
from stream_ldp.service.merger import Merger
from stream_ldp.service.metrics import Metrics
from stream_ldp.service.ownership import ReportsLost
from stream_ldp.service.roster import Roster
from tests.service.harness import SURVEY, JointDeployment, batches
from tests.service.test_worker import assert_finals_are_exact, play


@pytest.fixture
async def deployment(tmp_path: Path, kafka: EmbeddedKafka, prefix: str) -> JointDeployment:
    found = await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, partitions=2)
    return replace(found, follows=True)


async def operate(deployment: JointDeployment, *command: str) -> str:
    """Run a command as an operator does beside the workers, and return what it says."""
    flags = ["--brokers", deployment.settings.brokers, "--topic-prefix", deployment.settings.topic_prefix]
    result = await asyncio.to_thread(CliRunner().invoke, app, [*command, *flags], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.stdout


async def letters(deployment: JointDeployment) -> Counter[str]:
    """Count the dead letters by their reason."""
    found = await deployment.records(deployment.names.dead_letters(deployment.collection.name))
    return Counter(dict(each.headers)["reason"].decode() for each in found)


async def reported(deployment: JointDeployment, *, number: int) -> None:
    """Report so many batches of five at once."""
    now_ms, rng = time.time_ns() // 1_000_000, np.random.default_rng(number)
    await deployment.send(batches(deployment.collection, [now_ms] * number, reports=5, rng=rng))


class Counting:
    """What counts a collection, in place of an ingest.

    now: names and window sizes of the collections that are counted now.
    failing, ending: by name, what the next one fails with at its start, and at its end.
    """

    now: ClassVar[list[tuple[str, int]]] = []
    merging: ClassVar[Merging]
    failing: ClassVar[dict[str, BaseException]] = {}
    ending: ClassVar[dict[str, Exception]] = {}
    crash_reason: BaseException | None = None

    def __init__(self, collection: Collection, **_: Any) -> None:
        self._one = collection.name, collection.window.size_ms
        self._ended = asyncio.Event()

    async def start(self) -> None:
        if (error := self.failing.pop(self._one[0], None)) is not None:
            raise error
        self.now.append(self._one)

    def begin(self) -> None:
        return

    def problems(self) -> list[str]:
        return []

    async def wait_until_stopped(self) -> None:
        await self._ended.wait()

    async def stop(self) -> None:
        assert self._one[0] not in self.merging.now, "merging ends before the group is left"
        if self._one in self.now:
            self.now.remove(self._one)
        if (error := self.ending.pop(self._one[0], None)) is not None:
            raise error


class Merging:
    """A merger that notes whose windows it merges."""

    def __init__(self) -> None:
        self.now: dict[str, Callable[[Exception], None]] = {}

    def serve(self, collection: Collection, *, failed: Callable[[Exception], None], **_: Any) -> None:
        self.now[collection.name] = failed

    async def dismiss(self, name: str) -> None:
        del self.now[name]


class Scene:
    """A roster on a registry in memory."""

    def __init__(self) -> None:
        settings = Settings(brokers="memory:1")
        self.topic = settings.topic_names.collections
        self.broker = MemoryBroker(topics={self.topic}, now_ms=0)
        Counting.merging = self.merger = Merging()
        self.metrics = Metrics([])
        nothing: Any = None
        self.roster = Roster(
            settings,
            admin=nothing,
            producer=nothing,
            reports=nothing,
            merger=cast("Merger", self.merger),
            writers=nothing,
            metrics=self.metrics,
        )

    def register(self, name: str, *, size: str = "2s", **changes: Any) -> None:
        found = replace(
            Registration.of(JointCollection.parse(SURVEY.format(name=name).replace("2s", size))), **changes
        )
        self.broker.put(self.topic, found.value, key=found.key)

    async def counts(self, *expected: tuple[str, int]) -> None:
        async with asyncio.timeout(10):
            while sorted(Counting.now) != sorted(expected):
                await asyncio.sleep(0.01)
        assert self.merger.now.keys() == {name for name, _ in expected}

    def waits(self, name: str) -> bool:
        return self.metrics.registry.get_sample_value("stream_ldp_collection_waiting", {"collection": name}) == 1


@pytest.fixture
async def scene(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    async def fine(*_: object) -> None:
        return

    Counting.now, Counting.failing = [], {}
    for name, value in {"Ingest": Counting, "check_topics": fine, "check_fences": fine}.items():
        monkeypatch.setattr(roster, name, value)
    loaded: list[str] = []
    monkeypatch.setattr(roster, "load_solver", lambda collection: loaded.append(collection.name))
    monkeypatch.setattr(roster, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(roster, "RETRY_SECONDS", 0.01)
    scene = Scene()
    with connected(scene.broker):
        scene.register("first")
        await scene.roster.prepare()
        assert loaded == ["first"], "before groups are joined"
        await scene.roster.start()
        yield scene
        await scene.roster.stop()
    assert not Counting.now
    assert not scene.merger.now


async def test_collections_begin_change_and_pause_as_they_are_registered(scene: Scene) -> None:
    await scene.counts(("first", 2_000))
    scene.register("second")
    await scene.counts(("first", 2_000), ("second", 2_000))
    scene.register("second", paused=True)
    await scene.counts(("first", 2_000))
    assert scene.roster.problems() == [
        "second: is paused, while `stream-ldp topics create` changes it, or `topics retire` retires it"
    ]
    scene.register("second", size="3s")
    await scene.counts(("first", 2_000), ("second", 3_000))
    assert scene.roster.problems() == []
    assert (
        scene.metrics.registry.get_sample_value("stream_ldp_reports_counted_total", {"collection": "second"}) == 0.0
    )


async def test_what_cannot_be_served_waits_and_is_named_and_the_others_go_on(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await scene.counts(("first", 2_000))
    monkeypatch.setattr(roster, "RETRY_SECONDS", 60.0)
    broken = Registration(
        name="broken", fingerprint=b"", document={"collection": "broken", "mechanism": {"kind": "x"}}
    )
    scene.broker.put(scene.topic, broken.value, key=broken.key)
    scene.broker.put(scene.topic, b"junk", key=b"junk")
    Counting.failing["lost"] = ReportsLost("retention deleted offsets 0 to 7")
    scene.register("lost")
    async with asyncio.timeout(10):
        while len(scene.roster.problems()) < 3 or "about to be" in str(scene.roster.problems()):
            await asyncio.sleep(0.01)
    assert [each.partition(":")[0] for each in scene.roster.problems()] == ["junk", "broken", "lost"]
    assert all(
        name in caplog.text for name in ("junk: offset 2", "lost: cannot be served", "mechanism.kind: expected")
    )
    assert [scene.waits(name) for name in ("first", "junk", "broken", "lost")] == [False, True, True, True]
    assert Counting.now == [("first", 2_000)]
    for name in ("junk", "broken", "lost"):
        scene.broker.put(scene.topic, REMOVED, key=name.encode())
    async with asyncio.timeout(10):
        while scene.roster.problems():
            await asyncio.sleep(0.01)
    assert not any(scene.waits(name) for name in ("junk", "broken", "lost"))
    assert Counting.now == [("first", 2_000)]


async def test_what_has_failed_is_tried_again_and_says_so_once(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="stream_ldp")
    await scene.counts(("first", 2_000))
    scene.merger.now["first"](ReportsLost("gone"))
    async with asyncio.timeout(10):
        while caplog.text.count("first: is served") < 2:
            await asyncio.sleep(0.01)
    await scene.counts(("first", 2_000))
    assert caplog.text.count("cannot be served") == 1
    assert not scene.waits("first")


async def test_a_collection_that_fails_again_and_again_joins_the_group_ever_more_seldom(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="stream_ldp")
    waited: list[float] = []
    await scene.counts(("first", 2_000))
    served = scene.roster._served["first"]
    for number in range(1, 5):
        scene.merger.now["first"](ReportsLost("gone"))
        async with asyncio.timeout(10):
            while caplog.text.count("first: is served") <= number:
                await asyncio.sleep(0.001)
        waited.append(served._retry_seconds / roster.RETRY_SECONDS)
    assert waited == [1, 2, 4, 8]
    assert caplog.text.count("cannot be served") == 1
    scene.register("first", size="3s")
    await scene.counts(("first", 3_000))
    assert served._retry_seconds == roster.RETRY_SECONDS


async def test_a_collection_that_is_cancelled_by_what_it_awaits_is_tried_again_and_named(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    Counting.failing["second"] = asyncio.CancelledError()
    scene.register("second")
    await scene.counts(("first", 2_000), ("second", 2_000))
    assert "second: cannot be served" in caplog.text


async def test_a_collection_whose_end_fails_ends_all_the_same(scene: Scene) -> None:
    await scene.counts(("first", 2_000))
    Counting.ending["first"] = KafkaConnectionError("cut")
    scene.broker.put(scene.topic, REMOVED, key=b"first")
    await scene.counts()
    assert "first" not in scene.roster._served
    scene.register("second")
    await scene.counts(("second", 2_000))


async def test_the_whole_worker_begins_again_only_if_brokers_fail_it_with_every_collection(scene: Scene) -> None:
    scene.register("second")
    await scene.counts(("first", 2_000), ("second", 2_000))
    await scene.roster.note_failure(KafkaConnectionError("cut"))
    assert scene.roster.crash_reason is None
    scene.register("first", paused=True)
    scene.register("second", paused=True)
    await scene.counts()
    await scene.roster.note_failure(ValueError("a bug"))
    assert scene.roster.crash_reason is None
    await scene.roster.note_failure(error := KafkaConnectionError("cut"))
    assert scene.roster.crash_reason is error


async def test_a_registration_is_current_until_another_is_written(scene: Scene) -> None:
    first = Registration.of(JointCollection.parse(SURVEY.format(name="first")))
    assert await scene.roster.is_current(first)
    scene.register("first", paused=True)
    assert not await scene.roster.is_current(first), "whether or not it has been looked at"


# That a worker serves what is added, the tests above show, and that one is killed, tests/kinds/test_on_kafka.py.
@pytest.mark.long
async def test_a_collection_that_is_added_while_a_worker_is_killed_is_answered_exactly(
    deployment: JointDeployment,
) -> None:
    with deployment.worker() as first, deployment.worker() as second:
        await asyncio.gather(first.ready(), second.ready())
        playing = asyncio.create_task(play(deployment, users=20_000, seconds=6))
        await asyncio.sleep(1)
        added = (await deployment.beside_another(partitions=2)).of_last()
        await asyncio.sleep(1)  # within which a worker has begun to serve it
        first.signal(signal.SIGKILL)
        await play(added, users=20_000, seconds=4)
        await playing
        await assert_finals_are_exact(deployment, reports=20_000)
        await assert_finals_are_exact(added, reports=20_000)
        second.signal(signal.SIGTERM)
        assert await second.ended() == 0


async def test_a_collection_is_changed_and_retired_without_a_restart_and_a_broken_one_waits_alone(
    deployment: JointDeployment,
) -> None:
    names = deployment.names
    with deployment.worker() as worker:
        await worker.ready()
        await reported(deployment, number=10)
        finals = await deployment.finals_of(50)
        # One that no release reads, and one whose topics nobody has made.
        await deployment.send([b"{}"], topic=names.collections, key=b"broken")
        lonely = deployment.directory / "lonely.yaml"
        lonely.write_text(SURVEY.format(name="lonely"), encoding="utf-8")
        await register(deployment.settings, [Registration.of(load_collection(lonely))])
        async with asyncio.timeout(30):
            while len(problems := await worker.problems()) < 2 or "about to be" in str(problems):
                await asyncio.sleep(0.2)
        assert any(each.startswith("broken: offset 1 of") for each in problems)
        assert any("lonely: cannot be served" in each and "does not exist" in each for each in problems)
        metrics = (await worker.get("/metrics"))[1]
        assert 'stream_ldp_collection_waiting{collection="broken"} 1.0' in metrics
        assert 'stream_ldp_collection_waiting{collection="lonely"} 1.0' in metrics

        deployment.file.write_text(SURVEY.format(name="survey").replace("size: 2s", "size: 3s"), encoding="utf-8")
        said = await operate(deployment, "topics", "create", str(deployment.file))
        assert "Collection survey is registered anew: window.size (registered: 2000; here: 3000)." in said
        changed = replace(deployment, collection=load_collection(deployment.file))
        await reported(changed, number=20)
        after = (await changed.finals_of(150))[len(finals) :]
        assert sum(each.reports for each in after) == 100
        assert {each.window.end_ms - each.window.start_ms for each in after} == {3_000}

        await reported(changed, number=30)
        assert "Collection survey is retired" in await operate(deployment, "topics", "retire", "survey")
        await reported(changed, number=7)
        async with asyncio.timeout(30):
            while (await letters(changed))["retired"] < 7:
                await asyncio.sleep(0.3)
        assert sum(each.reports for each in await changed.finals_of(300)) == 300
        assert "retired" in await operate(deployment, "topics", "registry")
        assert 'batches_rejected_total{collection="survey",reason="retired"} 7.0' in (await worker.get("/metrics"))[1]
        worker.signal(signal.SIGTERM)
        assert await worker.ended() == 0
