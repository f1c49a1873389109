"""What ingest says to the merge: partial statistics and watermarks, as records of the partials topic.

A partial is a pure function of a prefix of one source partition, so a later one of the same key replaces an
earlier one, whoever wrote it; nothing is ever added twice. The key names the writer, so that compaction never drops
a record for an older one that a delayed worker wrote after it.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

from stream_ldp.statistics import RowCounts

__all__ = ["Partial", "PartialError", "Watermark", "decode", "encode"]

_SEPARATOR = b"\n"  # between the JSON header, which holds none, and the statistic


class PartialError(ValueError):
    """A record of a partials topic that this release cannot read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Partial:
    """The statistic of one pane, from one source partition.

    fingerprint: the collection's, hexadecimal.
    partition: the source partition.
    pane_ms, pane_length_ms: start and length of the pane, event time in milliseconds.
    of: the attributes whose rows are counted.
    segment: which piece of the statistic this is.
    end: it covers all of the partition before this offset.
    """

    fingerprint: str
    partition: int
    pane_ms: int
    pane_length_ms: int
    of: tuple[str, ...]
    segment: int
    end: int
    counts: RowCounts


@dataclass(frozen=True, kw_only=True, slots=True)
class Watermark:
    """A promise of a source partition's owner: every partial of the panes closed by `time_ms` is on the log.

    fingerprint: the collection's, hexadecimal.
    partition: the source partition.
    time_ms: event time, in milliseconds.
    """

    fingerprint: str
    partition: int
    time_ms: int


def encode(record: Partial | Watermark, *, writer: str) -> tuple[bytes, bytes]:
    """Key and value of a record; equal records have equal values, and a record replaces those of its key.

    writer: names one ownership of the source partition.
    """
    header: dict[str, Any]
    if isinstance(record, Watermark):
        header = {"fingerprint": record.fingerprint, "partition": record.partition, "watermark": record.time_ms}
        return _json(["watermark", record.partition, writer]), _json(header) + _SEPARATOR
    header = {
        "fingerprint": record.fingerprint,
        "partition": record.partition,
        "pane": [record.pane_ms, record.pane_length_ms],
        "of": record.of,
        "segment": record.segment,
        "end": record.end,
    }
    key = _json([record.of, record.pane_ms, record.partition, record.segment, writer])
    return key, _json(header) + _SEPARATOR + record.counts.to_bytes()


def decode(value: bytes) -> Partial | Watermark:
    """The inverse of `encode`.

    Raises:
        PartialError: not such a record.
    """
    try:
        text, _, payload = value.partition(_SEPARATOR)
        header = json.loads(text)
        if "watermark" in header:
            return Watermark(
                fingerprint=header["fingerprint"], partition=header["partition"], time_ms=header["watermark"]
            )
        return Partial(
            fingerprint=header["fingerprint"],
            partition=header["partition"],
            pane_ms=header["pane"][0],
            pane_length_ms=header["pane"][1],
            of=tuple(header["of"]),
            segment=header["segment"],
            end=header["end"],
            counts=RowCounts.from_bytes(payload),
        )
    except (ValueError, KeyError, TypeError, IndexError, struct.error) as error:
        raise PartialError(f"not a partial of this release: {error!r}") from error


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
