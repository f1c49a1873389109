"""This module limits how much a compressed batch of records may expand to.

Kafka limits the bytes of a batch as it is sent: a megabyte of zstd can hold 30 GB of zeros. The codecs of aiokafka
expand whatever they get, so one batch of any client with write access would end every worker, again at every restart.
"""

from __future__ import annotations

import gzip
import io
import struct
import sys
from typing import TYPE_CHECKING, Any

import cramjam
import numpy as np
from aiokafka.record import default_records, legacy_records

from stream_ldp.errors import StreamLDPError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DECODERS", "MAX_EXPANDED_BYTES", "ExpandsTooFar", "limit_aiokafka"]

#: Most bytes of a batch of records, expanded: four of our largest records, and sixty of Kafka's default limit.
MAX_EXPANDED_BYTES = 64 * 2**20

_XERIAL_HEADER = b"\x82SNAPPY\x00"
_XERIAL_BYTES = 16
_WHOLE_BUFFER = "failed to write whole buffer"


class ExpandsTooFar(StreamLDPError, ValueError):
    """A compressed batch has more content than a batch may have."""

    def __init__(self) -> None:
        super().__init__(f"it expands to more than {MAX_EXPANDED_BYTES >> 20} MB")


def _gzip(payload: Any) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(payload)) as file:
        content = file.read(MAX_EXPANDED_BYTES + 1)
    if len(content) > MAX_EXPANDED_BYTES:
        raise ExpandsTooFar
    return content


def _snappy(payload: Any) -> bytes:
    data = memoryview(payload)
    if data[: len(_XERIAL_HEADER)] != _XERIAL_HEADER:
        return _snappy_blocks([data])
    blocks, place = [], _XERIAL_BYTES
    while place < len(data):
        (length,) = struct.unpack_from(">I", data, place)
        blocks.append(data[place + 4 : place + 4 + length])
        place += 4 + length
    return _snappy_blocks(blocks)


def _snappy_blocks(blocks: list[memoryview]) -> bytes:
    # A block says how long its content is, and has not more.
    if sum(cramjam.snappy.decompress_raw_len(block) for block in blocks) > MAX_EXPANDED_BYTES:
        raise ExpandsTooFar
    return b"".join(bytes(cramjam.snappy.decompress_raw(block)) for block in blocks)


def _into_buffer(decompress_into: Callable[[Any, Any], int]) -> Callable[[Any], bytes]:
    def decode(payload: Any) -> bytes:
        # Memory that nothing is written to is never taken.
        buffer = np.empty(MAX_EXPANDED_BYTES, dtype=np.uint8)
        try:
            length = decompress_into(payload, buffer)
        except cramjam.DecompressionError as error:
            if _WHOLE_BUFFER in str(error):
                raise ExpandsTooFar from None
            raise
        return buffer[:length].tobytes()

    return decode


#: By the name of the codec: what expands a batch, and raises ExpandsTooFar rather than expand it too far.
DECODERS: dict[str, Callable[[Any], bytes]] = {
    "gzip": _gzip,
    "snappy": _snappy,
    "lz4": _into_buffer(cramjam.lz4.decompress_into),
    "zstd": _into_buffer(cramjam.zstd.decompress_into),
}


def limit_aiokafka() -> None:
    """Let the consumers of aiokafka expand batches by DECODERS.

    It offers no setting for it, and its parsers, those in C as well, look their codecs up in their own modules.
    """
    for batch in (default_records.DefaultRecordBatch, legacy_records.LegacyRecordBatch):
        for name, decode in DECODERS.items():
            setattr(sys.modules[batch.__module__], f"{name}_decode", decode)
