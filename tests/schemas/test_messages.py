"""The published schemas: what a consumer in any language may rely on."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from stream_ldp.kinds import KINDS
from stream_ldp.marginals.answer import Marginals
from stream_ldp.pairs.answer import PairEstimates
from stream_ldp.places.answer import PlaceCounts
from stream_ldp.records.answer import Estimate
from stream_ldp.schemas.messages import MESSAGES, message_schema
from stream_ldp.sets.answer import Ranking
from stream_ldp.sets.rounds import Round
from stream_ldp.strings.answer import StringRanking
from stream_ldp.synthesis.chunk import SyntheticChunk
from tests.client.examples import estimate_of
from tests.client.rankings import films, ranking_of, result_of
from tests.marginals.examples import collection_of, marginals_of, outputs_of
from tests.pairs import examples as pairs
from tests.places import examples as places
from tests.schemas.recorded import COLLECTIONS, record
from tests.strings import examples as strings
from tests.synthesis.examples import chunk_of


def asked(phase: int) -> Round:
    inquiry = films().method.first() if phase == 1 else ranking_of(epoch=7, phase=phase - 1).next_inquiry
    assert inquiry is not None
    return Round.of(films(), inquiry, epoch=7)


EXAMPLES: dict[type[BaseModel], list[BaseModel]] = {
    Estimate: [estimate_of(), estimate_of(final=False)],
    Ranking: [result_of(7), ranking_of(epoch=7, phase=1), result_of(7, final=False)],
    Round: [asked(1), asked(2)],
    Marginals: [marginals_of(collection_of(), 100), marginals_of(collection_of(), 1, final=False), outputs_of(9)],
    PlaceCounts: [
        places.counts_of(places.collection_of(), 100),
        places.counts_of(places.collection_of(), 1, final=False),
    ],
    PairEstimates: [
        pairs.estimates_of(pairs.collection_of(), 100),
        pairs.estimates_of(pairs.collection_of(), 1, final=False),
    ],
    SyntheticChunk: [chunk_of(estimate_of())],
    StringRanking: [
        strings.ranking_of(strings.collection_of(), 2_000),
        strings.ranking_of(strings.collection_of(), 1, final=False),
    ],
}
DAMAGE: dict[type[BaseModel], list[dict[str, Any]]] = {
    Estimate: [{"reports": -1}, {"final": "yes"}, {"fingerprint": "xyz"}],
    Ranking: [{"phase": 0}, {"items": [{"rank": 1}]}, {"fingerprint": "xyz"}],
    Marginals: [{"reports": -1}, {"attributes": [{"attribute": "diet"}]}, {"fingerprint": "xyz"}],
    PlaceCounts: [{"reports": -1}, {"raw": ["many"]}, {"fingerprint": "xyz"}],
    PairEstimates: [{"reports": -1}, {"keys": [{"key": "search"}]}, {"fingerprint": "xyz"}],
    SyntheticChunk: [{"reports": 0}, {"records": [[0.5, 1]]}, {"final": False}, {"fingerprint": "xyz"}],
    StringRanking: [{"reports": -1}, {"strings": [{"rank": 1}]}, {"fingerprint": "xyz"}],
    Round: [{"phase": 0}, {"epsilon": 0}, {"candidates": [0.5]}, {"collection_fingerprint": "xyz"}],
}


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_obeys_the_published_schema_and_a_damaged_one_does_not(message: type[BaseModel]) -> None:
    schema = message_schema(message)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for example in EXAMPLES[message]:
        document = json.loads(example.model_dump_json())
        validator.validate(document)
        for damage in ({"schema_version": 2}, *DAMAGE[message]):
            assert not validator.is_valid(document | damage), damage


@pytest.mark.parametrize("message", MESSAGES)
def test_a_schema_has_real_messages_for_examples(message: type[BaseModel]) -> None:
    schema = message_schema(message)
    assert schema["examples"]
    for example in schema["examples"]:
        Draft202012Validator(schema).validate(example)
        assert json.loads(message.model_validate_json(json.dumps(example)).model_dump_json()) == example


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_has_every_field_and_no_other(message: type[BaseModel]) -> None:
    validator = Draft202012Validator(message_schema(message))
    document = json.loads(EXAMPLES[message][0].model_dump_json())
    assert not validator.is_valid(document | {"secret": 1})
    for field in document:
        assert not validator.is_valid({key: value for key, value in document.items() if key != field}), field


async def test_what_is_written_to_topics_obeys_the_schemas() -> None:
    names = {message: message_schema(message) for message in MESSAGES}
    checked = set()
    for kind in COLLECTIONS:
        for each in await record(kind):
            others = {"rounds": Round, "records": SyntheticChunk}
            message: Any = others.get(each.topic, KINDS[kind].answer)
            if each.topic in (*others, KINDS[kind].collection.topics.answers):
                Draft202012Validator(names[message]).validate(json.loads(each.value))
                checked.add(message)
    assert checked == set(MESSAGES)
