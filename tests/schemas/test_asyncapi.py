"""The AsyncAPI document has every topic, keeps the rules of AsyncAPI, and says what is on the topics."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator

from stream_ldp.kafka.security import SaslMechanism, SecurityProtocol
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import topic_specs
from stream_ldp.kinds import KINDS, parse_collection
from stream_ldp.pipeline.content_type import CONTENT_TYPE
from stream_ldp.pipeline.rows import published_rows
from stream_ldp.schemas import FOLDER
from stream_ldp.schemas.asyncapi import asyncapi
from tests.schemas.recorded import COLLECTIONS, record

DOCUMENT = asyncapi()

#: The schema of AsyncAPI 3.0.0 as published in @asyncapi/specs 6.11.1 (Apache-2.0), compressed.
RULES = Path(__file__).parent / "asyncapi-3.0.0.json.gz"


def channel_of(topic: str) -> str:
    """Return the one channel whose address fits a topic."""
    (found,) = [
        name
        for name, channel in DOCUMENT["channels"].items()
        if re.fullmatch(re.sub(r"\\{\w+\\}", r"[^.]+", re.escape(channel["address"])), topic)
    ]
    return str(found)


def test_the_document_keeps_the_rules_of_asyncapi() -> None:
    rules = json.loads(gzip.decompress(RULES.read_bytes()))
    validator = Draft7Validator(rules)
    validator.validate(DOCUMENT)
    damages: tuple[dict[str, Any], ...] = (
        {"asyncapi": "2.0.0"},
        {"channels": []},
        {"operations": {"a": {"action": "eat"}}},
        {"topics": {}},
    )
    for damage in damages:
        assert not validator.is_valid(DOCUMENT | damage), damage


def test_every_reference_leads_somewhere() -> None:
    def references(part: Any) -> list[str]:
        if isinstance(part, dict):
            return [value for key, value in part.items() if key == "$ref"] + references(list(part.values()))
        return [found for each in part for found in references(each)] if isinstance(part, list) else []

    for reference in references(DOCUMENT):
        place: Any = DOCUMENT
        for step in reference.removeprefix("#/").split("/"):
            place = place[step]


def test_every_topic_is_in_the_document_and_no_other() -> None:
    collections = [parse_collection(f"{text.rstrip()}\nrows: true\n") for text in COLLECTIONS.values()]
    topics = [spec.name for spec in topic_specs(collections, prefix="stream-ldp", partials_partitions=1)]
    assert {channel_of(topic) for topic in topics} == set(DOCUMENT["channels"])
    told = {operation["channel"]["$ref"].rpartition("/")[2] for operation in DOCUMENT["operations"].values()}
    assert told == set(DOCUMENT["channels"]), "somebody writes or reads each of them"


def test_topics_are_declared_as_they_are_created() -> None:
    collections = [parse_collection(f"{text.rstrip()}\nrows: true\n") for text in COLLECTIONS.values()]
    partitions = Settings.model_fields["partials_partitions"].default
    for spec in topic_specs(collections, prefix="stream-ldp", partials_partitions=partitions):
        told = DOCUMENT["channels"][channel_of(spec.name)]["bindings"]["kafka"]
        settings = told["topicConfiguration"]
        assert told["partitions"] == spec.partitions
        assert settings | {"cleanup.policy": ",".join(settings["cleanup.policy"])} == {
            name: int(value) if value.isdigit() else value for name, value in spec.config.items()
        }, spec.name


def test_the_servers_are_the_protocols_of_the_settings_with_no_host_of_our_own() -> None:
    servers = DOCUMENT["servers"]
    assert list(servers) == [each.value for each in SecurityProtocol]
    assert {each["host"] for each in servers.values()} == {"{brokers}"}
    asked = {
        name: [each["$ref"].rpartition("/")[2] for each in servers[name].get("security", [])] for name in servers
    }
    assert asked["PLAINTEXT"] == []
    assert {*asked["SASL_SSL"]} == {each.value for each in SaslMechanism}


async def test_what_is_on_the_topics_is_what_the_document_says() -> None:
    for kind, text in COLLECTIONS.items():
        names = {
            spec.name for spec in topic_specs([parse_collection(text)], prefix="stream-ldp", partials_partitions=1)
        }
        for each in await record(kind):
            (topic,) = [name for name in names if name.rpartition(".")[2] == each.topic]
            messages = [
                DOCUMENT["components"]["messages"][name]
                for name in DOCUMENT["channels"][channel_of(topic)]["messages"]
            ]
            headers = {name: value.decode() for name, value in each.headers}
            (message,) = [found for found in messages if found["contentType"] == headers[CONTENT_TYPE]]
            Draft7Validator(message["headers"]).validate(headers)
            Draft7Validator(message["bindings"]["kafka"]["key"]).validate(each.key.decode(errors="replace"))
            if "json" in message["contentType"]:
                schema = message["payload"].get("schema", message["payload"])
                Draft7Validator({**schema, "components": DOCUMENT["components"]}).validate(json.loads(each.value))


def test_a_row_is_what_the_document_says() -> None:
    for kind in KINDS.values():
        names = DOCUMENT["channels"][f"{kind.collection.topics.answers}-rows"]["messages"]
        forms: tuple[bool | str, ...] = (True, "connect")
        for name, form in zip(names, forms, strict=True):
            message = DOCUMENT["components"]["messages"][name]
            for path in (FOLDER / "examples").glob(f"{kind.answer.__name__.lower()}-*.json"):
                for row in published_rows(kind.answer.from_bytes(path.read_bytes()), form):
                    Draft7Validator(message["bindings"]["kafka"]["key"]).validate(row.key.decode())
                    Draft7Validator(message["payload"]).validate(json.loads(row.to_bytes()))
                    Draft7Validator(message["headers"]).validate({name: text.decode() for name, text in row.headers})


def test_examples_are_messages() -> None:
    for message in DOCUMENT["components"]["messages"].values():
        for example in message.get("examples", []):
            Draft7Validator(message["headers"]).validate(example["headers"])
            Draft7Validator({**message["payload"]["schema"], "components": DOCUMENT["components"]}).validate(
                example["payload"]
            )
    assert {kind.answer.__name__ for kind in KINDS.values()} <= set(DOCUMENT["components"]["messages"])
