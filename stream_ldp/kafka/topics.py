"""Declare the topics of a deployment: their names, partitions and settings, with the reason of each."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stream_ldp.collection import Collection, Window
from stream_ldp.collection.collection import ANSWERS_MS, DAY_MS
from stream_ldp.collection.synthesis import topics_of

#: Workers may be down this long and still find the reports that they had not finished.
OUTAGE_MS = 7 * DAY_MS
#: Anybody who asks for provisional answers looks at a window that is open; the newest are kept a little longer.
PROVISIONAL_MS = DAY_MS
#: Operators have this long to look at refused batches, weekends included.
DEAD_LETTERS_MS = 14 * DAY_MS
#: Subscribers may be down this long and still find the synthetic records that they have not read; older ones can be
#: made again as long as the log has the reports.
RECORDS_MS = 7 * DAY_MS
#: A log is compacted up to its active segment, so this bounds what a rebuild reads beside the live keys.
SEGMENT_BYTES = 64 * 2**20
#: Room of a topic of synthetic records, and of one of dead letters, which would fill a disk otherwise: a window has
#: up to a segment of the former, and a flood any number of the latter.
ROOM_BYTES = 16 * SEGMENT_BYTES
#: A segment is deleted when its newest record has expired, so a record outlives its retention by this and a little.
SEGMENT_MS = 3_600_000  # an hour
#: The largest partial or answer. Kafka's default of 1 MiB is below one estimate of 2^17 cells (6 MB).
MAX_RECORD_BYTES = 16 * 2**20

#: Partitions to begin with. More can be added while workers run, since a report counts the same in whatever partition
#: it is: docs/operate/size.md says how.
REPORTS_PARTITIONS = 4

#: Settings that must have the declared value, in whatever way it is written.
_EXACT = frozenset({"cleanup.policy", "message.timestamp.type"})
#: Settings that may be larger than declared; -1 means no limit.
_AT_LEAST = frozenset({"retention.ms", "retention.bytes", "max.message.bytes"})


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicNames:
    """The names of the topics under one prefix, which keeps deployments on the same cluster apart.

    No two of them are the same, whatever the prefix and the collection, not even where dots are taken for
    underscores: a prefix has neither, a collection no dot, and what follows a collection's name has neither.
    """

    prefix: str

    def reports(self, collection: str) -> str:
        """Name the topic of the batches of reports of one collection."""
        return f"{self.prefix}.{collection}.reports"

    def records(self, collection: str) -> str:
        """Name the topic of the synthetic records of one collection."""
        return f"{self.prefix}.{collection}.records"

    def rounds(self, collection: str) -> str:
        """Name the topic of the rounds of one item collection."""
        return f"{self.prefix}.{collection}.rounds"

    def provisional(self, collection: str) -> str:
        """Name the topic of the answers of open windows of one collection."""
        return f"{self.prefix}.{collection}.provisional"

    def answers(self, collection: Collection) -> str:
        """Name the topic of the final answers of a collection of any kind."""
        return self.answers_of(collection.name, collection.topics.answers)

    def answers_of(self, collection: str, answers: str) -> str:
        """Name the topic of the final answers of a collection; both are given by name, see `Topics.answers`."""
        return f"{self.prefix}.{collection}.{answers}"

    def rows(self, collection: Collection) -> str:
        """Name the topic of the final answers of a collection as flat rows."""
        return self.rows_of(collection.name, collection.topics.answers)

    def rows_of(self, collection: str, answers: str) -> str:
        """Name the topic of rows; both are given by name, as in `answers_of`."""
        return f"{self.answers_of(collection, answers)}-rows"

    def dead_letters(self, collection: str) -> str:
        """Name the topic of the refused batches of one collection."""
        return f"{self.prefix}.{collection}.dead-letters"

    @property
    def partials(self) -> str:
        """Name of the topic of the partial counts and watermarks of all collections."""
        return f"{self.prefix}.partials"

    @property
    def collections(self) -> str:
        """Name of the topic of the registry, which holds what each collection's name means."""
        return f"{self.prefix}.collections"


