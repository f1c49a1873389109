"""Partial statistics and watermarks: the records of the partials topic, which ingest writes for the merge.

Beside them are saved panes, which it writes for the next owner of a source partition: see
`stream_ldp.pipeline.saved_panes`.

A partial is a pure function of a prefix of one source partition and of the idle advances that its owner has seen. So
the furthest one of the latest owner replaces all others, and nothing is ever added twice. The key names the writer,
so that compaction never drops a record in favour of an older one that a delayed worker wrote after it.

Where several regions count, each with brokers of its own, a source is a partition of a region, and keys and values
name both. See docs/decisions/17-regions.md.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, TypeAdapter

from stream_ldp.errors import StreamLDPError
from stream_ldp.pipeline.answer import Count, Integer
from stream_ldp.pipeline.content_type import PARTIAL, PARTIAL_VERSION, Headers
from stream_ldp.pipeline.problem import problem_of
from stream_ldp.pipeline.saved_panes import Saved
from stream_ldp.pipeline.source import Source, place_in_key, source_of
from stream_ldp.pipeline.statistics import ReportSums, RowCounts, RowTable, Statistic
from stream_ldp.pipeline.topic_identity import UNASKED, TopicIdentity

#: Version of the values. A later one has to be in the header, as its `version`, and to keep the keys: from them an
#: earlier release learns what a record is about that it cannot read.
VERSION = PARTIAL_VERSION

_SEPARATOR = b"\n"  # between the JSON header, which holds none, and the statistic

_LENGTH = struct.Struct("<I")  # bytes of a statistic that others follow

_STATISTICS: dict[str, type[Statistic]] = {"rows": RowCounts, "table": RowTable, "sums": ReportSums}
_NAMES = {statistic: name for name, statistic in _STATISTICS.items()}


class PartialError(StreamLDPError, ValueError):
    """A record of a partials topic that this release cannot read."""


class _Record:
    __slots__ = ()

    headers: ClassVar[Headers] = PARTIAL


class _Decision(_Record):
    """What is decided about panes, in a record without partials."""

    __slots__ = ()

    parts: ClassVar[tuple[Partial, ...]] = ()
    payload: ClassVar[bytes] = b""


@dataclass(frozen=True, kw_only=True, slots=True)
class Partial(_Record):
    """The statistic of one pane, from one source partition.

    collection, fingerprint: name and fingerprint of the collection, the latter in hexadecimal.
    region, partition: the source partition, and the region whose brokers have it; see `Source`.
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
    region: str = ""

    @property
    def parts(self) -> tuple[Partial, ...]:
        """The partials of its record: itself."""
        return (self,)

    def key(self, *, writer: str) -> list[Any]:
        place = place_in_key(self.source)
        return ["partial", self.collection, self.of, self.pane_ms, place, self.segment, writer]

    @property
    def source(self) -> Source:
        """Its source."""
        return Source(self.region, self.partition)

    @property
    def header(self) -> dict[str, Any]:
        return {
            "partition": self.partition,
            "epoch": self.generation,
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


def _of_parts(name: str) -> Any:
    """Make a property of a group that all of its parts have, with the same value."""
    return property(lambda group: getattr(group.parts[0], name))


@dataclass(frozen=True, slots=True)
class PartialGroup(_Record):
    """Partials of one pane, from one source partition and up to the same offset, that are one record.

    A later record of the group replaces it, and so has all of its statistics: see
    `stream_ldp.pipeline.statistics.groups`.

    parts: its partials, at least one, each of segment 0, always in the same order.
    """

    parts: tuple[Partial, ...]

    collection: ClassVar[str] = _of_parts("collection")
    fingerprint: ClassVar[str] = _of_parts("fingerprint")
    region: ClassVar[str] = _of_parts("region")
    partition: ClassVar[int] = _of_parts("partition")
    generation: ClassVar[int] = _of_parts("generation")
    pane_ms: ClassVar[int] = _of_parts("pane_ms")

    def key(self, *, writer: str) -> list[Any]:
        first = self.parts[0]
        return ["partials", self.collection, first.of, self.pane_ms, place_in_key(first.source), writer]

    @property
    def header(self) -> dict[str, Any]:
        first = self.parts[0]
        return {
            "partition": first.partition,
            "epoch": first.generation,
            "pane": [first.pane_ms, first.pane_length_ms],
            "end": first.end,
            "parts": [[each.of, _NAMES[type(each.counts)]] for each in self.parts],
        }

    @property
    def payload(self) -> bytes:
        payloads = [each.payload for each in self.parts]
        return b"".join([part for each in payloads for part in (_LENGTH.pack(len(each)), each)])

    @property
    def nbytes(self) -> int:
        """Number of bytes in memory."""
        return sum(each.nbytes for each in self.parts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Watermark(_Decision):
    """A promise of a source partition's owner: every partial of the panes closed by `time_ms` is on the log.

    collection, fingerprint: name and fingerprint of the collection, the latter in hexadecimal.
    region, partition: the source partition, and the region whose brokers have it; see `Source`.
    generation: that of the ownership that committed it.
    time_ms: event time, in milliseconds; None for no promise yet: no window is to be closed without the partition.
    topic: the reports topic as it was when the partition was taken over for the first time.
    file: digest of the collection's file, where there are several regions. Regions change their files separately, and
        a merge accepts no promise about other windows or questions than its own.
    """

    collection: str
    fingerprint: str
    partition: int
    generation: int
    time_ms: int | None
    topic: TopicIdentity = UNASKED
    region: str = ""
    file: str = ""

    def key(self, *, writer: str) -> list[Any]:  # noqa: ARG002
        return ["watermark", self.collection, place_in_key(self.source), self.generation]

    @property
    def source(self) -> Source:
        """Its source."""
        return Source(self.region, self.partition)

    @property
    def header(self) -> dict[str, Any]:
        known = {} if self.topic == UNASKED else {"topic": self.topic.id, "partitions": self.topic.partitions}
        known = {"partition": self.partition, "epoch": self.generation, "watermark": self.time_ms, **known}
        return {**known, **({"file": self.file} if self.file else {})}


@dataclass(frozen=True, kw_only=True, slots=True)
class CutOff(_Decision):
    """A decision of the merge to close windows without a region that is behind: a record on the log like all others.

    Partials of the region that come after it on the log are late for the panes that it closes. So a reader that folds
    the log again leaves out the same ones.

    collection, fingerprint: name and fingerprint of the collection, the latter in hexadecimal.
    region: the region that is left out.
    time_ms: event time, in milliseconds, up to which it is.
    passed: (partition, event time in milliseconds) of the region's watermarks that had come when it was decided:
        what these have closed is whole, even where compaction has dropped them since.
    """

    nbytes: ClassVar[int] = 0

    collection: str
    fingerprint: str
    region: str
    time_ms: int
    passed: tuple[tuple[int, int], ...] = ()

    def key(self, *, writer: str) -> list[Any]:  # noqa: ARG002
        return ["cut-off", self.collection, self.region, self.time_ms]

    @property
    def header(self) -> dict[str, Any]:
        return {"cut_off": self.time_ms, "passed": self.passed}


#: A record of partials.
PartialRecord = Partial | PartialGroup


def together(partials: Iterable[Partial]) -> PartialRecord:
    """Make one record of the partials of a group, or of the only one of a segment."""
    found = tuple(partials)
    return found[0] if len(found) == 1 else PartialGroup(found)


#: What a merge reads.
MergeRecord = PartialRecord | Watermark | CutOff


@dataclass(frozen=True, kw_only=True, slots=True)
class PartialKey:
    """The key of a partial or a watermark, which can be read even if the value cannot.

    source: the source partition.
    pane_ms, writer: start of the pane, and name of the ownership that counted it; None for a watermark.
    generation: that of the watermark; None for a partial.
    """

    collection: str
    source: Source
    pane_ms: int | None = None
    writer: str | None = None
    generation: int | None = None


class _Header(BaseModel):
    """The header of a value: of a watermark, a cut-off, a partial, or saved panes."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, defer_build=True)

    version: int = 1
    collection: str
    fingerprint: str
    region: str = ""
    partition: Count = 0
    epoch: Integer = 0
    watermark: Integer | None = None
    topic: str = ""
    partitions: Count = 0
    file: str = ""
    cut_off: Integer = 0
    passed: tuple[tuple[Count, Integer], ...] = ()
    pane: tuple[Integer, Integer] = (0, 0)
    of: tuple[str, ...] = ()
    segment: Count = 0
    end: Count = 0
    statistic: str = ""
    parts: tuple[tuple[tuple[str, ...], str], ...] = ()
    saved: str = ""


_Place = int | tuple[str, int]

_KEYS: TypeAdapter[tuple[Any, ...]] = TypeAdapter(
    tuple[str, str, tuple[str, ...], int, _Place, int, str]
    | tuple[str, str, tuple[str, ...], int, _Place, str]
    | tuple[str, str, _Place, int],
    config=ConfigDict(strict=True, defer_build=True),
)


def partition_of(collection: str, *, partitions: int) -> int:
    """Return the partition of the partials topic that holds a collection.

    It is a single one, so that a collection has one merge at a time.
    """
    return zlib.crc32(collection.encode()) % partitions


def encode(record: MergeRecord | Saved, *, writer: str) -> tuple[bytes, bytes]:
    """Encode a record as its key and value.

    Equal records have equal values, and a record replaces those with the same key. On the wire, a generation is
    called an epoch.

    writer: name of one ownership of the source partition.
    """
    header = {
        "collection": record.collection,
        "fingerprint": record.fingerprint,
        **({"region": record.region} if record.region else {}),
        **record.header,
    }
    return _json(record.key(writer=writer)), _json(header) + _SEPARATOR + record.payload


def decode(value: bytes) -> MergeRecord | Saved:
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
        "region": header.region,
    }
    if "cut_off" in header.model_fields_set:
        return CutOff(**source, time_ms=header.cut_off, passed=header.passed)
    known, needed = header.model_fields_set, {"partition", "epoch"}
    if "watermark" not in known and not header.saved:
        needed |= {"pane", "end"} | (set() if header.parts else {"of", "segment", "statistic"})
    if missing := needed - known:
        raise PartialError(f"not a partial of this release: its header has no {', '.join(sorted(missing))}")
    source |= {"partition": header.partition, "generation": header.epoch}
    if "watermark" in known:
        topic = TopicIdentity(id=header.topic, partitions=header.partitions)
        return Watermark(**source, time_ms=header.watermark, topic=topic, file=header.file)
    if header.saved:
        return Saved(**source, sort=header.saved, payload=payload)
    pane_ms, pane_length_ms = header.pane
    source |= {"pane_ms": pane_ms, "pane_length_ms": pane_length_ms, "end": header.end}
    try:
        if not header.parts:
            counts = _STATISTICS[header.statistic].from_bytes(payload)
            return Partial(**source, of=header.of, segment=header.segment, counts=counts)
        return PartialGroup(tuple(_parts(header.parts, payload, source)))
    except (ValueError, KeyError, IndexError, struct.error) as error:
        raise PartialError(f"not a partial of this release: {problem_of(error)}") from error


def _parts(
    parts: Sequence[tuple[tuple[str, ...], str]], payload: bytes, source: Mapping[str, Any]
) -> Iterator[Partial]:
    """Cut the partials of a group from its payload."""
    end = 0
    for of, name in parts:
        begin = end + _LENGTH.size
        (length,) = _LENGTH.unpack_from(payload, end)
        end = begin + length
        yield Partial(**source, of=of, segment=0, counts=_STATISTICS[name].from_bytes(payload[begin:end]))
    if end != len(payload):
        raise ValueError(f"{len(payload)} bytes, and its parts have {end}")


def decode_key(key: bytes | None) -> PartialKey | None:
    """Decode a record key that `encode` has made; None for any other, and for what no merge needs."""
    try:
        match _KEYS.validate_json(key or b""):
            case ("partial", collection, _, pane_ms, place, _, writer) | (
                "partials",
                collection,
                _,
                pane_ms,
                place,
                writer,
            ):
                return PartialKey(collection=collection, source=source_of(place), pane_ms=pane_ms, writer=writer)
            case ("watermark", collection, place, generation):
                return PartialKey(collection=collection, source=source_of(place), generation=generation)
    except ValueError:
        pass
    return None


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
