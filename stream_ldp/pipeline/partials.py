"""Partial statistics and watermarks: the records of the partials topic, which ingest writes for the merge.

Beside them are saved panes, which it writes for the next owner of a source partition: see
`stream_ldp.pipeline.saved_panes`.

A partial is a pure function of a prefix of one source partition and of the idle advances that its owner has seen. So
the furthest one of the latest owner replaces all others, and nothing is ever added twice. The key names the writer,
so that compaction never drops a record in favour of an older one that a delayed worker wrote after it.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from stream_ldp.errors import StreamLDPError
from stream_ldp.pipeline.content_type import PARTIAL_VERSION
from stream_ldp.pipeline.problem import problem_of
from stream_ldp.pipeline.saved_panes import Saved
from stream_ldp.pipeline.statistics import ReportSums, RowCounts, RowTable, Statistic
from stream_ldp.pipeline.topic_identity import UNASKED, TopicIdentity

#: Version of the values. A later one has to be in the header, as its `version`, and to keep the keys: from them an
#: earlier release learns what a record is about that it cannot read.
VERSION = PARTIAL_VERSION

_SEPARATOR = b"\n"  # between the JSON header, which holds none, and the statistic

_STATISTICS: dict[str, type[Statistic]] = {"rows": RowCounts, "table": RowTable, "sums": ReportSums}
_NAMES = {statistic: name for name, statistic in _STATISTICS.items()}


class PartialError(StreamLDPError, ValueError):
    """A record of a partials topic that this release cannot read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Partial:
    """The statistic of one pane, from one source partition.

    collection, fingerprint: name and fingerprint of the collection, the latter in hexadecimal.
    partition: the source partition.
    generation: that of the ownership that counted it; see `stream_ldp.pipeline.source_checkpoint.Checkpoint`.
    pane_ms, pane_length_ms: start and length of the pane, event time in milliseconds.
    of: name of the statistic: the attributes whose rows are counted, or the phase and round whose reports are.
    segment: number of this piece of the statistic.
    end: offset before which all of the partition is covered.
    """

    collection: str
    fingerprint: str
    partition: int
    generation: int
    pane_ms: int
    pane_length_ms: int
    of: tuple[str, ...]
    segment: int
    end: int
    counts: Statistic

    def key(self, *, writer: str) -> list[Any]:
        return ["partial", self.collection, self.of, self.pane_ms, self.partition, self.segment, writer]

    @property
    def header(self) -> dict[str, Any]:
        return {
            "pane": [self.pane_ms, self.pane_length_ms],
            "of": self.of,
            "segment": self.segment,
            "end": self.end,
            "statistic": _NAMES[type(self.counts)],
        }

    @property
    def payload(self) -> bytes:
        return self.counts.to_bytes()

    @property
    def nbytes(self) -> int:
        """Number of bytes in memory."""
        return self.counts.nbytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Watermark:
    """A promise of a source partition's owner: every partial of the panes closed by `time_ms` is on the log.

    collection, fingerprint: name and fingerprint of the collection, the latter in hexadecimal.
    partition: the source partition.
    generation: that of the ownership that committed it.
    time_ms: event time, in milliseconds; None for no promise yet: no window is to be closed without the partition.
    topic: the reports topic as it was when the partition was taken over for the first time.
    """

    collection: str
    fingerprint: str
    partition: int
    generation: int
    time_ms: int | None
    topic: TopicIdentity = UNASKED

    def key(self, *, writer: str) -> list[Any]:  # noqa: ARG002
        return ["watermark", self.collection, self.partition, self.generation]

    @property
    def header(self) -> dict[str, Any]:
        known = {} if self.topic == UNASKED else {"topic": self.topic.id, "partitions": self.topic.partitions}
        return {"watermark": self.time_ms, **known}

    @property
    def payload(self) -> bytes:
        return b""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartialKey:
    """The key of a partial or a watermark, which can be read even if the value cannot.

    partition: the source partition.
    pane_ms, writer: start of the pane, and name of the ownership that counted it; None for a watermark.
    generation: that of the watermark; None for a partial.
    """

    collection: str
    partition: int
    pane_ms: int | None = None
    writer: str | None = None
    generation: int | None = None