@dataclass(frozen=True, kw_only=True, slots=True)
class ExistingTopic:
    """A topic as the cluster describes it; `config` holds every setting that applies to it."""

    name: str
    partitions: int
    replication: int
    config: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicSpec:
    """A topic as the service needs it.

    any_partitions: whether any other number of partitions is as good.
    outlives: name of a topic whose records must expire before this one's.
    """

    name: str
    partitions: int
    config: Mapping[str, str]
    any_partitions: bool = False
    outlives: str | None = None

    def differences(self, existing: ExistingTopic) -> dict[str, tuple[str, str]]:
        """Find the settings of the topic that are not as declared: {setting: (declared, existing)}."""
        found = {
            setting: (declared, existing.config[setting])
            for setting, declared in self.config.items()
            if not _same(setting, declared, existing.config[setting])
        }
        if self.partitions != existing.partitions:
            found["partitions"] = (str(self.partitions), str(existing.partitions))
        return found

    def problems(self, existing: Mapping[str, ExistingTopic]) -> list[str]:
        """Say why the service cannot work with the topic as it is, one sentence each; none if it does not exist."""
        if self.name not in existing:
            return []
        topic = existing[self.name]
        found = []
        for setting, (declared, actual) in self.differences(topic).items():
            if setting == "partitions":
                if not self.any_partitions:
                    found.append(f"topic {self.name} has {actual} partitions, needs {declared}")
            elif setting in _EXACT:
                found.append(f"topic {self.name} has {setting}={actual}, needs {declared}")
            elif setting in _AT_LEAST and _limit(actual) < _limit(declared):
                found.append(f"topic {self.name} has {setting}={actual}, needs {declared} or more")
        if self.outlives is not None and self.outlives in existing:
            longer, shorter = (each.config["retention.ms"] for each in (topic, existing[self.outlives]))
            if _limit(longer) < _limit(shorter) + SEGMENT_MS:
                found.append(
                    f"topic {self.name} has retention.ms={longer}, which must be more than the {shorter} of "
                    f"{self.outlives}, or finals would be published twice"
                )
        return found


def topic_specs(
    collections: Iterable[Collection],
    *,
    prefix: str,
    partials_partitions: int,
    reports_partitions: int | None = None,
) -> tuple[TopicSpec, ...]:
    """Declare every topic that these collections need, the shared ones first.

    reports_partitions: number of partitions of each reports topic; at most so many workers share its ingest. None
        accepts any number, and gives a new topic REPORTS_PARTITIONS.
    partials_partitions: number of partitions of the partials topic; at most so many workers share the merging, each
        collection being merged by one.
    """
    names, collections = TopicNames(prefix=prefix), tuple(collections)
    partials_ms = _whole_days(OUTAGE_MS + max((_remembered_ms(collection) for collection in collections), default=0))
    # A final answer shows that its window is finished. If it expired before the window's partials, a merge that
    # rebuilds its state would see an unfinished window and publish it once more. A day covers SEGMENT_MS.
    answers_ms = max(ANSWERS_MS, partials_ms + DAY_MS)
    shared = (
        TopicSpec(
            name=names.collections,
            partitions=1,
            # A collection may name tens of thousands of items.
            config={"cleanup.policy": "compact", "max.message.bytes": str(MAX_RECORD_BYTES)},
        ),
        TopicSpec(
            name=names.partials,
            partitions=partials_partitions,
            config=_compacted_and_deleted(partials_ms),
        ),
    )
    return (*shared, *(spec for each in collections for spec in _own(each, names, reports_partitions, answers_ms)))


