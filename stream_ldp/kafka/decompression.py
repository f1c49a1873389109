"""Limit how much compressed batches of records may expand to, one by one and in one turn of a reader.

Kafka limits the bytes of a batch as it is sent: a megabyte of zstd can hold 30 GB of zeros, in one batch or in
thousands. The codecs of aiokafka expand whatever they get, so a megabyte of any client with write access would end
every worker, again at every restart.
"""

import gzip
import io
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import cramjam
import numpy as np
from aiokafka.record import default_records, legacy_records

from stream_ldp.errors import StreamLDPError

#: Most bytes of a batch of records, expanded: two of the largest records that workers and registries write.
MAX_EXPANDED_BYTES = 32 * 2**20

#: The same of a batch of reports: four times what brokers take by default. It is a constant and no setting, since
#: whether a batch counts must be the same for all workers, and for those that count it again later.
MAX_EXPANDED_REPORTS_BYTES = 4 * 2**20

#: Bytes that each block of snappy and each member of gzip counts as, beside its content: so many are expanded and
#: parsed in the 2 to 5 us that it takes by itself. A megabyte can hold 200,000 empty ones.
_PART_BYTES = 128

_GZIP_MEMBER = b"\x1f\x8b\x08"
_XERIAL_HEADER = b"\x82SNAPPY\x00"
_XERIAL_BYTES = 16
_WHOLE_BUFFER = "failed to write whole buffer"


class ExpandsTooFar(StreamLDPError, ValueError):
    """A compressed batch has more content than a batch may have.

    most: the most bytes that it may have.
    """

    def __init__(self, most: int) -> None:
        super().__init__(f"it expands to more than {most >> 20} MB")


@dataclass(kw_only=True, slots=True)
class Turn:
    """What the compressed batches of one turn of a reader expand to, in bytes.

    most: of one batch. A turn begins with no further batch once it has expanded as much in all.
    expanded: so far; a batch that cannot be expanded counts as one of the most bytes, and each of its parts as 128.
    """

    most: int
    expanded: int = 0

    @property
    def spent(self) -> bool:
        """Whether the batches that are left have to wait for the next turn."""
        return self.expanded >= self.most


_TURN: ContextVar[Turn | None] = ContextVar("turn", default=None)


@contextmanager
def turn_of(most: int) -> Iterator[Turn]:
    """Let the batches that are parsed within the block share a turn; see `Turn`.

    Without a turn, each batch has MAX_EXPANDED_BYTES of its own.
    """
    turn = Turn(most=most)
    token = _TURN.set(turn)
    try:
        yield turn
    finally:
        _TURN.reset(token)


def turn_under_way() -> Turn:
    """Return the turn under way, or one for a single batch."""
    return _TURN.get() or Turn(most=MAX_EXPANDED_BYTES)


def _counted(decode: Callable[[Any, int], bytes]) -> Callable[[Any], bytes]:
    """Let a decoder, which takes the most bytes to expand to, draw on the turn under way."""

    def expand(payload: Any) -> bytes:
        turn = turn_under_way()
        try:
            content = decode(payload, turn.most)
        except Exception:
            # It may have been expanded almost to the end before it failed.
            turn.expanded += turn.most
            raise
        turn.expanded += len(content)
        return content

    return expand


def _gzip(payload: Any, most: int) -> bytes:
    data = bytes(payload)
    # Among other bytes, its first ones are in one place of 16 million.
    turn_under_way().expanded += _PART_BYTES * data.count(_GZIP_MEMBER)
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ExpandsTooFar(most)
    return content


def _snappy(payload: Any, most: int) -> bytes:
    data = memoryview(payload)
    if data[: len(_XERIAL_HEADER)] != _XERIAL_HEADER:
        return _snappy_blocks([data], most)
    blocks, place = [], _XERIAL_BYTES
    while place < len(data):
        (length,) = struct.unpack_from(">I", data, place)
        blocks.append(data[place + 4 : place + 4 + length])
        place += 4 + length
    return _snappy_blocks(blocks, most)


def _snappy_blocks(blocks: list[memoryview], most: int) -> bytes:
    turn_under_way().expanded += _PART_BYTES * len(blocks)
    # A block says how long its content is, and has not more.
    if sum(cramjam.snappy.decompress_raw_len(block) for block in blocks) > most:
        raise ExpandsTooFar(most)
    return b"".join(bytes(cramjam.snappy.decompress_raw(block)) for block in blocks)


def _into_buffer(decompress_into: Callable[[Any, Any], int]) -> Callable[[Any, int], bytes]:
    def decode(payload: Any, most: int) -> bytes:
        # Memory that nothing is written to is never taken.
        buffer = np.empty(most, dtype=np.uint8)
        try:
            length = decompress_into(payload, buffer)
        except cramjam.DecompressionError as error:
            if _WHOLE_BUFFER in str(error):
                raise ExpandsTooFar(most) from None
            raise
        return buffer[:length].tobytes()

    return decode


#: By the name of the codec: what expands a batch, and raises ExpandsTooFar rather than expand it too far.
DECODERS: dict[str, Callable[[Any], bytes]] = {
    "gzip": _counted(_gzip),
    "snappy": _counted(_snappy),
    "lz4": _counted(_into_buffer(cramjam.lz4.decompress_into)),
    "zstd": _counted(_into_buffer(cramjam.zstd.decompress_into)),
}


def limit_aiokafka() -> None:
    """Let the consumers of aiokafka expand batches by DECODERS.

    It offers no setting for it, and its parsers, those in C as well, look their codecs up in their own modules.
    """
    for batch in (default_records.DefaultRecordBatch, legacy_records.LegacyRecordBatch):
        for name, decode in DECODERS.items():
            setattr(sys.modules[batch.__module__], f"{name}_decode", decode)
