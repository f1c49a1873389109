"""Run a worker process: ingest and merge under a Faust app, from preflight to a clean exit.

A fault of the data never stops it; a fault of the environment that outlasts its retries, or a bug, stops all of it.
No part lives on without the others, so there is no worker that is a member of its groups and consumes nothing.
"""

import asyncio
import ctypes
import gc
import logging
import math
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient

from stream_ldp.collection import Collection
from stream_ldp.errors import StreamLDPError
from stream_ldp.http.hosts import Hosts
from stream_ldp.kafka.broker_watch import BrokerWatch
from stream_ldp.kafka.cluster import Cluster, NoCoordinator
from stream_ldp.kafka.fenced_producer import ExclusiveWriter, FencedProducer
from stream_ldp.kafka.merge_commits import begin_at_the_end
from stream_ldp.kafka.patience import RETRY_SECONDS, is_of_the_environment, passes, patiently
from stream_ldp.kafka.producer import Producer
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.shared_client import SharedClient
from stream_ldp.kafka.topics import MAX_RECORD_BYTES
from stream_ldp.kinds import load_solver
from stream_ldp.service.admin import AdminServer
from stream_ldp.service.faust_app import faust_app
from stream_ldp.service.ingest import Ingest
from stream_ldp.service.merger import Merger
from stream_ldp.service.metrics import Metrics
from stream_ldp.service.part import Part
from stream_ldp.service.preflight import check_fences, preflight
from stream_ldp.service.reports_group import ReportsGroup
from stream_ldp.service.roster import Roster

log = logging.getLogger(__name__)

#: Seconds for the last flush and for leaving the groups. A peer repeats what cannot be done by then.
STOP_SECONDS = 10.0

#: Seconds between two looks, while it stops, at whether any broker still answers.
AWAY_SECONDS = 0.2

#: Seconds that a consume loop may take for one turn. Solves run on another thread, and a turn takes milliseconds.
LOOP_SECONDS = 30.0

#: Seconds within which the watch over the brokers has seen that they are away.
LOOK_AROUND_SECONDS = 3.0

#: Seconds for which a worker has to work before its next failure is one of another kind than the one before.
SOUND_SECONDS = 60.0

#: Objects between two searches for cycles. A turn makes thousands of records, which are in none and go by themselves;
#: at Python's own 700, searching takes a fifth of a busy worker's time.
UNCOLLECTED_OBJECTS = 50_000


class WorkerCrashed(StreamLDPError, RuntimeError):
    """A part of the worker failed, and so the whole worker stops."""


class Counting(Part):
    """The parts of a worker of a region that only counts: nothing is merged there, so Faust has nothing to do."""