#: Numbers of 64 bits, as our writers and other languages have them: JSON alone has no limit.
_Integer = Annotated[int, Field(ge=-(2**63), lt=2**63)]
_Count = Annotated[int, Field(ge=0, lt=2**63)]


class _Header(BaseModel):
    """The header of a value: from `watermark` on of a watermark, from `pane` on of a partial, last of saved panes."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, defer_build=True)

    version: int = 1
    collection: str
    fingerprint: str
    partition: _Count
    epoch: _Integer
    watermark: _Integer | None = None
    topic: str = ""
    partitions: _Count = 0
    pane: tuple[_Integer, _Integer] = (0, 0)
    of: tuple[str, ...] = ()
    segment: _Count = 0
    end: _Count = 0
    statistic: str = ""
    saved: str = ""


_KEYS: TypeAdapter[tuple[Any, ...]] = TypeAdapter(
    tuple[str, str, tuple[str, ...], int, int, int, str] | tuple[str, str, int, int],
    config=ConfigDict(strict=True, defer_build=True),
)


def partition_of(collection: str, *, partitions: int) -> int:
    """Return the partition of the partials topic that holds a collection.

    It is a single one, so that a collection has one merge at a time.
    """
    return zlib.crc32(collection.encode()) % partitions


def encode(record: Partial | Watermark | Saved, *, writer: str) -> tuple[bytes, bytes]:
    """Encode a record as its key and value.

    Equal records have equal values, and a record replaces those with the same key. On the wire, a generation is
    called an epoch.

    writer: name of one ownership of the source partition.
    """
    header = {
        "collection": record.collection,
        "fingerprint": record.fingerprint,
        "partition": record.partition,
        "epoch": record.generation,
        **record.header,
    }
    return _json(record.key(writer=writer)), _json(header) + _SEPARATOR + record.payload


def decode(value: bytes) -> Partial | Watermark | Saved:
    """Decode the value of a record that `encode` has made.

    Raises:
        PartialError: the value is no such record.
    """
    text, _, payload = value.partition(_SEPARATOR)
    try:
        header = _Header.model_validate_json(text)
    except ValueError as error:
        raise PartialError(f"not a partial of this release: {problem_of(error)}") from error
    if header.version != VERSION:
        raise PartialError(
            f"not a partial of this release, which reads version {VERSION}: it has version {header.version}"
        )
    source: dict[str, Any] = {
        "collection": header.collection,
        "fingerprint": header.fingerprint,
        "partition": header.partition,
        "generation": header.epoch,
    }
    if "watermark" in header.model_fields_set:
        topic = TopicIdentity(id=header.topic, partitions=header.partitions)
        return Watermark(**source, time_ms=header.watermark, topic=topic)
    if header.saved:
        return Saved(**source, sort=header.saved, payload=payload)
    if missing := {"pane", "of", "segment", "end", "statistic"} - header.model_fields_set:
        raise PartialError(f"not a partial of this release: its header has no {', '.join(sorted(missing))}")
    try:
        counts = _STATISTICS[header.statistic].from_bytes(payload)
    except (ValueError, KeyError, IndexError, struct.error) as error:
        raise PartialError(f"not a partial of this release: {problem_of(error)}") from error
    pane_ms, pane_length_ms = header.pane
    return Partial(
        **source,
        pane_ms=pane_ms,
        pane_length_ms=pane_length_ms,
        of=header.of,
        segment=header.segment,
        end=header.end,
        counts=counts,
    )


def decode_key(key: bytes | None) -> PartialKey | None:
    """Decode a record key that `encode` has made; None for any other, and for what no merge needs."""
    try:
        match _KEYS.validate_json(key or b""):
            case ("partial", collection, _, pane_ms, partition, _, writer):
                return PartialKey(collection=collection, partition=partition, pane_ms=pane_ms, writer=writer)
            case ("watermark", collection, partition, generation):
                return PartialKey(collection=collection, partition=partition, generation=generation)
    except ValueError:
        pass
    return None


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
