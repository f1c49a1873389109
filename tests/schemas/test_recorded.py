"""A release reads what it and earlier ones write to any topic, as tests/golden/messages has it."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from stream_ldp.kafka.registry import Registration
from stream_ldp.kinds import KINDS, kind_of, parse_collection
from stream_ldp.pipeline import partials, wire
from stream_ldp.pipeline.answer import final_of
from stream_ldp.service.dead_letters import DeadLetter
from stream_ldp.synthesis.chunk import SyntheticChunk
from tests.schemas.recorded import COLLECTIONS, Recorded, record, recorded, versions


def read(each: Recorded, *, rounds: list[Any]) -> None:
    """Read a record as the service reads it; `rounds` are those of its collection."""
    collection = parse_collection(COLLECTIONS[each.kind])
    kind = kind_of(collection)
    match each.topic:
        case "collections":
            assert Registration.from_record(each.key, each.value).fingerprint == collection.fingerprint
        case "reports":
            layouts = [kind.layout(collection), *rounds]
            decoded = wire.decode([each.value], formats={layout.fingerprint: layout for layout in layouts})
            assert not decoded.rejected, decoded.rejected
        case "rounds":
            assert kind.rounds is not None
            assert kind.rounds.read(collection, each.value).key == each.key
        case "records":
            assert SyntheticChunk.from_bytes(each.value).key == each.key
        case "partials":
            assert partials.decode_key(each.key) is not None
            assert partials.decode(each.value).collection == collection.name
        case "dead-letters":
            found: Any = SimpleNamespace(offset=0, timestamp=0, value=each.value, headers=each.headers)
            assert DeadLetter.of(found).topic.endswith(f"{collection.name}.reports")
        case _:
            answer = kind.answer.from_bytes(each.value)
            assert answer.key == each.key
            assert final_of(each.key) == (answer.series, answer.window.start_ms)


def read_all(records: tuple[Recorded, ...]) -> None:
    films = parse_collection(COLLECTIONS["sets"])
    of_rounds = KINDS["sets"].rounds
    assert of_rounds is not None
    rounds = [
        of_rounds.layout(films, of_rounds.read(films, each.value)) for each in records if each.topic == "rounds"
    ]
    for each in records:
        read(each, rounds=rounds if each.kind == "sets" else [])


@pytest.mark.parametrize("version", versions())
def test_what_a_release_wrote_is_read(version: str) -> None:
    read_all(recorded(version))


def test_the_last_version_has_a_record_of_every_topic_of_every_kind() -> None:
    found = {(each.kind, each.topic) for each in recorded(versions()[-1])}
    for name, kind in KINDS.items():
        topics = {"collections", "partials", "reports", "dead-letters", kind.collection.topics.answers}
        topics |= ({"rounds"} if kind.rounds else set()) | ({"records"} if name == "records" else set())
        assert {topic for of, topic in found if of == name} == topics


async def test_records_keep_their_keys_headers_and_fields() -> None:
    """When this fails, record the messages of this version beside the others, as docs/wire.md says."""
    written = tuple([each for kind in COLLECTIONS for each in await record(kind)])
    read_all(written)
    last = recorded(versions()[-1])
    assert shapes(written) == shapes(last)


def shapes(records: tuple[Recorded, ...]) -> set[tuple[Any, ...]]:
    """Return what can be seen of the forms of records: kinds, topics, names of headers, and fields in any order."""
    return {
        (each.kind, each.topic, tuple(name for name, _ in each.headers), tuple(fields_of(each.value)))
        for each in records
    }


def fields_of(value: bytes) -> list[str]:
    try:
        document, _ = json.JSONDecoder().raw_decode(value.decode(errors="replace"))
    except ValueError:
        return []
    return sorted(document)
