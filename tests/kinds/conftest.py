"""Every kind of the package in turn, and the toy kind of the tests, each with its subject."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_ldp.kinds import KINDS, parse_collection
from stream_ldp.pipeline.kind import Kind
from stream_ldp.testing import KafkaInMemory, kafka_in_memory
from tests.kinds.subjects import SUBJECTS, Subject, rotated_text
from tests.kinds.users import START_MS
from tests.toy import COIN


@pytest.fixture(params=[*KINDS, COIN.name])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kind[Any, Any, Any]:
    """Every kind, with the toy's in the table."""
    monkeypatch.setitem(KINDS, COIN.name, COIN)
    return KINDS[request.param]


@pytest.fixture
def subject(kind: Kind[Any, Any, Any]) -> Subject:
    """Return what the kind is held to; without it, the kind is not done."""
    assert kind.name in SUBJECTS, f"the kind {kind.name!r} has no subject in tests/kinds/subjects.py"
    return SUBJECTS[kind.name]


@pytest.fixture
def collection(subject: Subject) -> Any:
    return parse_collection(subject.text)


@pytest.fixture
def rotated(subject: Subject) -> Any:
    """Return the same collection with turns: each user reports once in three windows, or epochs."""
    return parse_collection(rotated_text(subject))


@pytest.fixture
def memory(collection: Any) -> Iterator[KafkaInMemory]:
    """Connect all clients of the test to a Kafka in memory with the collection's topics."""
    with kafka_in_memory(collection, now_ms=START_MS) as kafka:
        yield kafka


@pytest.fixture
def file(subject: Subject, tmp_path: Path) -> Path:
    """Write the collection's file."""
    path = tmp_path / "collection.yaml"
    path.write_text(subject.text, encoding="utf-8")
    return path
