"""Partial statistics and watermarks: the records of the partials topic, which ingest writes for the merge.

A partial is a pure function of a prefix of one source partition and of the idle advances that its owner knows. So the
furthest one of the latest owner replaces all others, and nothing is ever added twice. The key names the writer, so
that compaction never drops a record in favour of an older one that a delayed worker wrote after it.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from typing import Any

from stream_ldp.errors import StreamLDPError
from stream_ldp.pipeline.statistics import ReportSums, RowCounts, Statistic

__all__ = ["Partial", "PartialError", "Watermark", "decode", "encode", "partition_of"]

_SEPARATOR = b"\n"  # between the JSON header, which holds none, and the statistic

_STATISTICS: dict[str, type[Statistic]] = {"rows": RowCounts, "sums": ReportSums}
_NAMES = {statistic: name for name, statistic in _STATISTICS.items()}


class PartialError(StreamLDPError, ValueError):
    """A record of a partials topic that this release cannot read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Partial:
    """The statistic of one pane, from one source partition.

    collection, fingerprint: name and fingerprint of the collection, the latter in hexadecimal.
    partition: the source partition.
    generation: that of the ownership that counted it; see `stream_ldp.pipeline.source_partition.Checkpoint`.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Watermark:
    """A promise of a source partition's owner: every partial of the panes closed by `time_ms` is on the log.

    collection, fingerprint: name and fingerprint of the collection, the latter in hexadecimal.
    partition: the source partition.
    generation: that of the ownership that committed it.
    time_ms: event time, in milliseconds.
    """

    collection: str
    fingerprint: str
    partition: int
    generation: int
    time_ms: int


def partition_of(collection: str, *, partitions: int) -> int:
    """Return the partition of the partials topic that holds a collection.

    It is a single one, so that a collection has one merge at a time.
    """
    return zlib.crc32(collection.encode()) % partitions


def encode(record: Partial | Watermark, *, writer: str) -> tuple[bytes, bytes]:
    """Encode a record as its key and value.

    Equal records have equal values, and a record replaces those with the same key. On the wire, a generation is
    called an epoch.

    writer: name of one ownership of the source partition.
    """
    header: dict[str, Any] = {
        "collection": record.collection,
        "fingerprint": record.fingerprint,
        "partition": record.partition,
        "epoch": record.generation,
    }
    if isinstance(record, Watermark):
        header["watermark"] = record.time_ms
        key = ["watermark", record.collection, record.partition, record.generation]
        return _json(key), _json(header) + _SEPARATOR
    header |= {
        "pane": [record.pane_ms, record.pane_length_ms],
        "of": record.of,
        "segment": record.segment,
        "end": record.end,
        "statistic": _NAMES[type(record.counts)],
    }
    key = ["partial", record.collection, record.of, record.pane_ms, record.partition, record.segment, writer]
    return _json(key), _json(header) + _SEPARATOR + record.counts.to_bytes()


def decode(value: bytes) -> Partial | Watermark:
    """Decode the value of a record that `encode` has made.

    Raises:
        PartialError: the value is no such record.
    """
    try:
        text, _, payload = value.partition(_SEPARATOR)
        header = json.loads(text)
        source = {name: header[name] for name in ("collection", "fingerprint", "partition")}
        source["generation"] = header["epoch"]
        if "watermark" in header:
            return Watermark(**source, time_ms=header["watermark"])
        pane_ms, pane_length_ms = header["pane"]
        return Partial(
            **source,
            pane_ms=pane_ms,
            pane_length_ms=pane_length_ms,
            of=tuple(header["of"]),
            segment=header["segment"],
            end=header["end"],
            counts=_STATISTICS[header["statistic"]].from_bytes(payload),
        )
    except (ValueError, KeyError, IndexError, TypeError, struct.error) as error:
        raise PartialError(f"not a partial of this release: {error!r}") from error


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
