"""Tests that a compressed batch expands as far as it may and no further, in aiokafka's own parser too."""

import gzip
import importlib
import struct
import sys
import tracemalloc
from collections.abc import Callable
from functools import cache

import cramjam
import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.record.legacy_records import LegacyRecordBatch

from stream_ldp.kafka.decompression import DECODERS, MAX_EXPANDED_BYTES, ExpandsTooFar, turn_of

# Every reader of ours imports it, and so has the limit.
importlib.import_module("stream_ldp.kafka.unreadable")


def xerial(data: bytes) -> bytes:
    """Compress in blocks of 32 MB, as Java's library does in smaller ones."""
    blocks = [bytes(cramjam.snappy.compress_raw(data[at : at + 2**25])) for at in range(0, len(data), 2**25)]
    head = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    return head + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


ENCODERS: dict[str, list[Callable[[bytes], bytes]]] = {
    "gzip": [gzip.compress, lambda data: gzip.compress(data[:1]) + gzip.compress(data[1:])],
    "snappy": [lambda data: bytes(cramjam.snappy.compress_raw(data)), xerial],
    "lz4": [lambda data: bytes(cramjam.lz4.compress(data))],
    "zstd": [lambda data: bytes(cramjam.zstd.compress(data))],
}


@cache
def bomb(name: str) -> bytes:
    """Make few bytes of one form of a codec, which expand to one byte too many."""
    return ENCODERS[name][-1](bytes(MAX_EXPANDED_BYTES + 1))


@pytest.mark.parametrize("name", DECODERS)
def test_what_was_compressed_comes_back(name: str) -> None:
    for encode in ENCODERS[name]:
        for data in (b"a", bytes(range(256)) * 400):
            assert DECODERS[name](encode(data)) == data
            assert DECODERS[name](memoryview(encode(data))) == data


@pytest.mark.parametrize("name", DECODERS)
def test_what_expands_too_far_is_refused_without_the_memory(name: str) -> None:
    compressed = bomb(name)
    tracemalloc.start()
    try:
        with pytest.raises(ExpandsTooFar, match="it expands to more than 32 MB"):
            DECODERS[name](compressed)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2.5 * MAX_EXPANDED_BYTES
    if name != "gzip":
        with pytest.raises(cramjam.DecompressionError):
            DECODERS[name](b"\xff neither this nor that")


@pytest.mark.parametrize(("name", "number"), [("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)])
def test_consumers_expand_batches_by_the_same_decoders(name: str, number: int) -> None:
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 2**20)
    builder.append(0, 1_700_000_000_000, b"key", b"value", [])
    plain = bytes(builder.build())
    expanding = plain[:21] + struct.pack(">h", number) + plain[23:61] + bomb(name)
    with pytest.raises(ExpandsTooFar):
        list(DefaultRecordBatch(bytearray(expanding)))


def test_batches_of_the_old_format_are_limited_likewise() -> None:
    module = sys.modules[LegacyRecordBatch.__module__]
    assert module.zstd_decode is DECODERS["zstd"]


@pytest.mark.parametrize("name", ["gzip", "snappy"])
def test_empty_parts_spend_a_turn_although_they_expand_to_nothing(name: str) -> None:
    block = bytes(cramjam.snappy.compress_raw(b""))
    head, part = {
        "gzip": (b"", gzip.compress(b"")),
        "snappy": (xerial(b""), struct.pack(">i", len(block)) + block),
    }[name]
    with turn_of(2**18) as turn:
        assert DECODERS[name](head + part * 1_000) == b""
        assert not turn.spent
        assert DECODERS[name](head + part * 2_000) == b""
        assert turn.spent
