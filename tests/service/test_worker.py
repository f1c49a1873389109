"""Tests of the whole service on a real Kafka, with workers as an operator runs them."""

import asyncio
import os
import platform
import re
import resource
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from aiokafka.errors import GroupAuthorizationFailedError, KafkaConnectionError
from typer.testing import CliRunner

from stream_ldp.cli import app
from stream_ldp.client.reporter import Reporter
from stream_ldp.kafka.connection import AccessRefused, BrokerUnreachable
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.patience import WAITED
from stream_ldp.kafka.settings import Settings
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.service import pausing, worker
from stream_ldp.service.replay import compare
from stream_ldp.service.worker import WorkerCrashed, keep_freed_memory, may_begin_again
from tests.chaos.proxy import ProxiedKafka, Proxy
from tests.service.harness import SURVEY, JointDeployment, batches, free_port

SEED = 20260717


@pytest.fixture
async def deployment(tmp_path: Path, kafka: EmbeddedKafka, prefix: str) -> JointDeployment:
    return await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix)


@pytest.fixture
async def by_default(tmp_path: Path, kafka: EmbeddedKafka, prefix: str) -> JointDeployment:
    """Return the deployment of a collection whose estimates begin with a LASSO, as those without a method do."""
    text = SURVEY.replace("method: em, ", "")
    return await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=text)


async def play(deployment: JointDeployment, *, users: int, seconds: float) -> None:
    """Let a population report at an even rate over some windows."""
    collection = deployment.collection
    rng = np.random.default_rng(SEED)
    values = np.stack([rng.integers(size, size=users) for size in collection.sizes], axis=1)
    ticks = max(1, int(seconds / 0.05))
    async with Reporter(
        collection, settings=deployment.settings, entropy=SeededEntropy(SEED), max_reports=200, linger=0.02
    ) as reporter:
        began = time.monotonic()
        for tick, part in enumerate(np.array_split(values, ticks)):
            await reporter.report_many(part, secrets=None)
            await asyncio.sleep(max(0.0, began + (tick + 1) * 0.05 - time.monotonic()))


async def assert_finals_are_exact(deployment: JointDeployment, *, reports: int) -> None:
    """Assert that every window has one final: with its reports and, to 1e-9, the joint that is estimated offline."""
    finals = await deployment.finals_of(reports)
    offline = await deployment.offline()
    published = {estimate.window.start_ms: estimate for estimate in finals}
    assert len(finals) == len(published), "a final was published twice"
    assert [(each.window.start_ms, each.reports) for each in published.values()] == [
        (each.window.start_ms, each.reports) for each in offline
    ]
    assert sum(each.reports for each in published.values()) == reports
    for streamed, batch in zip(published.values(), offline, strict=True):
        np.testing.assert_allclose(streamed.joint(), batch.joint(), rtol=0, atol=1e-9)
    for start_ms in published:
        again = await compare(deployment.collection, settings=deployment.settings, window_ms=start_ms)
        assert [each.differences for each in again] == [()] * len(again)


async def test_every_report_counts_in_one_final_and_finals_match_the_offline_estimates(
    by_default: JointDeployment,
) -> None:
    deployment = by_default
    with deployment.worker() as first, deployment.worker() as second:
        await asyncio.gather(first.ready(), second.ready())
        await play(deployment, users=40_000, seconds=4)
        await assert_finals_are_exact(deployment, reports=40_000)
        for worker in (first, second):
            worker.signal(signal.SIGTERM)
        assert await first.ended() == 0
        assert await second.ended() == 0


# That solvers are loaded before groups are joined, test_roster.py shows, and what they load, tests/test_kinds.py.
@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what a process has loaded")
async def test_a_worker_is_ready_only_when_its_solvers_are_loaded(by_default: JointDeployment) -> None:
    """Else the first answer would wait for them, and be late, while the worker is ready."""
    with by_default.worker(fresh=True) as worker:
        await worker.ready()
        loaded = await asyncio.to_thread(Path(f"/proc/{worker.process.pid}/maps").read_text)
        assert "sklearn/linear_model" in loaded


# With every kind of collection, tests/kinds/test_on_kafka.py kills one.
@pytest.mark.long
async def test_a_worker_killed_halfway_changes_nothing_in_the_finals(deployment: JointDeployment) -> None:
    with deployment.worker() as first, deployment.worker() as second:
        await asyncio.gather(first.ready(), second.ready())
        playing = asyncio.create_task(play(deployment, users=60_000, seconds=6))
        await asyncio.sleep(2.7)
        first.signal(signal.SIGKILL)
        await playing
        await assert_finals_are_exact(deployment, reports=60_000)


