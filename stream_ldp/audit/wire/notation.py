"""Numbers, words and bytes as docs/wire.md writes them: its beginning, and sections 2, 5 and 12."""

import hashlib
import json
import math
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

WHOLE = 2**32
UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

Json = Any
Words = Iterator[int]


class Unspecified(ValueError):
    """Something is not as docs/wire.md allows it."""


def number(written: str | float) -> float:
    """Read a number of a collection file, where every scalar may be text."""
    if not isinstance(written, str):
        return written
    return int(written) if re.fullmatch(r"-?\d+", written) else float(written)


def is_true(written: str | bool) -> bool:
    """Read a yes or no of a collection file."""
    return str(written).lower() in ("true", "yes", "on", "y")


def duration_ms(text: str | int) -> int:
    """Read a duration; the registered form of a file has milliseconds."""
    if isinstance(text, int) or text.isdecimal():
        return int(text)
    count, unit = re.fullmatch(r"(\d+)\s*(ms|s|m|h|d)", text).groups()  # type: ignore[union-attr]
    return int(count) * UNITS_MS[unit]


def exact(number: float) -> Decimal:
    return Decimal(number)


def e_to(power: float | Decimal) -> Decimal:
    return Decimal(power).exp()


def floored(number: Decimal) -> int:
    return math.floor(number)


def threshold(probability: float) -> int:
    """Round x · 2^32 to the nearest integer, halves to even."""
    return round(probability * WHOLE)


def keyed(secret: bytes, person: str, data: bytes, length: int) -> bytes:
    return hashlib.blake2b(data, key=secret, person=person.encode(), digest_size=length).digest()


def word_of(digest: bytes) -> int:
    return int.from_bytes(digest, "little")


def words_of(secret: bytes, person: str, data: bytes) -> Words:
    """Words of consecutive blocks of 64 bytes."""
    block = 0
    while True:
        yield from struct.unpack("<16I", keyed(secret, person, data + struct.pack("<I", block), 64))
        block += 1


def uniform(words: Words, n: int) -> int:
    return next(word for word in words if word < WHOLE - WHOLE % n) % n


def width(n: int) -> int:
    """w(n), section 12."""
    return max(1, (n - 1).bit_length())


def packed(fields: Iterable[tuple[int, int]], *, size: int | None = None) -> bytes:
    """Pack (number, bits) from bit 0 of byte 0, and fill with zeros up to so many bytes."""
    number = bits = 0
    for value, wide in fields:
        number |= value << bits
        bits += wide
    return number.to_bytes(-(-bits // 8) if size is None else size, "little")


def canonical(meaning: Json) -> str:
    return json.dumps(meaning, ensure_ascii=False, separators=(",", ":"))


def fingerprint_of(meaning: str) -> bytes:
    return hashlib.sha256(meaning.encode()).digest()[:16]


def signs_of(rows: Sequence[int], value: int) -> int:
    """The hash of a value: bit i is popcount(j_i AND v) mod 2."""
    return sum(((row & value).bit_count() & 1) << place for place, row in enumerate(rows))
