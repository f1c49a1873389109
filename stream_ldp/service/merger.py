"""Merge partials into answers, for the collections whose partials this worker owns."""

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple

from stream_ldp.collection import Collection
from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.fenced_producer import ExclusiveWriter
from stream_ldp.kafka.producer import Producer
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline import partials
from stream_ldp.pipeline.quarantine import LogEntry
from stream_ldp.service.collection_merger import CollectionMerger
from stream_ldp.service.metrics import Metrics
from stream_ldp.service.part import Part, aloud
from stream_ldp.service.solver import Solver
from stream_ldp.service.standstill import LOOK_SECONDS, look

log = logging.getLogger(__name__)


class _Merged(NamedTuple):
    """A collection that is merged: what writes its finals, and what is called when its merging has failed."""

    collection: Collection
    writer: Callable[[Collection], ExclusiveWriter]
    failed: Callable[[Exception], None] | None = None


class Merger(Part):
    """A merger has a collection merger for each collection that this worker owns, and gives each its records."""

    def __init__(
        self,
        collections: Iterable[Collection],
        *,
        settings: Settings,
        producer: Producer,
        writers: Callable[[Collection], ExclusiveWriter],
        cluster: Cluster,
        metrics: Metrics,
    ) -> None:
        """Prepare for some collections.

        writers: makes what writes the final answers of a collection.
        """
        super().__init__()
        self._collections: dict[str, _Merged] = {
            collection.name: _Merged(collection, writers) for collection in collections
        }
        self._settings = settings
        self._producer = producer
        self._cluster = cluster
        self._metrics = metrics
        self._solver = Solver(metrics=metrics.solve)
        # The partitions of the partials topic that are this worker's; None before the first assignment.
        self._partitions: set[int] | None = None
        self._owned: dict[str, CollectionMerger] = {}
        self._running: dict[str, asyncio.Future[None]] = {}

    def problems(self) -> list[str]:
        """Say why the merger is not ready; empty when it is."""
        if self._partitions is None:
            return [f"waiting for partitions of {self._settings.topic_names.partials}"]
        return [problem for each in self._owned.values() for problem in each.problems()]

    async def take_over(self, partitions: set[int]) -> None:
        """Begin to merge the collections of these partitions of the partials topic."""
        self._partitions = (self._partitions or set()) | partitions
        for name in self._collections:
            if self._partition_of(name) in partitions:
                self._begin(name)

    async def give_up(self, partitions: set[int]) -> None:
        """Stop merging the collections of these partitions, and forget their windows."""
        if self._partitions is not None:
            self._partitions -= partitions
        for name in [name for name in self._owned if self._partition_of(name) in partitions]:
            self._end(name)

    def serve(
        self,
        collection: Collection,
        *,
        writer: Callable[[Collection], ExclusiveWriter],
        failed: Callable[[Exception], None],
    ) -> None:
        """Merge one more collection from now on, whenever its partition is this worker's.

        writer: makes what writes its final answers.
        failed: called with what ends its merging, which then concerns no other collection.
        """
        self._collections[collection.name] = _Merged(collection, writer, failed)
        if self._partition_of(collection.name) in (self._partitions or ()):
            self._begin(collection.name)

    async def dismiss(self, name: str) -> None:
        """Merge a collection no more; when this returns, nothing of it is written any more."""
        del self._collections[name]
        if name in self._owned:
            running = self._end(name)
            await asyncio.wait([running])

    def _begin(self, name: str) -> None:
        if name in self._owned:
            return
        merged = self._collections[name]
        self._owned[name] = owned = CollectionMerger(
            merged.collection,
            settings=self._settings,
            producer=self._producer,
            writer=merged.writer(merged.collection),
            cluster=self._cluster,
            solver=self._solver,
            metrics=self._metrics,
        )
        log.info("%s: merges its windows", name, extra={"collection": name})
        self._running[name] = self.add_future(self._run(name, owned))

    @Part.task
    async def _watch(self) -> None:
        """Look now and then at whether a collection has not got what workers have counted."""
        while not self.should_stop:
            await self.sleep(LOOK_SECONDS)
            found = [each.standstill for each in self._owned.values() if each.standstill is not None]
            await look(found, cluster=self._cluster, settings=self._settings)

    async def _run(self, name: str, owned: CollectionMerger) -> None:
        try:
            await aloud(owned.run(stopping=lambda: self.should_stop))
        except Exception as error:  # noqa: BLE001  as above
            self._tell(name, error)

    def _tell(self, name: str, error: Exception) -> None:
        """Hand a failure to what serves the collection alone; without anybody, it ends the worker."""
        merged = self._collections.get(name)
        if merged is None:
            return  # It has been dismissed meanwhile.
        if merged.failed is None:
            raise error
        merged.failed(error)

    def _end(self, name: str) -> asyncio.Future[None]:
        owned = self._owned.pop(name)
        log.info("%s: gives up its windows", name, extra={"collection": name})
        for gauge in (self._metrics.merge.records_holding, self._metrics.merge.windows_unsolved):
            gauge.labels(name).set(0)
        with contextlib.suppress(KeyError):
            self._metrics.merge.last_final.remove(name)
        for series in owned.merge.collection.series:
            with contextlib.suppress(KeyError):
                self._metrics.merge.window_plausibility.remove(name, series.name)
        for gauge, region in itertools.product(
            (self._metrics.merge.region_lag, self._metrics.merge.region_cut_off), self._settings.region_waits
        ):
            with contextlib.suppress(KeyError):
                gauge.remove(name, region)
        running = self._running.pop(name)
        running.cancel()
        return running

    async def apply(self, entry: LogEntry) -> None:
        """Give a record of the partials topic to the collections that it is about, or may be about.

        A record of a collection that another group of workers merges, or whose partition has just been given up, is
        not for this worker.

        Raises:
            KafkaError, TimeoutError: see `CollectionMerger.apply`.
        """
        about = entry.collection
        for name in list(self._owned) if about is None else (about,):
            owned = self._owned.get(name)
            if owned is not None and self._partition_of(name) == entry.partition:
                try:
                    await owned.apply(entry)
                except Exception as error:  # noqa: BLE001  what serves the collection decides
                    self._tell(name, error)

    async def on_stop(self) -> None:
        """Stop all merges."""
        await self.give_up(set(range(self._settings.partials_partitions)))

    def _partition_of(self, name: str) -> int:
        return partials.partition_of(name, partitions=self._settings.partials_partitions)