class Worker:
    """A worker holds its parts, and has their health."""

    def __init__(
        self,
        settings: Settings,
        collections: Sequence[Collection],
        *,
        metrics: Metrics,
        writers: Callable[[Collection], ExclusiveWriter] | None = None,
    ) -> None:
        """Make the parts.

        collections: those that it serves; none to serve all of the registry, as they come and go.
        writers: makes what writes the final answers of a collection, if not a fenced producer.
        """
        self._settings = settings
        self._collections = collections
        self._producer = Producer(
            settings, max_record_bytes=MAX_RECORD_BYTES, acknowledge_seconds=settings.outage_seconds
        )
        self._admin = AIOKafkaAdminClient(**settings.client_options(), request_timeout_ms=settings.request_timeout_ms)
        self._cluster = Cluster(self._admin)
        self._reports = ReportsGroup(settings)
        groups = settings.group_names
        self._merge_group = (
            groups.merge(each.name for each in collections) if collections else groups.merge_registered
        )
        self._client_of_finals = SharedClient()
        writers = writers or self._fenced_producer
        self._merger = (
            Merger(
                collections,
                settings=settings,
                producer=self._producer,
                writers=writers,
                cluster=self._cluster,
                metrics=metrics,
            )
            if settings.merges
            else None
        )
        self._roster = (
            None
            if collections
            else Roster(
                settings,
                admin=self._admin,
                producer=self._producer,
                reports=self._reports,
                merger=self._merger,
                writers=writers,
                metrics=metrics,
            )
        )
        self._ingests = [
            Ingest(
                collection,
                settings=settings,
                admin=self._admin,
                producer=self._producer,
                reports=self._reports,
                metrics=metrics,
            )
            for collection in collections
        ]
        self._datadir = tempfile.TemporaryDirectory(prefix="stream-ldp-")
        self._app: Any = (
            Counting()
            if self._merger is None
            else faust_app(settings, self._merger, group=self._merge_group, datadir=self._datadir.name)
        )
        self._started = False

    def _fenced_producer(self, collection: Collection) -> FencedProducer:
        return FencedProducer(
            self._settings,
            topic=self._settings.topic_names.answers(collection),
            max_record_bytes=MAX_RECORD_BYTES,
            acknowledge_seconds=self._settings.outage_seconds,
            client=self._client_of_finals,
        )

    def live(self) -> list[str]:
        """Say why the process should be restarted; empty when it should not."""
        # What waits for a broker is not stuck: a restart would not help it, and its wait has an end.
        return [
            f"{ingest.collection.name}: ingest should have turned {ingest.seconds_overdue:.0f} s ago"
            for ingest in [*self._ingests, *(() if self._roster is None else self._roster.ingests)]
            if self._started and not ingest.seconds_asking and ingest.seconds_overdue > LOOP_SECONDS
        ]

    def ready(self) -> list[str]:
        """Say why the worker does not do all of its work yet; empty when it does."""
        if not self._started:
            return ["starting"]
        return [problem for part in self._parts() for problem in part.problems()]

    @property
    def loops(self) -> list[asyncio.AbstractEventLoop]:
        """The event loops beside that of the process."""
        return [self._app.consumer.loop_of_thread] if self._started and self._merger is not None else []

    def _parts(self) -> list[Merger | Ingest | Roster]:
        parts = (self._merger, *self._ingests, self._roster)
        return [part for part in parts if part is not None]

    async def start(self) -> None:
        """Load the solvers, connect and join the groups."""
        # Before there is anything to answer, and anybody waits for heartbeats.
        for collection in self._collections:
            await asyncio.to_thread(load_solver, collection)
        for start in (self._admin.start, self._producer.start):
            await patiently(start, seconds=self._settings.outage_seconds)
        if self._merger is not None:
            await patiently(
                lambda: begin_at_the_end(self._cluster, self._settings, self._merge_group),
                seconds=self._settings.outage_seconds,
            )
        if self._roster is not None:
            await self._roster.prepare()
        for part in self._parts():
            await self._app.add_runtime_dependency(part)
        if self._merger is not None:
            self._app.finalize()
        await self._app.start()
        for ingest in self._ingests:
            ingest.begin()
        self._started = True

    async def wait(self) -> None:
        """Wait until a part crashes.

        Raises:
            WorkerCrashed: always.
        """
        await self._app.wait_until_stopped()
        self.raise_if_crashed()
        raise WorkerCrashed("Faust stopped by itself")

    def raise_if_crashed(self) -> None:
        """Raise WorkerCrashed if a part has failed, be it in its last flush."""
        if self._app.crashed:
            raise WorkerCrashed("a part of the worker failed") from self._app.crash_reason

    async def stop(self) -> None:
        """Flush, commit, leave the groups, disconnect."""
        self._reports.close()
        await self._app.stop()
        await self._producer.stop()
        await self._admin.close()
        self._datadir.cleanup()


