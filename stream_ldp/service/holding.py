"""This module watches the records that hold the finals of a collection back, until an operator releases them."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from stream_ldp.kafka.patience import patiently
from stream_ldp.kafka.releases import released

if TYPE_CHECKING:
    from stream_ldp.kafka.cluster import Cluster
    from stream_ldp.kafka.settings import Settings
    from stream_ldp.pipeline.merging import Merge
    from stream_ldp.pipeline.quarantine import Quarantine, Unread
    from stream_ldp.service.metrics import MergeMetrics

__all__ = ["Holding"]

log = logging.getLogger(__name__)


class Holding:
    """The records that cannot be read, and may hide what the finals of one collection need."""

    #: Seconds between two looks at whether an operator has released them.
    release_seconds = 2.0

    def __init__(
        self, merge: Merge, quarantine: Quarantine, *, cluster: Cluster, settings: Settings, metrics: MergeMetrics
    ) -> None:
        """Begin without such records."""
        self._merge = merge
        self._quarantine = quarantine
        self._cluster = cluster
        self._settings = settings
        self._metrics = metrics
        self._records: list[Unread] = []
        self._asked_at = -self.release_seconds

    @property
    def problems(self) -> list[str]:
        """That finals are held back, and by what, as `look` has found; empty if they are not."""
        if not self._records:
            return []
        first, *others = self._records
        more = f" (and {len(others)} more)" if others else ""
        return [
            f"{self._merge.collection.name}: finals are held back by a record that cannot be read and may hide what "
            f"they need: {first}{more} -> see them with `stream-ldp quarantine list`, and go on without them with "
            "`stream-ldp quarantine release`"
        ]

    async def release(self) -> None:
        """Take note of what operators have released.

        Raises:
            KafkaError, ClusterError: the brokers cannot be asked.
        """
        for topic, before in (await released(self._cluster, self._settings, self._merge.collection)).items():
            self._quarantine.release(topic, before)

    async def look(self) -> bool:
        """Decide whether finals are held back now, and say so when it has changed."""
        name = self._merge.collection.name
        records = self._quarantine.holding(self._merge)
        if records and time.monotonic() >= self._asked_at + self.release_seconds:
            self._asked_at = time.monotonic()
            await patiently(self.release, seconds=self._settings.outage_seconds)
            records = self._quarantine.holding(self._merge)
        if records != self._records:
            self._records = records
            for problem in self.problems:
                log.error("%s", problem)
            if not records:
                log.warning("%s: finals go on", name)
            self._metrics.records_holding.labels(name).set(len(records))
        return bool(records)
