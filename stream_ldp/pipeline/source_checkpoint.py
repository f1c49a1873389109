"""The checkpoint of a source partition: what a commit of offsets keeps of it, and its form in the commit."""

import json
import operator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

from stream_ldp.errors import StreamLDPError
from stream_ldp.pipeline.pane_limits import PaneLimits
from stream_ldp.pipeline.saved_panes import SavedPlace
from stream_ldp.pipeline.topic_identity import UNASKED, TopicIdentity

#: Fields of a checkpoint by their keys in the metadata of a commit, which call a generation an epoch.
_METADATA = {
    "epoch": "generation",
    "position": "position",
    "watermark_ms": "watermark_ms",
    "watermark_epoch": "watermark_generation",
}

#: Bits of the largest offsets, times and generations; JSON has integers of any size.
_BITS = 63


class ForeignCommit(StreamLDPError, ValueError):
    """A commit of the workers' group that no worker has made, so that what has been counted is unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """The state of a source partition that a commit keeps.

    generation: number of the ownership that committed it; it rises from one ownership to the next.
    offset: that of the first report of the oldest open pane; reading begins here after a restart.
    position: offset before which all is counted and every rejection is reported, each once.
    watermark_ms: event time, in milliseconds; None before the first batch. It decides what is late after a restart.
    watermark_generation: that of the ownership which advanced the watermark to this time.
    topic: the topic as it was when the partition was taken over for the first time.
    appended_ms: the latest time at which the broker has appended a record before `position`, by its clock, in
        milliseconds; None if there is none. If an earlier record is of a later time, the log is not what was read.
    saved: the panes that the next owner can go on from, instead of from `offset`; None if there are none.
    limits: the most that a pane takes, by the offsets from which on they hold; empty in the commit of an operator.
    """

    generation: int
    offset: int
    position: int
    watermark_ms: int | None
    watermark_generation: int
    topic: TopicIdentity = UNASKED
    appended_ms: int | None = None
    saved: SavedPlace | None = None
    limits: tuple[PaneLimits, ...] = ()

    def metadata(self) -> str:
        """Encode all but the offset as the metadata of a commit."""
        fields = {key: getattr(self, name) for key, name in _METADATA.items()}
        if self.topic != UNASKED:
            fields |= {"topic": self.topic.id, "partitions": self.topic.partitions}
        if self.appended_ms is not None:
            fields["appended_ms"] = self.appended_ms
        if self.saved is not None:
            fields["saved"] = [self.saved.digest, self.saved.position, self.saved.since_ms]
        if self.limits:
            fields["limits"] = [[each.since, each.batches, each.linked] for each in self.limits]
        return json.dumps(fields)

    def is_of(self, topic: TopicIdentity) -> bool:
        """Decide whether it is of this topic, and not of one that had its name before."""
        return self.topic.id in ("", topic.id)

    def moved_to(self, beginning: int) -> Self:
        """Return the checkpoint for a log that begins at `beginning`, since what came before has been deleted."""
        return replace(self, offset=beginning, position=max(self.position, beginning))

    def cut_to(self, end: int) -> Self:
        """Return the checkpoint for a log that ends at `end`, since the brokers have lost what came after.

        What is written from there on is counted. The watermark stays: what it has closed may have been published.
        What has been saved of the open panes may count reports that are lost.
        """
        return replace(self, offset=min(self.offset, end), position=min(self.position, end), saved=None)

    @classmethod
    def parse(cls, offset: int, metadata: str) -> Self:
        """Decode a commit; one without metadata, as an operator's reset of the group leaves it, begins anew.

        Raises:
            ForeignCommit: the commit was not made by this software.
        """
        if not metadata:
            return cls(generation=0, offset=offset, position=offset, watermark_ms=None, watermark_generation=0)
        try:
            fields = dict(json.loads(metadata))
            # A later release may add fields; this one must still go on from its commits.
            numbers = {name: fields[key] for key, name in _METADATA.items()}
            watermark_ms = numbers.pop("watermark_ms")
            appended_ms = fields.get("appended_ms")
            topic = TopicIdentity(
                id=str(fields.get("topic", "")), partitions=operator.index(fields.get("partitions", 0))
            )
            return cls(
                topic=topic,
                appended_ms=None if appended_ms is None else operator.index(appended_ms),
                saved=_saved(fields.get("saved")),
                limits=_limits(fields.get("limits", ())),
                offset=offset,
                watermark_ms=None if watermark_ms is None else _integer(watermark_ms),
                **{name: _integer(number) for name, number in numbers.items()},
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ForeignCommit(
                f"the commit at offset {offset} has metadata that no worker wrote: {metadata!r}; if nothing else "
                "uses this group, let workers count again from a time: stream-ldp reset position"
            ) from error


def _saved(field: Any) -> SavedPlace | None:
    """Return what a field says; whatever else stands there raises TypeError or ValueError."""
    if field is None:
        return None
    digest, position, since_ms = field
    return SavedPlace(digest=str(digest), position=_integer(position), since_ms=_integer(since_ms))


def _limits(field: Any) -> tuple[PaneLimits, ...]:
    """Return what a field says; whatever else stands there raises TypeError or ValueError."""
    rows = [map(_integer, row) for row in field]
    limits = tuple(PaneLimits(since=since, batches=batches, linked=linked) for since, batches, linked in rows)
    if any(later.since <= each.since for each, later in pairwise(limits)):
        raise ValueError("limits whose offsets do not ascend")
    return limits


def _integer(number: Any) -> int:
    """Return an integer of 64 bits; anything else raises TypeError or ValueError."""
    whole = operator.index(number)
    if whole.bit_length() > _BITS:
        raise ValueError("a number of more than 64 bits")
    return whole