def _own(
    collection: Collection, names: TopicNames, reports_partitions: int | None, answers_ms: int
) -> tuple[TopicSpec, ...]:
    asked = [_rounds(collection, names)] if collection.topics.rounds else []
    made = [_records(collection, names)] if topics_of(collection).records else []
    if collection.rows:
        # As long as the finals that they are made of.
        rows = TopicSpec(name=names.rows(collection), partitions=1, config=_compacted_and_deleted(answers_ms))
        made.append(rows)
    return (
        TopicSpec(
            name=names.reports(collection.name),
            partitions=reports_partitions or REPORTS_PARTITIONS,
            any_partitions=reports_partitions is None,
            config={
                "cleanup.policy": "delete",
                "retention.ms": str(_whole_days(OUTAGE_MS + _open_ms(collection.window))),
                # The broker's clock checks producers' event times, and decides expiry.
                "message.timestamp.type": "LogAppendTime",
            },
        ),
        *asked,
        TopicSpec(
            name=names.answers(collection),
            partitions=1,
            outlives=names.partials,
            config=_compacted_and_deleted(answers_ms),
        ),
        # On a topic of their own: two of them differ by few reports, and so their readers see more than readers of
        # finals alone, about whom `privacy.published` is.
        TopicSpec(
            name=names.provisional(collection.name), partitions=1, config=_compacted_and_deleted(PROVISIONAL_MS)
        ),
        *made,
        TopicSpec(
            name=names.dead_letters(collection.name),
            partitions=1,
            config={
                "cleanup.policy": "delete",
                "retention.ms": str(DEAD_LETTERS_MS),
                "retention.bytes": str(ROOM_BYTES),
                "segment.bytes": str(SEGMENT_BYTES),
                # A refused batch may fill a record of its reports topic, and here it has headers as well.
                "max.message.bytes": str(MAX_RECORD_BYTES),
            },
        ),
    )


def _rounds(collection: Collection, names: TopicNames) -> TopicSpec:
    return TopicSpec(
        name=names.rounds(collection.name),
        partitions=1,
        config=_compacted_and_deleted(rounds_kept_ms(collection.window))
        # A writer's own time could be so far ahead that workers would forget all other rounds.
        | {"message.timestamp.type": "LogAppendTime"},
    )


def _records(collection: Collection, names: TopicNames) -> TopicSpec:
    return TopicSpec(
        name=names.records(collection.name),
        partitions=1,
        config=_compacted_and_deleted(RECORDS_MS) | {"retention.bytes": str(ROOM_BYTES)},
    )


def rounds_kept_ms(window: Window) -> int:
    """Return the retention of rounds, in milliseconds.

    It is as long as reports may wait to be counted: a batch can only be counted while its round is known.
    """
    return _whole_days(OUTAGE_MS + _open_ms(window))


def _open_ms(window: Window) -> int:
    """Return the longest time, by the broker's clock, from a window's first report to its closing, in milliseconds.

    The first report may come `ahead` before the window begins, and the last ones may be as old as `max_age`. A
    window without idle timeout can be held open without limit by a silent partition; no retention outlasts that.
    """
    idle_ms = window.idle_timeout_ms or 0
    return window.ahead_ms + window.size_ms + window.grace_ms + window.max_age_ms + idle_ms


def _remembered_ms(collection: Collection) -> int:
    """Return the longest time that a window's counts are needed, in milliseconds.

    They are needed while the window is open and while later windows use them.
    """
    return _open_ms(collection.window) + (collection.most_windows - 1) * collection.window.size_ms


def _compacted_and_deleted(retention_ms: int) -> dict[str, str]:
    return {
        "cleanup.policy": "compact,delete",
        "retention.ms": str(retention_ms),
        "segment.ms": str(SEGMENT_MS),
        "segment.bytes": str(SEGMENT_BYTES),
        "max.message.bytes": str(MAX_RECORD_BYTES),
    }


def _whole_days(duration_ms: int) -> int:
    """Round up to whole days, so that a collection that comes later seldom needs more than the shared topics have."""
    return math.ceil(duration_ms / DAY_MS) * DAY_MS


def _same(setting: str, declared: str, actual: str) -> bool:
    if setting == "cleanup.policy":
        return {part.strip() for part in declared.split(",")} == {part.strip() for part in actual.split(",")}
    return declared == actual


def _limit(value: str) -> float:
    return float("inf") if value == "-1" else float(value)


def absent(topic: str, flags: str, *, why: str = "") -> str:
    """Say that a topic does not exist, and how to create it.

    flags: those by which a command finds the brokers and topics; see `Settings.flags`.
    why: which collections have such a topic, where not all of them do, up to the cure.
    """
    return (
        f"topic {topic} does not exist, or this user may not describe it\n"
        f"  -> {why}create it: stream-ldp topics create COLLECTION.yaml {flags}"
    )
