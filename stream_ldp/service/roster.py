"""Serve the collections of the registry: each begins, changes and ends while the worker runs, and fails alone.

All workers of a collection have to count it in one version. A change begins by registering the collection as paused.
Every worker then ends its merging and no longer subscribes to its reports. The change waits until no member of the
group subscribes (see `stream_ldp.service.pausing`). A worker that has not heard of it cannot count an old version
beside the new one:

* it is a member of the group and subscribes to them, so the change waits for it; or
* it has been frozen and is no longer a member, and its commits are refused; or
* it joins later, and reads the registry to its end between the assignment of partitions and the first record.

Finals are kept apart by the fence of their topic, in the same way (`stream_ldp.service.registered_writer`).
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from stream_ldp.collection import Collection
from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.fenced_producer import ExclusiveWriter
from stream_ldp.kafka.patience import is_of_the_environment, patiently
from stream_ldp.kafka.producer import Producer
from stream_ldp.kafka.registry import Registration
from stream_ldp.kafka.registry_log import RegistryLog
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import collection_of_document, load_solver
from stream_ldp.service.ingest import Ingest
from stream_ldp.service.merger import Merger
from stream_ldp.service.metrics import Metrics
from stream_ldp.service.part import Part, aloud
from stream_ldp.service.preflight import check_fences, check_topics
from stream_ldp.service.registered_writer import RegisteredWriter, Superseded
from stream_ldp.service.reports_group import ReportsGroup

log = logging.getLogger(__name__)

#: Seconds between two looks at the registry: so late a collection is begun, changed or paused at most.
LOOK_SECONDS = 1.0

#: Seconds without a look at the registry, after which the worker is not ready.
BLIND_SECONDS = 30.0

#: Seconds until a collection that has failed is tried again: what it lacks, such as a topic, somebody has to mend.
#: With each failure of one that had joined the group, for which counting pauses for all, they double, up to these.
RETRY_SECONDS, LONGEST_RETRY_SECONDS = 10.0, 320.0


class Roster(Part):
    """A roster serves each registered collection by a task of its own."""

    def __init__(
        self,
        settings: Settings,
        *,
        admin: AIOKafkaAdminClient,
        producer: Producer,
        reports: ReportsGroup,
        merger: Merger | None,
        writers: Callable[[Collection], ExclusiveWriter],
        metrics: Metrics,
    ) -> None:
        """Prepare.

        merger: merges them; None in a region that only counts.
        writers: makes what writes the final answers of a collection.
        """
        super().__init__()
        self.settings = settings
        self.admin, self.cluster = admin, Cluster(admin)
        self.producer = producer
        self.reports = reports
        self.merger = merger
        self.writers = writers
        self.metrics = metrics
        self._registry = RegistryLog(settings)
        self._served: dict[str, Served] = {}
        self._looked_at = time.monotonic()
        self._unreadable: dict[str, str] = {}

    def problems(self) -> list[str]:
        """Say what is not served; empty if all is."""
        blind = time.monotonic() - self._looked_at
        found = [f"the registry has not been read for {blind:.0f} s"] if blind > BLIND_SECONDS else []
        found += [f"{name}: {why}" for name, why in self._unreadable.items()]
        return found + [problem for each in self._served.values() for problem in each.problems()]

    @property
    def ingests(self) -> Iterator[Ingest]:
        """What counts collections now."""
        return (each.ingest for each in self._served.values() if each.ingest is not None)

    async def is_current(self, registration: Registration) -> bool:
        """Decide whether this is the newest registration of its name, of all that have been written before this call.

        Raises:
            KafkaError: the brokers cannot be asked.
        """
        await self._registry.read()
        return self._registry.registered.get(registration.name) == registration

    async def prepare(self) -> None:
        """Read the registry, and import what the collections need to be solved; call it before `start`.

        That takes more than a second of a processor, in which members of groups would be waited for.
        """
        for ask in (self._registry.start, self._registry.read):
            await patiently(ask, seconds=self.settings.outage_seconds)
        await asyncio.to_thread(_load_solvers, list(self._registry.registered.values()))

    async def on_start(self) -> None:
        """Begin with the collections that are registered now."""
        await patiently(self._look, seconds=self.settings.outage_seconds)

    async def on_stop(self) -> None:
        """End all collections."""
        await asyncio.gather(*(each.stop() for each in self._served.values()))
        await self._registry.stop()

    @Part.task
    async def _follow(self) -> None:
        while not self.should_stop:
            await self.sleep(LOOK_SECONDS)
            # That no broker answers is said by the watch over them, and what they cannot answer by `problems`.
            with contextlib.suppress(KafkaError, TimeoutError):
                await self._look()

    async def _look(self) -> None:
        await self._registry.read()
        self._looked_at = time.monotonic()
        for name, registration in self._registry.registered.items():
            if name in self._served:
                self._served[name].want(registration)
            else:
                self._served[name] = Served(registration, roster=self)
        for name in self._served.keys() - self._registry.registered.keys():
            await self._served.pop(name).stop()
            self.metrics.collection_waiting.labels(name).set(0)
        for name, why in self._registry.unreadable.items():
            if self._unreadable.get(name) != why:
                log.error(
                    "%s: %s; to have it replaced, run `stream-ldp topics create` with its file, and to have it "
                    "removed, `stream-ldp topics retire %s`",
                    *(name, why, name),
                )
                self.metrics.collection_waiting.labels(name).set(1)
        for name in self._unreadable.keys() - self._registry.unreadable.keys():
            self.metrics.collection_waiting.labels(name).set(0)
        self._unreadable = self._registry.unreadable.copy()

    async def note_failure(self, error: Exception) -> None:
        """Let the whole worker begin again, if brokers are at fault and no collection is served in spite of it."""
        if is_of_the_environment(error) and all(each.ingest is None for each in self._served.values()):
            await self.crash(error)


def _load_solvers(registrations: Iterable[Registration]) -> None:
    for each in registrations:
        # Whatever is wrong with one of them is said where it is served.
        with contextlib.suppress(Exception):
            load_solver(collection_of_document(each.document, source=f"registration of {each.name}"))


class Served:
    """A collection of the registry, as this worker serves it.

    ingest: what counts it; None while nothing does.
    """

    def __init__(self, registration: Registration, *, roster: Roster) -> None:
        """Begin to serve it."""
        self.ingest: Ingest | None = None
        self._name = registration.name
        self._roster = roster
        self._wanted = registration
        self._changed = asyncio.Event()
        self._problem = "is about to be served"
        # What it has failed with last, and when it was served last; until it is tried again.
        self._failed = ""
        self._joined_at: float | None = None
        self._retry_seconds = RETRY_SECONDS
        self._task = asyncio.ensure_future(self._run())

    def problems(self) -> list[str]:
        """Say why it is not served; empty if it is."""
        if self._problem:
            return [f"{self._name}: {self._problem}"]
        return [] if self.ingest is None else self.ingest.problems()

    def want(self, registration: Registration) -> None:
        """Serve it as it is registered now."""
        if registration != self._wanted:
            self._wanted, self._failed, self._retry_seconds = registration, "", RETRY_SECONDS
            self._changed.set()

    async def stop(self) -> None:
        """Serve it no more: flush, commit, and leave its group."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            registration = self._wanted
            if registration.paused:
                self._wait("is paused, while `stream-ldp topics create` changes it, or `topics retire` retires it")
                await self._changed.wait()
                continue
            try:
                await aloud(self._serve(registration))
            except Superseded:
                self._wait("has been registered anew")
            except Exception as error:  # noqa: BLE001  whatever it is, the other collections go on
                self._fail(error)
                if self._task.cancelling():
                    return  # It is its end that has failed.
                await self._roster.note_failure(error)
            with contextlib.suppress(TimeoutError):  # not `asyncio.wait_for`, which may swallow a cancellation
                async with asyncio.timeout(self._retry_seconds):
                    await self._changed.wait()

    def _wait(self, why: str) -> None:
        self._problem = why
        self._roster.metrics.collection_waiting.labels(self._name).set(1)

    def _fail(self, error: Exception) -> None:
        before, self._failed = self._failed, f"{type(error).__name__}: {error}"
        joined_at, self._joined_at = self._joined_at, None
        if joined_at is not None:
            if time.monotonic() > joined_at + LONGEST_RETRY_SECONDS:
                before, self._retry_seconds = "", RETRY_SECONDS  # It has been served meanwhile.
            elif before:
                self._retry_seconds = min(2 * self._retry_seconds, LONGEST_RETRY_SECONDS)
        self._wait(f"cannot be served, and is tried again after {self._retry_seconds:.0f} s: {error}")
        if self._failed != before:
            expected = isinstance(error, StreamLDPError | KafkaError | TimeoutError)
            log.error(
                *("%s: %s", self._name, self._problem),
                exc_info=None if expected else error,
                extra={"collection": self._name},
            )

    async def _serve(self, registration: Registration) -> None:
        """Serve it until it is registered anew; whatever fails is raised."""
        roster, name = self._roster, self._name
        collection = collection_of_document(registration.document, source=f"registration of {name}")
        await check_topics(roster.cluster, roster.settings, collection)
        await check_fences(roster.cluster, roster.settings, [collection])
        await asyncio.to_thread(load_solver, collection)
        roster.metrics.know(name)

        async def is_current() -> bool:
            return await roster.is_current(registration)

        failure: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def failed(error: Exception) -> None:
            if not failure.done():
                failure.set_exception(error)

        ingest = Ingest(
            collection,
            settings=roster.settings,
            admin=roster.admin,
            producer=roster.producer,
            reports=roster.reports,
            metrics=roster.metrics,
            retirement=registration.retirement,
            is_current=is_current,
        )
        # Merging ends first: that nobody subscribes to its reports says that nobody merges the collection either.
        if roster.merger is not None:
            roster.merger.serve(
                collection,
                writer=lambda each: RegisteredWriter(roster.writers(each), is_current=is_current),
                failed=failed,
            )
        try:
            await ingest.start()
            self._joined_at = time.monotonic()
            ingest.begin()
            self.ingest, self._problem = ingest, ""
            roster.metrics.collection_waiting.labels(name).set(0)
            log.info("%s: is %s", name, registration.state, extra={"collection": name})
            ended = [asyncio.ensure_future(each) for each in (self._changed.wait(), ingest.wait_until_stopped())]
            try:
                await asyncio.wait([*ended, failure], return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in ended:
                    each.cancel()
            if failure.done():
                failure.result()
            if ingest.crash_reason is not None:
                raise ingest.crash_reason
        finally:
            self.ingest = None
            if roster.merger is not None:
                await roster.merger.dismiss(name)
            await ingest.stop()
            failure.cancel()
