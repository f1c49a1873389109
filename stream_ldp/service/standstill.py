"""Compare what workers have counted with what the merge has: a merge that hears nothing has no error."""

import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from stream_ldp.kafka.cluster import Cluster, ClusterError
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.source_checkpoint import Checkpoint, ForeignCommit
from stream_ldp.pipeline.windows import FIRST_MS, LAST_MS, panes_closed

log = logging.getLogger(__name__)

#: Seconds between two looks at what has been committed.
LOOK_SECONDS = 30.0

#: Collections of one request, whose answer is read in some milliseconds. Each by itself takes three times as long.
TOGETHER = 32

#: Seconds that a watermark may take from its commit to the merge, which is two round trips to the brokers. A worker
#: that dies in between leaves it to the next owner, which comes after the session of the group.
LATE_SECONDS = 60.0


class Standstill:
    """Whether all partitions have passed the end of a window, and the merge has not got their watermarks."""

    def __init__(self, merge: Merge, *, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without a look.

        clock: monotonic time, in seconds.
        """
        self._merge = merge
        self._clock = clock
        self._topic = settings.topic_names.reports(merge.collection.name)
        self._since: float | None = None
        # End of the last pane that all partitions have passed, in milliseconds.
        self._passed_ms = 0

    @property
    def problems(self) -> list[str]:
        """That the merge stands still, and since when, as `compare` has found; empty if it does not."""
        late = 0.0 if self._since is None else self._clock() - self._since
        if late < LATE_SECONDS:
            return []
        return [
            f"{self._merge.collection.name}: all partitions have passed {_written(self._passed_ms)}, where a window "
            f"ends, for {late:.0f} s, and the merge has not got their watermarks -> restart this worker, which goes "
            "on from the log"
        ]

    @property
    def places(self) -> list[TopicPartition]:
        """The partitions of its reports."""
        return [TopicPartition(self._topic, number) for number in range(self._merge.partitions)]

    def compare(self, commits: Mapping[TopicPartition, tuple[int, str]]) -> None:
        """Compare what workers have committed, offset and metadata, with what the merge has.

        Raises:
            ForeignCommit: something else has committed for the group.
        """
        partitions = self.places
        checkpoints = [Checkpoint.parse(*commits[place]) for place in partitions if place in commits]
        passed = [checkpoint.watermark_ms for checkpoint in checkpoints if checkpoint.watermark_ms is not None]
        behind = bool(passed) and len(passed) == len(partitions) and self._closes_more(min(passed))
        if behind:
            window = self._merge.collection.window
            self._passed_ms = panes_closed(min(passed), window) * window.pane_ms
        self._since = (self._clock() if self._since is None else self._since) if behind else None

    def _closes_more(self, watermark_ms: int) -> bool:
        """Decide whether a watermark closes panes that the merge has open."""
        # Without other regions, which may be behind: these are the commits of this one.
        known, window = self._merge.regions.home.time_ms, self._merge.collection.window
        return known is None or panes_closed(watermark_ms, window) > panes_closed(known, window)


async def look(standstills: Sequence[Standstill], *, cluster: Cluster, settings: Settings) -> None:
    """Compare all of them, but for those about which brokers do not answer now."""
    for first in range(0, len(standstills), TOGETHER):
        some = standstills[first : first + TOGETHER]
        places = [place for each in some for place in each.places]
        try:
            commits = await cluster.commits(settings.group_names.ingest, places, of_known=True)
        except (KafkaError, ClusterError) as error:
            log.debug("what has been committed is not compared: %r", error)
            continue
        for each in some:
            # Who counts the collection asks for the same commits, and says what is wrong with them.
            with contextlib.suppress(ForeignCommit):
                each.compare(commits)


def _written(time_ms: int) -> str:
    """Write an event time down, as far as there is a way to."""
    time_s = min(max(time_ms, FIRST_MS), LAST_MS) / 1_000
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="seconds")
