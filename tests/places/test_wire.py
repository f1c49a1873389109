"""The wire format of collections of places, with a client written from docs/wire.md, section 19, alone.

It uses nothing of the package but the collection's own fingerprint text, and makes each decision bit by bit.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import pytest

from stream_ldp.collection import fingerprint_of
from stream_ldp.places.collection import PlaceCollection
from stream_ldp.sampled.permanent import permanent_answers
from tests.paths import GOLDEN, REPOSITORY
from tests.sampled.test_wire import answer, width, words_of

FILES = [
    "{kind: places, epsilon: [0.5, 2]}\nplaces: {north: [a, b], south: [c, d, e]}",
    "{kind: places, epsilon: [1], oracle: hadamard}\nlevels: [2, 3, 2]",
]
PEOPLE = [
    [("d", "south", "2"), ("d", "everywhere", "2"), ("a", "north", "0.5")],
    [("0.0.0", "everywhere", "1"), ("1.2.1", "1", "1"), ("1.2.1", "1.2", "1")],
]
SECRET = bytes(range(32))


def collection_of(file: str) -> PlaceCollection:
    return PlaceCollection.parse(f"collection: visits\nmechanism: {file}\nwindow: {{size: 10s}}\n")


def report_of(meaning: list[Any], secret: bytes, place: str, run: tuple[int, int], epsilon: int, of: int) -> bytes:
    """The row that a user sends for ever, from the fingerprint's text and the user's run of places alone.

    epsilon, of: the user's epsilon by number, and how many there are.
    """
    _, _, places, questions = meaning
    text = json.dumps(meaning, ensure_ascii=False, separators=(",", ":"))
    fingerprint = hashlib.sha256(text.encode()).digest()[:16]
    region = [tuple(each[:2]) for each in questions[::of]].index(run)
    number = region * of + epsilon
    first, _, kind, parameters = questions[number]
    held = places.index(place)
    words = words_of(secret, fingerprint + struct.pack("<Hq", number, held))
    row, _ = answer(kind, parameters, held - first, words)
    longest = max(answer(each[2], each[3], 0, iter(lambda: 0, 1))[1] for each in questions)
    assert len(questions) <= 256
    assert width(2) == 1
    return bytes([number]) + row.to_bytes(-(-longest // 8), "little")


def rows_of(file: str, people: list[tuple[str, str, str]], secret: bytes) -> list[bytes]:
    collection = collection_of(file)
    runs = {each.name: (each.first, each.end) for each in collection.tree.regions}
    epsilons = list(collection.mechanism_spec.epsilon)
    meaning = json.loads(json.dumps(collection._meaning))
    return [
        report_of(meaning, secret, place, runs[region], epsilons.index(float(epsilon)), len(epsilons))
        for place, region, epsilon in people
    ]


@pytest.mark.parametrize(("file", "people"), [*zip(FILES, PEOPLE, strict=True)])
def test_a_client_written_from_the_specification_sends_the_same_rows(
    file: str, people: list[tuple[str, str, str]]
) -> None:
    collection = collection_of(file)
    assert fingerprint_of(json.loads(json.dumps(collection._meaning))) == collection.fingerprint
    table = collection.table(
        [collection.encode({"place": place, "region": region, "epsilon": own}) for place, region, own in people]
    )
    for number in range(20):
        secret = hashlib.sha256(bytes([number])).digest()
        rows = permanent_answers(collection, table, secrets=[secret] * len(people), numbers=collection.chosen(table))
        assert [row.tobytes() for row in rows] == rows_of(file, people, secret)


def test_the_rows_never_change() -> None:
    vectors = json.loads((GOLDEN / "places.json").read_text(encoding="utf-8"))
    assert vectors == golden()


def test_the_example_of_the_specification_is_that_of_its_client() -> None:
    collection = collection_of(FILES[0])
    text = (REPOSITORY / "docs" / "wire.md").read_text(encoding="utf-8")
    first, second, _ = rows_of(FILES[0], PEOPLE[0], SECRET)
    meaning = json.dumps(collection._meaning, ensure_ascii=False, separators=(",", ":"))
    for shown in (meaning, f"`{collection.fingerprint.hex()}`", f"`{first.hex()}`", f"`{second.hex()}`"):
        assert shown in text


def golden() -> list[dict[str, Any]]:
    return [
        {
            "file": file,
            "fingerprint": collection_of(file).fingerprint.hex(),
            "rows": [
                [row.hex() for row in rows_of(file, people, hashlib.sha256(bytes([number])).digest())]
                for number in range(8)
            ],
        }
        for file, people in zip(FILES, PEOPLE, strict=True)
    ]


if __name__ == "__main__":
    (GOLDEN / "places.json").write_text(json.dumps(golden(), indent=1) + "\n", encoding="utf-8")