class _Process:
    """The process of a worker, from its first moment on, with its health."""

    def __init__(self, settings: Settings, collections: Mapping[str, Collection]) -> None:
        self.metrics = Metrics(collection.name for collection in collections.values())
        self.watch = BrokerWatch(settings)
        self.metrics.broker_connected.set_function(lambda: self._checked.is_set() and self.watch.connected)
        self.worker: Worker | None = None
        self._settings = settings
        self._collections = collections
        self._loop = asyncio.get_running_loop()
        self._checked = asyncio.Event()
        self._waiting_for: str | None = None
        # After what the parts of the worker are being stopped, to be made anew.
        self._again: str | None = None

    def live(self) -> list[str]:
        """Say why the process should be restarted; empty when it should not."""
        return [] if self.worker is None or self._again else [*self.watch.live(), *self.worker.live()]

    def ready(self) -> list[str]:
        """Say why the worker does not do all of its work; empty when it does."""
        if self._again:
            return [*self.watch.problems(), self._again]
        if self.worker is not None:
            return [*self.watch.problems(), *self.worker.ready()]
        return [self._waiting_for or "starting"]

    def tasks(self) -> Iterator[asyncio.Task[Any]]:
        """Yield all tasks: those of its event loop, and those of Faust's consumer, which has one of its own."""
        for loop in (self._loop, *([] if self.worker is None else self.worker.loops)):
            yield from asyncio.all_tasks(loop)

    async def watch_brokers(self) -> None:
        """Watch the brokers as soon as they have answered for the first time."""
        await self._checked.wait()
        await self.watch.run()

    async def work(self) -> None:
        """Work until a part crashes; after a fault of the environment, begin again."""
        failing_since = math.inf
        while True:
            began = time.monotonic()
            try:
                await self._work_once()
            except Exception as error:
                now = time.monotonic()
                failing_since = now if now > began + SOUND_SECONDS else min(failing_since, now)
                if (
                    not may_begin_again(error, connected=self.watch.connected)
                    or now > failing_since + self._settings.outage_seconds
                ):
                    raise
                await self._give_up_worker(error)

    async def _work_once(self) -> None:
        await patiently(self._check, seconds=self._settings.outage_seconds, waiting=self._wait)
        if self._waiting_for is not None:
            log.warning("the brokers answer")
        self._waiting_for = None
        self.watch.begin()  # with what the clients of this worker are given
        self._checked.set()
        self.worker = Worker(self._settings, list(self._collections.values()), metrics=self.metrics)
        await self.worker.start()
        await self.worker.wait()

    async def _give_up_worker(self, error: Exception) -> None:
        """Stop all parts after a failure, so that they can be made anew.

        Raises:
            error: they do not stop in time.
        """
        why = error.__cause__ or error
        log.error("all parts of the worker begin again, after: %r", why)
        self._again = f"beginning again, after: {why!r}"
        # Its parts flush before they end. The watch ends the process if the brokers stay away.
        await asyncio.sleep(LOOK_AROUND_SECONDS)
        while not self.watch.connected:  # noqa: ASYNC110  the watch says it by itself to people alone
            await asyncio.sleep(RETRY_SECONDS)
        if self.worker is not None:
            # Not `asyncio.timeout`: mode takes the cancellation for the end of what it waits for, and goes on.
            stopping = asyncio.ensure_future(self.worker.stop())
            await asyncio.wait([stopping], timeout=2 * STOP_SECONDS)
            if not stopping.done() or stopping.exception() is not None:
                log.error("the parts of the worker do not stop", exc_info=stopping.done() and stopping.exception())
                raise error  # the first failure is what ended the work
            self.worker = None
        self.metrics.forget_owned()
        self._again = None

    async def _check(self) -> None:
        await preflight(self._settings, self._collections)
        async with Cluster.connect(self._settings) as cluster:
            await check_fences(cluster, self._settings, self._collections.values())

    def _wait(self, error: Exception) -> None:
        if str(error) != self._waiting_for:
            log.error("not started yet, and waiting for up to %s (--outage): %s", self._settings.outage, error)
        self._waiting_for = str(error)

    async def stop(self, *, after: asyncio.Future[Any]) -> None:
        """Stop what has been started, once `work` has ended, whose future is given."""
        await asyncio.wait([after])
        if self.worker is not None:
            await self.worker.stop()


def may_begin_again(error: Exception, *, connected: bool) -> bool:
    """Decide whether parts that are made anew may do what the failed ones did not.

    A client of Kafka may come to its end by a connection that is cut, or by damaged bytes. A part that has waited for
    as long as an outage may last is another thing, unless no broker answers: then the watch ends the process when the
    time is up, with the reason that brokers give.

    connected: whether a broker answers.
    """
    if isinstance(error, StreamLDPError) and not isinstance(error, WorkerCrashed | NoCoordinator):
        return False
    why = error.__cause__ if isinstance(error, WorkerCrashed) else error
    if not connected and (isinstance(why, TimeoutError) or (why is not None and passes(why))):
        return True
    return is_of_the_environment(why)


