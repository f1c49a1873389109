"""What ingest says to the merge: partial statistics and watermarks, as records of the partials topic.

A partial is a pure function of a prefix of one source partition and of the idle advances that its owner knows, so the
furthest one of the latest owner replaces all others; nothing is ever added twice. The key names the writer, so that
compaction never drops a record for an older one that a delayed worker wrote after it.
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

    collection, fingerprint: whose reports; the fingerprint in hexadecimal.
    partition: the source partition.
    generation: of the ownership that counted it; see `stream_ldp.pipeline.source_partition.Checkpoint`.
    pane_ms, pane_length_ms: start and length of the pane, event time in milliseconds.
    of: what is counted: the attributes whose rows, or the phase whose answers, and to which round.
    segment: which piece of the statistic this is.
    end: it covers all of the partition before this offset.
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

    collection, fingerprint: whose reports; the fingerprint in hexadecimal.
    partition: the source partition.
    generation: of the ownership that committed it.
    time_ms: event time, in milliseconds.
    """

    collection: str
    fingerprint: str
    partition: int
    generation: int
    time_ms: int


def partition_of(collection: str, *, partitions: int) -> int:
    """The partition of the partials topic that holds a collection: one, so that it has one merge at a time."""
    return zlib.crc32(collection.encode()) % partitions


def encode(record: Partial | Watermark, *, writer: str) -> tuple[bytes, bytes]:
    """Key and value of a record; equal records have equal values, and a record replaces those of its key.

    A generation is called an epoch there.

    writer: names one ownership of the source partition.
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
    """The inverse of `encode`.

    Raises:
        PartialError: not such a record.
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
