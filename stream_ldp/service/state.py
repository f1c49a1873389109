"""Read how far a collection has come: what is counted, which windows are open, and the last answers."""

from collections.abc import Mapping
from dataclasses import dataclass

from aiokafka import TopicPartition

from stream_ldp.collection import Collection
from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.offsets import bounds_of
from stream_ldp.kafka.releases import released
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.answer import Answer, WindowBounds
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.quarantine import Quarantine, Unread
from stream_ldp.pipeline.source_checkpoint import Checkpoint, ForeignCommit
from stream_ldp.service.windows_log import AnswersLog, partials_log

#: Most times that the windows are read while workers come and go; a worker has started within seconds.
MAX_READS = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceState:
    """How far a partition of the reports topic has been counted.

    begin, end: offsets of its first record, and of the next one to be written.
    checkpoint: what its last owner has committed; None if nobody has.
    fault: why the commit cannot be read; empty if it can.
    """

    number: int
    begin: int
    end: int
    checkpoint: Checkpoint | None = None
    fault: str = ""

    @property
    def behind(self) -> int:
        """Number of records that are still to be counted."""
        position = self.begin if self.checkpoint is None else max(self.begin, self.checkpoint.position)
        return max(0, self.end - position)


@dataclass(frozen=True, kw_only=True, slots=True)
class UndecidedWindow:
    """A window that holds reports and has no final answer.

    closed: whether it takes no more reports, so that its final answer is due.
    """

    series: str
    bounds: WindowBounds
    reports: int
    closed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectionState:
    """The state of a collection, as its topics and groups show it.

    members: number of workers that count it now.
    watermark_ms: event time that every partition has passed; None until each has a watermark.
    undecided: earliest first.
    finals: the last final answer of each series that has one.
    passed, held: records of the partials and answers topics that cannot be read, and those that hold finals back.
    """

    members: int
    sources: tuple[SourceState, ...]
    watermark_ms: int | None
    undecided: tuple[UndecidedWindow, ...]
    finals: tuple[Answer, ...]
    passed: tuple[Unread, ...]
    held: tuple[Unread, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Workers:
    """The workers of a collection, and how far they have counted."""

    members: int
    sources: tuple[SourceState, ...]

    @property
    def owners(self) -> tuple[int | None, ...]:
        """Who counts: it changes as workers come and go, and not as they count."""
        return (
            self.members,
            *(None if source.checkpoint is None else source.checkpoint.generation for source in self.sources),
        )


async def read_state(settings: Settings, collection: Collection, partitions: Mapping[str, int]) -> CollectionState:
    """Read the state of a collection; nothing is written.

    Workers write what they have counted before they commit it, so windows that are read after the commits hold at
    least what these say. If workers have come or gone meanwhile, both are read again, at most MAX_READS times.

    partitions: number of partitions of every topic, as the preflight finds them.

    Raises:
        KafkaError, ClusterError: the brokers cannot be asked.
    """
    workers = await _read_workers(settings, collection, partitions)
    for _ in range(MAX_READS):
        merge, passed, held = await read_windows(settings, collection, partitions)
        now = await _read_workers(settings, collection, partitions)
        if now.owners == workers.owners:
            break
        workers = now
    newest = {answer.series: answer for answer in merge.decided}
    return CollectionState(
        members=workers.members,
        sources=workers.sources,
        watermark_ms=merge.watermark_ms,
        undecided=tuple(
            UndecidedWindow(
                series=series.name,
                bounds=WindowBounds(start_ms=start, end_ms=start + collection.window.size_ms),
                reports=merge.task(start, series, final=False).reports,
                closed=not merge.is_open(start, series),
            )
            for start, series in merge.undecided()
        ),
        finals=tuple(newest.values()),
        passed=tuple(passed),
        held=tuple(held),
    )


async def _read_workers(settings: Settings, collection: Collection, partitions: Mapping[str, int]) -> _Workers:
    topic, group = settings.topic_names.reports(collection.name), settings.group_names.ingest
    places = [TopicPartition(topic, number) for number in range(partitions[topic])]
    async with Cluster.connect(settings) as cluster:
        members, commits = await cluster.members(group, of=topic), await cluster.commits(group, places)
    bounds = await bounds_of(settings, places)
    return _Workers(
        members=members, sources=tuple(_source(place, bounds[place], commits.get(place)) for place in places)
    )


async def read_windows(
    settings: Settings, collection: Collection, partitions: Mapping[str, int]
) -> tuple[Merge, list[Unread], list[Unread]]:
    """Rebuild the windows of a collection from the log, as a worker does.

    Returns:
        The merge, the records that cannot be read, and those of them that hold finals back.

    Raises:
        KafkaError, ClusterError: the brokers cannot be asked.
    """
    merge = Merge(
        collection,
        partitions=partitions[settings.topic_names.reports(collection.name)],
        regions=settings.region_names,
    )
    quarantine = Quarantine(collection)
    unread = [each async for each in AnswersLog(merge, quarantine, settings=settings).read()]
    applied = [quarantine.apply(merge, entry) async for entry in partials_log(collection.name, settings=settings)]
    unread += [each for each in applied if each is not None]
    async with Cluster.connect(settings) as cluster:
        for topic, before in (await released(cluster, settings, collection)).items():
            quarantine.release(topic, before)
    return merge, unread, quarantine.holding(merge)


def _source(place: TopicPartition, bounds: tuple[int, int], commit: tuple[int, str] | None) -> SourceState:
    begin, end = bounds
    checkpoint, fault = None, ""
    if commit is not None:
        try:
            checkpoint = Checkpoint.parse(*commit)
        except ForeignCommit as error:
            fault = str(error)
    return SourceState(number=place.partition, begin=begin, end=end, checkpoint=checkpoint, fault=fault)