async def run(settings: Settings, collections: Mapping[str, Collection]) -> None:
    """Work on collections, which are keyed by their files, until SIGINT or SIGTERM; without any, on all registered.

    Raises:
        AccessRefused, SettingsError, ClusterError, RegistryError, PreflightError: see `preflight`, `check_fences`.
        BrokerUnreachable: no broker has answered for as long as the setting `outage` says.
        WorkerCrashed: a part of the worker failed.
    """
    gc.freeze()  # What has been loaded stays, and need not be searched.
    gc.set_threshold(UNCOLLECTED_OBJECTS)
    keep_freed_memory()
    process = _Process(settings, collections)
    admin = AdminServer(
        host=settings.admin_host,
        port=settings.admin_port,
        health=process,
        metrics=process.metrics,
        token=settings.admin_token,
        hosts=Hosts.of(settings.allowed_hosts),
    )
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await admin.start()
    log.info("metrics and health on http://%s:%d", settings.admin_host, admin.port)
    asked = asyncio.ensure_future(stop.wait())
    watching = asyncio.ensure_future(process.watch_brokers())
    working = asyncio.ensure_future(process.work())
    in_order = False
    try:
        await asyncio.wait([asked, watching, working], return_when=asyncio.FIRST_COMPLETED)
        for ended in (watching, working):
            if ended.done():
                await ended
        log.info("stopping")
        in_order = True
    except WorkerCrashed as error:
        # Logged now, since a part that hangs while it stops may leave no later moment.
        log.critical("stopping, after: %s: %r", error, error.__cause__)
        raise
    except StreamLDPError as error:
        if process.worker is not None:
            log.critical("stopping: %s", error)
        raise
    finally:
        # Two crashes in a row can leave Faust waiting forever for an event that nobody acknowledges, deaf to
        # SIGTERM while its consumers go on heartbeating. A hard exit is safe, since kill -9 is.
        watchdog = threading.Timer(STOP_SECONDS, _end_by_force, [process])
        watchdog.daemon = True
        watchdog.start()
        asked.cancel()
        await _stop(process, working, unless_away=in_order)
        watching.cancel()
        await asyncio.gather(asked, watching, working, return_exceptions=True)
        await admin.stop()
        watchdog.cancel()
    if process.worker is not None:
        try:
            process.worker.raise_if_crashed()
        except WorkerCrashed as error:
            if not in_order or not is_of_the_environment(error.__cause__):
                raise
            log.warning("a part failed while it stopped: %r; its peers repeat what it counted", error.__cause__)


async def _stop(process: _Process, working: asyncio.Future[None], *, unless_away: bool) -> None:
    """End the work, and stop what it has started.

    unless_away: end the whole process at once, as if all were done, when no broker answers or lets it in.
    """
    working.cancel()
    stopping = asyncio.ensure_future(process.stop(after=working))
    if unless_away:
        while not stopping.done() and process.watch.connected and not process.watch.outdated:
            await asyncio.wait([stopping], timeout=AWAY_SECONDS)
        if not stopping.done():
            # Its parts wait for brokers, for as long as an outage may last: only a hard exit ends them all.
            log.warning("stopped without a last flush, since no broker lets it in; its peers repeat what it counted")
            os._exit(0)
    await stopping


def _end_by_force(process: _Process) -> None:
    """End the process, whatever still runs in it, and say what that is."""
    # On a thread that nobody waits for: the holder of the lock of the log may be what hangs.
    logging_thread = threading.Thread(target=_log_what_hangs, args=[process], daemon=True)
    logging_thread.start()
    logging_thread.join(1.0)
    os._exit(1)


def _log_what_hangs(process: _Process) -> None:
    log.critical(
        "not stopped after %.0f s, and ended by force; its peers repeat what it counted; it waited for: %s",
        *(STOP_SECONDS, "; ".join(unfinished(process.tasks()))),
    )


def unfinished(tasks: Iterable[asyncio.Task[Any]]) -> list[str]:
    """Describe each task that has not ended: its coroutine, and the ones that it waits for, down to the innermost.

    It may be called from another thread, since it only looks.
    """
    return sorted({" > ".join(_chain(task.get_coro())) for task in tasks if not task.done()})


def _chain(coroutine: Any) -> list[str]:
    names = []
    while (name := getattr(coroutine, "__qualname__", None)) is not None:
        names.append(name)
        coroutine = getattr(coroutine, "cr_await", None)
    return names


#: Parameters of glibc's `mallopt`, as in its malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3

#: Bytes that stay at the end of the heap, and the size up to which a block is taken from there. A turn joins records
#: of a megabyte or two, several times, and copies of these; brokers send four at a time.
KEPT_BYTES, LARGEST_BYTES = 2**26, 2**25


def keep_freed_memory() -> None:
    """Let this process keep up to 64 MiB that it has freed, where glibc allocates.

    By default, blocks from 128 KiB on come from the kernel and go back to it, or make the heap shrink. Each page that
    comes back is filled with zeros first: a drain of batches of 50 had five to seven times as many page faults.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other libraries have none, or one that does nothing
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, LARGEST_BYTES)
