"""What a collection may have closed without a source partition that nobody has counted yet.

A merge waits for a partition from the first watermark record on that names it, or names a topic with so many
partitions. A worker that takes the partition over writes such a record first, and then reads the log: the watermarks
that closed panes without the partition are on the log by then. So its watermark begins there, and what comes for
those panes is late. Were it counted, its window might have been answered already, and it would vanish.
"""

from stream_ldp.pipeline.partials import Watermark
from stream_ldp.pipeline.windows import FIRST_MS, LAST_MS

#: The latest generation that is believed: generations are times of day in milliseconds, far below. A forged one near
#: the end of 64 bits would leave none to the next owner.
MAX_GENERATION = 2**62


class ClosedSoFar:
    """The furthest watermark of each source partition of a collection, of whatever generation and topic."""

    def __init__(self) -> None:
        self._times_ms: dict[int, int] = {}
        self._generations: dict[int, int] = {}
        # Partition and id of the topic of each that has been counted.
        self._counted: set[tuple[int, str]] = set()
        # The least number of partitions that any watermark's topic had: that of the first topic with watermarks.
        self._partitions: int | None = None

    def take(self, record: Watermark) -> None:
        """Take note of a record of the log, unless no worker has written it."""
        partition = record.partition
        if record.generation > MAX_GENERATION or not FIRST_MS <= (record.time_ms or 0) <= LAST_MS:
            return
        self._generations[partition] = max(record.generation, self._generations.get(partition, record.generation))
        if record.time_ms is None:
            return
        self._times_ms[partition] = max(record.time_ms, self._times_ms.get(partition, record.time_ms))
        self._counted.add((partition, record.topic.id))
        # Without a topic, it is not known how many others were waited for.
        number = record.topic.partitions or partition + 1
        self._partitions = number if self._partitions is None else min(number, self._partitions)

    def generation(self, partition: int) -> int:
        """Return the latest generation of a partition; 0 if it has none."""
        return self._generations.get(partition, 0)

    def has_counted(self, partition: int, *, topic_id: str) -> bool:
        """Decide whether a partition of the topic with this id has been counted."""
        return (partition, topic_id) in self._counted

    def watermark_ms(self, partition: int) -> int | None:
        """Return the event time, in milliseconds, before which a partition must not count any more.

        It is what the partition has promised itself, under whatever topic, or what the others had all passed when
        there was no such partition; None if neither is anything. It may be later than what has been closed, since
        the others go on meanwhile, and is never earlier.
        """
        bounds = [self._times_ms[partition]] if partition in self._times_ms else []
        if self._partitions is not None and self._partitions <= partition:
            others = [self._times_ms.get(other) for other in range(self._partitions)]
            passed = [each for each in others if each is not None]
            if len(passed) == len(others):
                bounds.append(min(passed))
        return max(bounds, default=None)
