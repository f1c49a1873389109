"""The wire format of views, with the client of tests/sampled/test_wire.py, written from docs/wire.md alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stream_ldp.collection import fingerprint_of
from stream_ldp.sampled.permanent import asked, permanent_answers
from stream_ldp.views.collection import ViewsCollection
from tests.paths import GOLDEN
from tests.sampled.test_wire import report_of, secrets

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEXT = """
collection: homes
mechanism: {{kind: sampled, {mechanism}}}
attributes:
  - {{name: heating, values: [gas, oil, wood, none]}}
  - {{name: rooms, values: ["1", "2", "3", "4", "5+"]}}
  - {{name: owner, values: [no, yes]}}
  - {{name: garden, values: [no, yes]}}
estimates: [{{name: all, of: [rooms]}}]
window: {{size: 10s}}
"""
MECHANISMS = [
    "epsilon: 1, ask: pairs",
    "epsilon: 3, ask: pairs, oracle: k-rr",
    "epsilon: 2, ask: [[garden, heating, rooms], [owner]], oracle: hadamard",
    "epsilon: 4, ask: auto, users: 5000",
]
USERS = [("gas", "3", "yes", "no"), ("none", "5+", "no", "yes"), ("wood", "1", "no", "no")]


def collection_of(mechanism: str) -> ViewsCollection:
    return ViewsCollection.parse(TEXT.format(mechanism=mechanism))


def meaning_of(collection: ViewsCollection) -> list[Any]:
    found: list[Any] = json.loads(json.dumps(collection._meaning))
    return found


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_client_written_from_the_specification_sends_the_same_rows(mechanism: str) -> None:
    collection = collection_of(mechanism)
    meaning = meaning_of(collection)
    assert fingerprint_of(meaning) == collection.fingerprint
    assert len(set(asked(collection, secrets=secrets()).tolist())) > 1
    for user in USERS:
        record = {each.name: held for each, held in zip(collection.attributes, user, strict=True)}
        table = collection.table([collection.encode(record)] * 40)
        rows = permanent_answers(collection, table, secrets=secrets())
        assert [row.tobytes() for row in rows] == [report_of(meaning, secret, user) for secret in secrets()]


def test_the_rows_never_change() -> None:
    vectors = json.loads((GOLDEN / "views.json").read_text(encoding="utf-8"))
    assert [each["mechanism"] for each in vectors] == MECHANISMS
    for each in vectors:
        collection = collection_of(each["mechanism"])
        assert collection.fingerprint.hex() == each["fingerprint"]
        for user, rows in zip(USERS, each["rows"], strict=True):
            sent = [report_of(meaning_of(collection), secret, user) for secret in secrets()[:8]]
            assert [row.hex() for row in sent] == rows


def test_a_row_about_a_view_that_does_not_exist_is_no_report() -> None:
    questions = collection_of(MECHANISMS[0]).questions
    meaning = meaning_of(collection_of(MECHANISMS[0]))
    row = bytearray(report_of(meaning, secrets()[0], USERS[0]))
    rows = questions.valid(_as_rows([bytes(row), bytes([6, *row[1:]]), bytes([255, *row[1:]])]))
    assert rows.tolist() == [True, False, False]


def test_a_subset_with_another_number_of_members_is_no_report() -> None:
    collection = collection_of("epsilon: 0.5, ask: [[heating, rooms]], oracle: k-subset")
    (question,) = collection.questions.questions
    _, members, _ = question.randomizer.parameters
    right, less = ((1 << count) - 1 for count in (members, members - 1))
    rows = [number.to_bytes(3, "little") for number in (right, less, right << 1 | 1 << 19)]
    assert collection.questions.valid(_as_rows(rows)).tolist() == [True, False, False]


def _as_rows(rows: list[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1)


if __name__ == "__main__":
    written = []
    for name in MECHANISMS:
        meant = meaning_of(collection_of(name))
        written.append(
            {
                "mechanism": name,
                "fingerprint": fingerprint_of(meant).hex(),
                "rows": [[report_of(meant, secret, user).hex() for secret in secrets()[:8]] for user in USERS],
            }
        )
    (GOLDEN / "views.json").write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
