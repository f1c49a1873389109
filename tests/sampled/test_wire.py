"""The wire format of sampled collections, with a client written from docs/wire.md, section 17, alone.

It uses nothing of the package but the collection's own fingerprint text, and makes each decision bit by bit.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Iterator
from itertools import accumulate, combinations
from typing import Any

import numpy as np
import pytest

from stream_ldp.collection import fingerprint_of
from stream_ldp.sampled.collection import SampledCollection
from stream_ldp.sampled.permanent import permanent_answers
from tests.paths import GOLDEN

TEXT = """
collection: habits
mechanism: {{kind: sampled, {mechanism}}}
attributes:
{attributes}
window: {{size: 10s}}
"""
ATTRIBUTES = [
    "{name: diet, values: [meat, fish, plants, milk, eggs]}",
    "{name: sleep, range: [0, 24]}",
    "{name: site, candidates: [a.example, b.example]}",
    "{name: steps, range: [-10, 10]}",
]

MECHANISMS = [
    "epsilon: 1, oracle: k-rr",
    "epsilon: 1, oracle: k-subset",
    "epsilon: 2, oracle: hadamard, hash_bits: 2, mean: harmony-mean",
    "epsilon: 2, oracle: rappor, mean: mean-est",
    "epsilon: 3, oracle: o-rappor, cohorts: 3",
    "epsilon: 3, oracle: o-rr, cohorts: 3",
    "epsilon: 3, oracle: rappor, hashes: 2, p: 0.25, q: 0.75, cohorts: 3",
    "epsilon: 3, oracle: k-rr, per_report: 1",
    "oracle: channel, table: [[0.5, 0.5], [0.7, 0.3], [0.1, 0.9], [0.2, 0.8], [0.9, 0.1]]",
]
USERS = [("fish", 7.25, "a.example", -3.0), ("meat", 0.0, "b.example", 10.0), ("eggs", 23.5, "Zürich", 0.125)]


def collection_of(mechanism: str) -> SampledCollection:
    """A channel is for values alone, and so are answers that are remembered and perturbed again."""
    attributes = ATTRIBUTES[:1] if "channel" in mechanism or "per_report" in mechanism else ATTRIBUTES
    listed = "\n".join(f"  - {each}" for each in attributes)
    return SampledCollection.parse(TEXT.format(mechanism=mechanism, attributes=listed))


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


def direct(words: Iterator[int], value: int, choices: int, kept: int) -> int:
    return value if next(words) < kept else (value + 1 + uniform(words, choices - 1)) % choices


def width(n: int) -> int:
    return max(1, (n - 1).bit_length())


def answer(kind: str, parameters: list[int], value: int, words: Iterator[int]) -> tuple[int, int]:
    """The row as a number, and its bits."""
    if kind == "direct":
        choices, _, kept = parameters
        return direct(words, value, choices, kept), width(choices)
    if kind == "repeated":
        # What is remembered; the words of its fresh perturbation are nobody's but the report's.
        choices, kept, _ = parameters
        return direct(words, value, choices, kept), width(choices)
    if kind == "hadamard":
        size, signs, kept = parameters
        rows = [uniform(words, 2 ** width(size)) for _ in range(signs)]
        code = sum(((row & value).bit_count() & 1) << bit for bit, row in enumerate(rows))
        fields = [*rows, direct(words, code, 2**signs, kept)]
        return sum(field << place * width(size) for place, field in enumerate(fields)), signs * width(size) + signs
    if kind == "unary":
        size, kept = parameters
        return sum(((bit == value) ^ (next(words) >= kept)) << bit for bit in range(size)), size
    if kind == "k-subset":
        size, members, kept = parameters
        others = [each for each in range(size) if each != value]
        holds_own = next(words) < kept
        chosen = {value} if holds_own else set()
        for step in range(size - members if holds_own else size - 1 - members, size - 1):
            drawn = others[uniform(words, step + 1)]
            chosen.add(others[step] if drawn in chosen else drawn)
        return sum(1 << each for each in chosen), size
    if kind == "piecewise":
        steps, plateau, kept = parameters
        if next(words) < kept:
            return value + uniform(words, plateau), width(steps + plateau)
        drawn = uniform(words, steps)
        return drawn + (plateau if drawn >= value else 0), width(steps + plateau)
    if kind == "bloom":
        size, hashes, kept, _, _ = parameters
        held = {value // size**place % size for place in range(hashes)}
        return sum(((bit in held) ^ (next(words) >= kept)) << bit for bit in range(size)), size
    if kind == "channel":
        _, outputs, *table = parameters
        word = next(words)
        ends = accumulate(table[value * outputs : (value + 1) * outputs])
        return next(output for output, end in enumerate(ends) if word < end), width(outputs)
    signs, kept = parameters
    near = next(words) < kept
    sides = [each for each in range(signs + 1) if (2 * each > signs) == near]
    places = [
        sum(1 << place for place in chosen)
        for count in sides
        for chosen in sorted(combinations(range(signs), count), key=lambda each: each[::-1])
    ]
    agreeing = places[uniform(words, len(places))]
    return value ^ agreeing ^ (2**signs - 1), signs


def rounded(words: Iterator[int], number: float, bounds: list[float], steps: int) -> int:
    position = ((number - bounds[0]) / (bounds[1] - bounds[0]) * 2 - 1 + 1) / 2 * steps
    below = min(math.floor(position), steps - 1)
    return below + (next(words) < round((position - below) * 2**32))


def report_of(meaning: list[Any], secret: bytes, user: tuple[Any, ...]) -> bytes:
    """The row that a user sends for ever, from the fingerprint's text alone."""
    _, _, attributes, questions, ends = meaning
    fingerprint = hashlib.sha256(json.dumps(meaning, ensure_ascii=False, separators=(",", ":")).encode()).digest()[
        :16
    ]
    (word,) = struct.unpack(
        "<I", hashlib.blake2b(fingerprint, key=secret, person=b"stream-ldp qst 1", digest_size=4).digest()
    )
    number = next(place for place, end in enumerate(ends) if word < end)
    of, kind, parameters, *cohort = questions[number]
    held = b""
    for place in of:
        domain = attributes[place][1]
        if domain is None:
            held += hashlib.sha256(user[place].encode()).digest()
        elif isinstance(domain[0], str):
            held += struct.pack("<q", domain.index(user[place]))
        else:
            held += struct.pack("<d", user[place])
    words = words_of(secret, fingerprint + struct.pack("<H", number) + held)
    if cohort:
        size, hashes = parameters[0], parameters[1] if kind == "bloom" else 1
        numbers = [struct.pack("<I", hashes * cohort[0] + place) for place in range(hashes)]
        digests = [hashlib.blake2b(each + user[of[0]].encode(), digest_size=8).digest() for each in numbers]
        buckets = [int.from_bytes(each, "little") % size for each in digests]
        value = sum(bucket * size**place for place, bucket in enumerate(buckets))
    elif kind == "piecewise":
        value = rounded(words, user[of[0]], attributes[of[0]][1], parameters[0])
    elif kind == "mean-est":
        value = sum(rounded(words, user[at], attributes[at][1], 1) << bit for bit, at in enumerate(of))
    else:
        value = 0
        for at in of:
            value = value * len(attributes[at][1]) + attributes[at][1].index(user[at])
    row, bits = answer(kind, parameters, value, words)
    number_bytes = 0 if len(questions) == 1 else 1 if len(questions) <= 256 else 2
    longest = max(answer(each[1], each[2], 0, iter(lambda: 0, 1))[1] for each in questions)
    assert bits <= longest
    return number.to_bytes(number_bytes, "little") + row.to_bytes(-(-longest // 8), "little")


def secrets() -> list[bytes]:
    return [hashlib.sha256(bytes([number])).digest() for number in range(40)]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_client_written_from_the_specification_sends_the_same_rows(mechanism: str) -> None:
    collection = collection_of(mechanism)
    meaning = json.loads(json.dumps(collection._meaning))
    assert fingerprint_of(meaning) == collection.fingerprint
    for user in USERS:
        record = {each.name: str(held) for each, held in zip(collection.attributes, user, strict=False)}
        table = collection.table([collection.encode(record)] * 40)
        rows = permanent_answers(collection, table, secrets=secrets())
        assert [row.tobytes() for row in rows] == [report_of(meaning, secret, user) for secret in secrets()]
    assert len(np.unique(rows, axis=0)) > (1 if "channel" in mechanism or "per_report" in mechanism else 5)


def test_the_rows_never_change() -> None:
    vectors = json.loads((GOLDEN / "sampled.json").read_text(encoding="utf-8"))
    assert [each["mechanism"] for each in vectors] == MECHANISMS
    for each in vectors:
        collection = collection_of(each["mechanism"])
        assert collection.fingerprint.hex() == each["fingerprint"]
        for user, rows in zip(USERS, each["rows"], strict=True):
            meaning = json.loads(json.dumps(collection._meaning))
            assert [report_of(meaning, secret, user).hex() for secret in secrets()[:8]] == rows


if __name__ == "__main__":
    written = []
    for name in MECHANISMS:
        meant = json.loads(json.dumps(collection_of(name)._meaning))
        written.append(
            {
                "mechanism": name,
                "fingerprint": fingerprint_of(meant).hex(),
                "rows": [[report_of(meant, secret, user).hex() for secret in secrets()[:8]] for user in USERS],
            }
        )
    (GOLDEN / "sampled.json").write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
