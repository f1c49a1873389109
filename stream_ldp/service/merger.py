"""Merge partials into answers, for the collections whose partials this worker owns."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

from mode import Service

from stream_ldp.pipeline import partials
from stream_ldp.service.collection_merger import CollectionMerger
from stream_ldp.service.solver import Solver

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable

    from stream_ldp.collection import Collection
    from stream_ldp.kafka.cluster import Cluster
    from stream_ldp.kafka.fenced_producer import ExclusiveWriter
    from stream_ldp.kafka.producer import Producer
    from stream_ldp.kafka.settings import Settings
    from stream_ldp.pipeline.quarantine import LogEntry
    from stream_ldp.service.metrics import Metrics

log = logging.getLogger(__name__)


class Merger(Service):
    """A merger has a collection merger for each collection that this worker owns, and gives each its records."""

    abstract = False
    #: What the Service logs of its own life is that of a library.
    logger = logging.getLogger("mode.worker")

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
        self._collections = {collection.name: collection for collection in collections}
        self._settings = settings
        self._producer = producer
        self._writers = writers
        self._cluster = cluster
        self._metrics = metrics
        self._solver = Solver(metrics=metrics.solve)
        self._assigned = False
        self._owned: dict[str, CollectionMerger] = {}
        self._running: dict[str, asyncio.Future[None]] = {}

    def problems(self) -> list[str]:
        """Say why the merger is not ready; empty when it is."""
        if not self._assigned:
            return [f"waiting for partitions of {self._settings.topic_names.partials}"]
        return [problem for each in self._owned.values() for problem in each.problems()]

    async def take_over(self, partitions: set[int]) -> None:
        """Begin to merge the collections of these partitions of the partials topic."""
        self._assigned = True
        for name, collection in self._collections.items():
            if self._partition_of(name) in partitions and name not in self._owned:
                self._owned[name] = owned = CollectionMerger(
                    collection,
                    settings=self._settings,
                    producer=self._producer,
                    writer=self._writers(collection),
                    cluster=self._cluster,
                    solver=self._solver,
                    metrics=self._metrics,
                )
                log.info("%s: merges its windows", name, extra={"collection": name})
                self._running[name] = self.add_future(owned.run(stopping=lambda: self.should_stop))

    async def give_up(self, partitions: set[int]) -> None:
        """Stop merging the collections of these partitions, and forget their windows."""
        for name in [name for name in self._owned if self._partition_of(name) in partitions]:
            del self._owned[name]
            log.info("%s: gives up its windows", name, extra={"collection": name})
            for gauge in (self._metrics.merge.records_holding, self._metrics.merge.windows_unsolved):
                gauge.labels(name).set(0)
            with contextlib.suppress(KeyError):
                self._metrics.merge.last_final.remove(name)
            for series in self._collections[name].series:
                with contextlib.suppress(KeyError):
                    self._metrics.merge.window_plausibility.remove(name, series.name)
            self._running.pop(name).cancel()

    async def apply(self, entry: LogEntry) -> None:
        """Give a record of the partials topic to the collections that it is about, or may be about.

        A record of a collection that another group of workers merges, or whose partition has just been given up, is
        not for this worker.

        Raises:
            KafkaError, TimeoutError: see `CollectionMerger.apply`.
        """
        for name, owned in list(self._owned.items()):
            if self._partition_of(name) == entry.partition and entry.collection in (None, name):
                await owned.apply(entry)

    async def on_stop(self) -> None:
        """Stop all merges."""
        await self.give_up(set(range(self._settings.partials_partitions)))

    def _partition_of(self, name: str) -> int:
        return partials.partition_of(name, partitions=self._settings.partials_partitions)
