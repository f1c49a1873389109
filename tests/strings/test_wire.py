"""The wire format of collections of strings, with a client written from docs/wire.md, section 18, alone.

It uses nothing of the package but the collection's own fingerprint text, and makes each decision bit by bit.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from stream_ldp.collection import fingerprint_of
from stream_ldp.strings.permanent import permanent_answers
from tests.paths import GOLDEN
from tests.strings.examples import collection_of

FILES = [
    ("epsilon: 2", "length: 6, alphabet: abcdefghijklmnopqrstuvwxyz"),
    ("epsilon: 4.5", "length: 9"),
    ("epsilon: 6, method: rappor-unknown", "length: 5, alphabet: abcn"),
]
STRINGS = [("banana", "fig"), ("Zürich", "a b"), ("banan", "cab")]
MASK = 2**64 - 1


def words_of(secret: bytes, data: bytes) -> Iterator[int]:
    block = 0
    while True:
        digest = hashlib.blake2b(
            data + struct.pack("<I", block), key=secret, person=b"stream-ldp ans 1", digest_size=64
        ).digest()
        yield from struct.unpack("<16I", digest)
        block += 1


def uniform(words: Iterator[int], n: int) -> int:
    return next(word for word in words if word < 2**32 - 2**32 % n) % n


def answer(kind: str, parameters: list[int], value: int, words: Iterator[int]) -> bytes:
    if kind == "direct":
        choices, _, kept = parameters
        sent = value if next(words) < kept else (value + 1 + uniform(words, choices - 1)) % choices
        return sent.to_bytes(-(-max(1, (choices - 1).bit_length()) // 8), "little")
    size, kept = parameters
    bits = sum(((place == value) ^ (next(words) >= kept)) << place for place in range(size))
    return bits.to_bytes(-(-size // 8), "little")


def mixed(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def bucket(symbols: list[int], seed: int, buckets: int) -> int:
    found = 0
    for position, symbol in enumerate(symbols):
        found ^= mixed(seed << 32 | position << 16 | symbol)
    return found >> (64 - (buckets.bit_length() - 1))


def report_of(meaning: list[Any], secret: bytes, string: str) -> bytes:
    """The row that a user sends for ever, from the fingerprint's text alone."""
    _, _, method, (_, alphabet, length), randomizers, questions, ends = meaning
    text = json.dumps(meaning, ensure_ascii=False, separators=(",", ":")).encode()
    fingerprint = hashlib.sha256(text).digest()[:16]
    drawn = hashlib.blake2b(fingerprint, key=secret, person=b"stream-ldp str 1", digest_size=8).digest()
    word, seed = struct.unpack("<II", drawn)
    number = next(place for place, end in enumerate(ends) if word < end)
    letters = list(string.encode()) if alphabet is None else [alphabet.index(each) for each in string]
    symbols = [each + 1 for each in letters] + [0] * (length - len(letters))
    if method == "pem":
        inputs = [bucket(symbols[: questions[number]], seed, randomizers[0][1][0])]
    else:
        m, even = len(alphabet) + 1, [*symbols, 0]
        inputs = [bucket(symbols, seed, 2**7), *(even[2 * i] * m + even[2 * i + 1] for i in questions[number])]
    held = b"".join(struct.pack("<q", each) for each in inputs)
    words = words_of(secret, fingerprint + struct.pack("<H", number) + held)
    rows = [
        answer(kind, parameters, value, words) for (kind, parameters), value in zip(randomizers, inputs, strict=True)
    ]
    return bytes([number]) + struct.pack("<I", seed) + b"".join(rows)


def secrets() -> list[bytes]:
    return [hashlib.sha256(bytes([number])).digest() for number in range(40)]


def meant(mechanism: str, string: str) -> list[Any]:
    meaning: list[Any] = json.loads(json.dumps(collection_of(mechanism, string)._meaning))
    return meaning


@pytest.mark.parametrize(("file", "strings"), [*zip(FILES, STRINGS, strict=True)])
def test_a_client_written_from_the_specification_sends_the_same_rows(
    file: tuple[str, str], strings: tuple[str, ...]
) -> None:
    collection, meaning = collection_of(*file), meant(*file)
    assert fingerprint_of(meaning) == collection.fingerprint
    for string in strings:
        table = collection.table([collection.encode({"word": string})] * 40)
        rows = permanent_answers(collection, table, secrets=secrets())
        assert [row.tobytes() for row in rows] == [report_of(meaning, secret, string) for secret in secrets()]
    assert len(np.unique(rows, axis=0)) > 30


def test_the_rows_never_change() -> None:
    vectors = json.loads((GOLDEN / "strings.json").read_text(encoding="utf-8"))
    assert [(each["mechanism"], each["string"]) for each in vectors] == FILES
    for each in vectors:
        collection = collection_of(each["mechanism"], each["string"])
        assert collection.fingerprint.hex() == each["fingerprint"]
        for string, rows in each["rows"].items():
            table = collection.table([collection.encode({"word": string})] * len(rows))
            found = permanent_answers(collection, table, secrets=secrets()[: len(rows)])
            assert [row.tobytes().hex() for row in found] == rows


if __name__ == "__main__":
    written = []
    for (mechanism, described), told in zip(FILES, STRINGS, strict=True):
        meaning = meant(mechanism, described)
        written.append(
            {
                "mechanism": mechanism,
                "string": described,
                "fingerprint": fingerprint_of(meaning).hex(),
                "rows": {each: [report_of(meaning, secret, each).hex() for secret in secrets()[:8]] for each in told},
            }
        )
    (GOLDEN / "strings.json").write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