@pytest.mark.long
async def test_the_same_kill_loses_reports_if_the_read_position_is_committed_instead(
    deployment: JointDeployment,
) -> None:
    with deployment.worker(broken="commit-read-position") as first:
        await first.ready()
        playing = asyncio.create_task(play(deployment, users=50_000, seconds=5))
        await asyncio.sleep(3)
        first.signal(signal.SIGKILL)
        await playing
        with deployment.worker(broken="commit-read-position") as second:
            await second.ready()
            await play(deployment, users=200, seconds=5)
            finals = await deployment.finals_of(1, within=30)
            await asyncio.sleep(6)
            finals = await deployment.finals()
    expected = {window: counts.reports for window, counts in (await deployment.expected()).items()}
    assert any(estimate.reports < expected[estimate.window.start_ms] for estimate in finals)


async def test_a_stopped_worker_exits_with_0_and_hands_over_without_loss(deployment: JointDeployment) -> None:
    with deployment.worker(fresh=True) as first:
        await first.ready()
        await play(deployment, users=10_000, seconds=2)
        first.signal(signal.SIGTERM)
        assert await first.ended() == 0
    with deployment.worker() as second:
        await assert_finals_are_exact(deployment, reports=10_000)
        second.signal(signal.SIGINT)
        assert await second.ended() == 0


async def test_a_worker_whose_connection_is_cut_makes_its_parts_anew_and_loses_nothing(
    deployment: JointDeployment,
) -> None:
    with deployment.worker(broken="stay-connected") as worker:
        await worker.ready()
        await play(deployment, users=20_000, seconds=6)
        await assert_finals_are_exact(deployment, reports=20_000)
        # By the address of the cut alone: on a busy machine, other connections may end as well.
        cut = r"all parts of the worker begin again, after: KafkaError\(.*127\.0\.0\.1:9092 closed"
        async with asyncio.timeout(30):
            while not (told := re.findall(cut, worker.log)):
                await asyncio.sleep(0.2)
        assert len(told) == 1
        await worker.ready()
        worker.signal(signal.SIGTERM)
        assert await worker.ended() == 0


def crashed(cause: Exception) -> WorkerCrashed:
    error = WorkerCrashed("a part of the worker failed")
    error.__cause__ = cause
    return error


def waited_for(error: Exception) -> Exception:
    error.add_note(WAITED)
    return error


@pytest.mark.parametrize(
    ("error", "connected", "expected"),
    [
        (crashed(TimeoutError()), True, False),
        (crashed(TimeoutError()), False, True),
        (crashed(waited_for(KafkaConnectionError())), True, False),
        (crashed(waited_for(KafkaConnectionError())), False, True),
        (crashed(KafkaConnectionError()), True, True),
        (crashed(GroupAuthorizationFailedError("group")), False, False),
        (crashed(KeyError()), False, False),
        (AccessRefused("password"), False, False),
    ],
)
def test_a_part_that_fails_while_no_broker_answers_leaves_the_reason_to_the_watch(
    error: Exception, connected: bool, expected: bool
) -> None:
    assert may_begin_again(error, connected=connected) is expected


async def test_parts_that_begin_again_show_nothing_of_what_a_peer_may_own_by_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "LOOK_AROUND_SECONDS", 0.0)
    process = worker._Process(Settings(), {})
    monkeypatch.setattr(process, "watch", SimpleNamespace(connected=True))
    lag = process.metrics.ingest.consumer_lag
    lag.labels("care.reports", "3").set(7)
    await process._give_up_worker(KafkaConnectionError())
    assert [sample for metric in lag.collect() for sample in metric.samples] == []


async def test_parts_that_do_not_stop_in_time_end_the_worker_with_what_failed_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = asyncio.Event()

    class Stubborn:
        async def stop(self) -> None:
            """Take a cancellation for the end of what it waits for, as mode does, and wait for something else."""
            with suppress(asyncio.CancelledError):
                await done.wait()
            await done.wait()

    monkeypatch.setattr(worker, "LOOK_AROUND_SECONDS", 0.0)
    monkeypatch.setattr(worker, "STOP_SECONDS", 0.01)
    process = worker._Process(Settings(), {})
    monkeypatch.setattr(process, "watch", SimpleNamespace(connected=True))
    monkeypatch.setattr(process, "worker", Stubborn())
    giving_up = asyncio.ensure_future(process._give_up_worker(KafkaConnectionError("cut")))
    ended, _ = await asyncio.wait([giving_up], timeout=5)
    done.set()
    assert ended, "it waits for the parts without end"
    with pytest.raises(KafkaConnectionError, match="cut"):
        giving_up.result()


