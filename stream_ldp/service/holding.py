"""Watch what holds the finals of a collection back, until an operator releases it."""

import logging
import time

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.patience import patiently
from stream_ldp.kafka.releases import released
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.quarantine import Quarantine, Unread, Unsolved
from stream_ldp.service.metrics import MergeMetrics

log = logging.getLogger(__name__)


class Holding:
    """The unread records that may hide what the finals of one collection need, and the window that is unsolved."""

    #: Seconds between two looks at whether an operator has released them.
    release_seconds = 2.0

    def __init__(
        self, merge: Merge, quarantine: Quarantine, *, cluster: Cluster, settings: Settings, metrics: MergeMetrics
    ) -> None:
        self._merge = merge
        self._quarantine = quarantine
        self._cluster = cluster
        self._settings = settings
        self._metrics = metrics
        self._records: list[Unread] = []
        self._unsolved: Unsolved | None = None
        self._asked_at = -self.release_seconds

    @property
    def problems(self) -> list[str]:
        """That finals are held back, and by what, as `look` has found; empty if they are not."""
        name = self._merge.collection.name
        found = []
        if self._unsolved is not None:
            found.append(
                f"{name}: finals are held back by a window whose answer cannot be computed: {self._unsolved}; "
                "it is tried again every minute -> go on without it with `stream-ldp quarantine release --unsolved`"
            )
        if not self._records:
            return found
        first, *others = self._records
        more = f" (and {len(others)} more)" if others else ""
        return [
            *found,
            f"{name}: finals are held back by a record that cannot be read and may hide what "
            f"they need: {first}{more} -> see them with `stream-ldp quarantine list`, and go on without them with "
            "`stream-ldp quarantine release`",
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
        records, unsolved = self._quarantine.holding(self._merge), self._quarantine.unsolved(self._merge)
        if (records or unsolved) and time.monotonic() >= self._asked_at + self.release_seconds:
            self._asked_at = time.monotonic()
            await patiently(self.release, seconds=self._settings.outage_seconds)
            records, unsolved = self._quarantine.holding(self._merge), self._quarantine.unsolved(self._merge)
        if (records, unsolved) != (self._records, self._unsolved):
            self._records, self._unsolved = records, unsolved
            for problem in self.problems:
                log.error("%s", problem)
            if not self.problems:
                log.warning("%s: finals go on", name)
            self._metrics.records_holding.labels(name).set(len(records))
            self._metrics.windows_unsolved.labels(name).set(0 if unsolved is None else 1)
        return bool(records or unsolved)