async def test_a_worker_whose_password_has_changed_should_be_restarted_unless_it_begins_again_anyway(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process = worker._Process(Settings(), {})
    monkeypatch.setattr(process, "watch", SimpleNamespace(live=lambda: ["restart it"], problems=list))
    assert process.live() == [], "it has not started yet"
    monkeypatch.setattr(process, "worker", SimpleNamespace(live=lambda: ["no turn"]))
    assert process.live() == ["restart it", "no turn"]
    monkeypatch.setattr(process, "_again", "its parts begin again")
    assert process.live() == []


async def test_a_worker_waits_for_its_broker_at_the_start_and_ends_with_the_reason_of_an_outage(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(worker, "gc", SimpleNamespace(freeze=lambda: None, set_threshold=lambda _: None))
    address = f"127.0.0.1:{free_port()}"
    settings = Settings.load(brokers=address, admin_port=0, outage="1s")
    refused = f"{address}: connection refused: no broker listens on this port"
    with pytest.raises(BrokerUnreachable) as ended:
        await worker.run(settings, {})
    assert str(ended.value) == refused
    assert [text for text in caplog.messages if text.startswith("not started yet")] == [
        f"not started yet, and waiting for up to 1s (--outage): {refused}"
    ]


@pytest.mark.long
async def test_a_worker_whose_parts_fail_again_and_again_ends_with_the_reason(deployment: JointDeployment) -> None:
    worker = deployment.worker(broken="ever-stay-connected", environment={"STREAM_LDP_OUTAGE": "6s"})
    with worker:
        assert await worker.ended(within=60) == 1
        assert worker.log.count("all parts of the worker begin again") >= 2
        assert "stopping, after: a part of the worker failed" in worker.log


@pytest.mark.long
async def test_a_worker_that_hangs_at_its_end_says_at_what_and_is_ended(deployment: JointDeployment) -> None:
    with deployment.worker(broken="end-when-told") as worker:
        await worker.ready()
        worker.signal(signal.SIGTERM)
        assert await worker.ended() == 1
        assert "ended by force" in worker.log
        assert "_Process.stop > _hang > Event.wait" in worker.log
        assert "ServiceThread._serve" in worker.log, "the tasks of the thread of Faust's consumer"


async def test_each_kind_of_bad_batch_goes_to_the_dead_letters_with_its_reason_and_place(
    deployment: JointDeployment,
) -> None:
    collection, now = deployment.collection, time.time_ns() // 1_000_000
    rng = np.random.default_rng(SEED)
    good, future, past = batches(collection, [now, now + 3_600_000, now - 30 * 86_400_000], reports=3, rng=rng)
    (old,) = batches(collection, [now - 60_000], reports=4, rng=rng)
    foreign = wire.encode(
        wire.Batch(
            fingerprint=os.urandom(16), batch_id=os.urandom(16), time_ms=now, rows=np.zeros((1, 1), dtype=np.uint8)
        )
    )
    bad = {
        Reason.TOO_SHORT: b"hello",
        Reason.BAD_MAGIC: b"X" + good[1:],
        Reason.WRONG_LENGTH: good[:-1],
        Reason.BAD_CHECKSUM: good[:-1] + bytes([good[-1] ^ 1]),
        Reason.UNKNOWN_FINGERPRINT: foreign,
        Reason.FUTURE_TIME: future,
        Reason.PAST_TIME: past,
    }
    with deployment.worker() as worker:
        await worker.ready()
        await deployment.send([good, *bad.values()])
        await deployment.finals_of(3)
        # By now every partition has passed this one's window.
        await deployment.send([old, good])
        async with asyncio.timeout(60):
            while len(letters := await deployment.records(deployment.names.dead_letters("survey"))) < len(bad) + 2:
                await asyncio.sleep(0.3)
        _, metrics = await worker.get("/metrics")
    told = {(dict(letter.headers)["reason"].decode(), letter.value) for letter in letters}
    assert told == {(reason.value, value) for reason, value in bad.items()} | {("late", old), ("late", good)}
    sent = {
        (record.topic, record.partition, record.offset): record.value
        for record in await deployment.records(deployment.names.reports("survey"))
    }
    for letter in letters:
        headers = {name: value.decode() for name, value in letter.headers}
        place = headers["source-topic"], int(headers["source-partition"]), int(headers["source-offset"])
        assert sent[place] == letter.value
    for reason in bad:
        assert f'stream_ldp_batches_rejected_total{{collection="survey",reason="{reason.value}"}} 1.0' in metrics
    assert 'stream_ldp_reports_late_total{collection="survey"} 7.0' in metrics
    assert 'stream_ldp_reports_counted_total{collection="survey"} 3.0' in metrics
    for again in await compare(collection, settings=deployment.settings, window_ms=None):
        assert again.differences == ()


# Of every kind, tests/kinds/test_service.py shows it in memory; on a broker, tests/gateway/test_on_kafka.py does.
@pytest.mark.long
async def test_a_batch_that_arrives_twice_counts_once(deployment: JointDeployment) -> None:
    now = time.time_ns() // 1_000_000
    first, second = batches(deployment.collection, [now, now], reports=5, rng=np.random.default_rng(SEED))
    key = b"one key, so that the copies meet in one partition"
    with deployment.worker() as worker:
        await worker.ready()
        await deployment.send([first, second, first, first], key=key)
        finals = await deployment.finals_of(10)
        _, metrics = await worker.get("/metrics")
    # A window without reports may have its final by then as well.
    assert [final.reports for final in finals if final.reports] == [10]
    assert 'stream_ldp_reports_duplicate_total{collection="survey"} 10.0' in metrics


@pytest.mark.long
async def test_a_batch_that_a_client_sends_again_because_it_got_no_answer_counts_once(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str
) -> None:
    with ProxiedKafka() as broker:
        deployment = await JointDeployment.create(tmp_path, brokers=broker.bootstrap, prefix=prefix)
        with deployment.worker() as worker:
            await worker.ready()
            through = deployment.settings.model_copy(update={"brokers": f"127.0.0.1:{broker.proxy_port}"})
            async with (
                Proxy(broker.proxy_port, to=broker.inner_port, losses=3) as proxy,
                Reporter(deployment.collection, settings=through, max_reports=10) as reporter,
            ):
                await reporter.report_many(np.zeros((100, 2), dtype=np.int64), secrets=None)
                assert await reporter.flush() == 100
            finals = await deployment.finals_of(100)
            sent = await deployment.records(deployment.names.reports("survey"))
    assert proxy.lost == 3
    assert len({record.key for record in sent}) == 10
    assert len(sent) > 10, "without a repeat, this test shows nothing"
    assert sum(final.reports for final in finals) == 100


async def test_changed_windows_cannot_be_registered_while_a_worker_with_the_file_counts_the_old_ones(
    deployment: JointDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pausing, "LEAVE_SECONDS", 3.0)
    changed = deployment.directory / "changed.yaml"
    changed.write_text(deployment.file.read_text().replace("size: 2s", "size: 4s"), encoding="utf-8")
    create = ["topics", "create", str(changed)]
    create += ["--brokers", deployment.settings.brokers, "--topic-prefix", deployment.settings.topic_prefix]
    with deployment.worker() as worker:
        await worker.ready()
        refused = await asyncio.to_thread(CliRunner().invoke, app, create)
        assert refused.exit_code == 1
        assert "window.size (registered: 2000; here: 4000)" in refused.stderr
        assert "stop the workers that were started with the collection's file" in refused.stderr
        assert await worker.problems() == [], "it goes on as before"
        worker.signal(signal.SIGTERM)
        assert await worker.ended() == 0
    done = await asyncio.to_thread(CliRunner().invoke, app, create)
    assert done.exit_code == 0, done.output


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_a_million_reports_survive_a_killed_worker_and_a_zombie(
    deployment: JointDeployment,
) -> None:
    with deployment.worker() as first, deployment.worker() as second:
        await asyncio.gather(first.ready(), second.ready())
        playing = asyncio.create_task(play(deployment, users=1_000_000, seconds=40))
        await asyncio.sleep(8)
        first.signal(signal.SIGKILL)
        await asyncio.sleep(4)
        with deployment.worker() as third:
            await third.ready()
            await asyncio.sleep(2)
            # Longer than the session: it wakes up to find that its partitions have gone to the other.
            second.signal(signal.SIGSTOP)
            await asyncio.sleep(10)
            second.signal(signal.SIGCONT)
            await playing
            await assert_finals_are_exact(deployment, reports=1_000_000)


async def _inner(event: asyncio.Event) -> None:
    await event.wait()


async def _outer(event: asyncio.Event) -> None:
    await _inner(event)


async def test_a_task_that_hangs_is_reported_with_all_that_it_waits_for_and_one_that_has_ended_is_not() -> None:
    event = asyncio.Event()
    hanging = asyncio.create_task(_outer(event))
    ended = asyncio.create_task(asyncio.sleep(0))
    await ended
    found: list[str] = []
    looking = threading.Thread(target=lambda: found.extend(worker.unfinished([hanging, ended])))
    looking.start()
    looking.join()
    assert found == ["_outer > _inner > Event.wait"]
    event.set()
    await hanging


_BLOCKS, _BYTES, _TIMES = 4, 2**20, 20


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's heap has these thresholds")
def test_blocks_of_megabytes_are_used_again_without_new_pages() -> None:
    keep_freed_memory()
    _fill()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(_TIMES):
        _fill()
    pages = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    assert pages < _TIMES * _BLOCKS * _BYTES // resource.getpagesize() // 10


def _fill() -> None:
    assert len([b"x" * _BYTES for _ in range(_BLOCKS)]) == _BLOCKS
