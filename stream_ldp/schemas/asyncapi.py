"""The AsyncAPI document of all topics: what is on them, who writes it and who reads it."""

from types import SimpleNamespace
from typing import Any

from stream_ldp.collection import Window
from stream_ldp.collection.located import NAME_PATTERN
from stream_ldp.kafka.security import SecurityProtocol
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import TopicNames, TopicSpec, topic_specs
from stream_ldp.kinds import KINDS, chunk_class
from stream_ldp.pipeline.content_type import (
    BATCH,
    CONNECT_ROW,
    CONTENT_TYPE,
    DEAD_LETTER,
    PARTIAL,
    REGISTRATION,
    ROW,
    Headers,
    content_type_of,
)
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.rows import COLUMNS, CONNECT_SCHEMA
from stream_ldp.pipeline.solver_state import HEADER as STATE_HEADER
from stream_ldp.schemas.messages import MESSAGES, ROUNDS, message_schema
from stream_ldp.schemas.openapi import TEXT, closed, column_schema

ASYNCAPI = "3.0.0"

_Json = dict[str, Any]

_NAMES = TopicNames(prefix="{prefix}")
_COLLECTION = "{collection}"

_FINGERPRINT = {"type": "string", "pattern": "^[0-9a-f]{32}$", "description": "of the collection, hexadecimal"}
_NUMBER = {"type": "string", "pattern": "^[0-9]+$"}
#: Version of Kafka's bindings.
_BINDING = "0.5.0"
#: AsyncAPI's names of the mechanisms that prove a password.
_SASL = {"SCRAM-SHA-512": "scramSha512", "SCRAM-SHA-256": "scramSha256", "PLAIN": "plain"}


def asyncapi() -> _Json:
    """Describe all topics of a deployment: AsyncAPI 3."""
    channels = _channels()
    return {
        "asyncapi": ASYNCAPI,
        "info": {
            "title": "Topics of stream_ldp",
            "version": "1",
            "description": "Kafka topics of reports under local differential privacy and of the answers to them. "
            "docs/wire.md specifies batches byte by byte. Operations are those of a worker.",
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": _servers(),
        "channels": channels,
        "operations": {
            name: {
                "action": action,
                "channel": {"$ref": f"#/channels/{channel}"},
                "summary": summary,
            }
            for name, (action, channel, summary) in _operations().items()
        },
        "components": {
            "messages": {
                name: message | {"bindings": {"kafka": {"key": _key(name), "bindingVersion": _BINDING}}}
                for name, message in {
                    **_binary_messages(),
                    **{message.__name__: _of(message) for message in MESSAGES},
                }.items()
            },
            "parameters": {
                "prefix": {"description": "Keeps deployments on one cluster apart", "default": "stream-ldp"},
                "collection": {"description": "Name of the collection"},
            },
            "securitySchemes": {
                **{name: {"type": kind} for name, kind in _SASL.items()},
                "OAUTHBEARER": {"type": "http", "scheme": "bearer", "description": "SASL OAUTHBEARER: a token"},
                "mutual-TLS": {"type": "X509", "description": "a client's own certificate"},
            },
        },
    }


def _key(message: str) -> _Json:
    """Describe the key of the records that have a message; by default that of an answer."""
    rounds = dict.fromkeys((each.__name__ for each in ROUNDS), _text(r"^[0-9]+\|[0-9]+$", "epoch|phase"))
    known = {
        "Registration": _text(NAME_PATTERN, "the name of the collection"),
        "Batch": {"type": "string", "format": "binary", "description": "the batch id, 16 bytes"},
        "Partial": _text(
            r'^\["(partial|watermark)",',
            "a JSON array: partial, collection, statistic, start and partition of a pane, segment and writer; or "
            "watermark, collection, partition and generation",
        ),
        "DeadLetter": _text(r"^.+-[0-9]+-[0-9]+$", "topic-partition-offset of the record that was refused"),
        **dict.fromkeys(
            ("Row", "ConnectRow"),
            _text(r"^[0-9a-f]{32}\|", "fingerprint|series|window_start|cell_labels"),
        ),
        **rounds,
    }
    answer = _text(
        r"\|(final\|-?[0-9]+|live)$",
        "series|final|start of the window in milliseconds since 1970; series|live of all provisional answers",
    )
    return known.get(message, answer)


def _text(pattern: str, description: str) -> _Json:
    return {"type": "string", "pattern": pattern, "description": description}


def _channels() -> _Json:
    found = {
        "collections": _channel(
            _NAMES.collections,
            ["Registration"],
            "What each name means; compacted, the newest record holds",
        ),
        "partials": _channel(_NAMES.partials, ["Partial"], "Partial counts, and watermarks"),
        "reports": _channel(_NAMES.reports(_COLLECTION), ["Batch"], "Batches of reports, whose key is the batch id"),
        "dead-letters": _channel(
            _NAMES.dead_letters(_COLLECTION), ["DeadLetter"], "What could not be counted, as it came, with the reason"
        ),
        "rounds": _channel(
            _NAMES.rounds(_COLLECTION),
            [message.__name__ for message in ROUNDS],
            "What later phases of an epoch ask, for clients",
        ),
    }
    found["records"] = _channel(
        _NAMES.records(_COLLECTION), [chunk_class().__name__], "Synthetic records of windows, in chunks"
    )
    for kind in KINDS.values():
        topics = kind.collection.topics
        messages = [kind.answer.__name__]
        found[topics.answers] = _channel(
            _NAMES.answers_of(_COLLECTION, topics.answers), messages, "Final answers, which never change"
        )
        found[f"{topics.answers}-rows"] = _channel(
            _NAMES.rows_of(_COLLECTION, topics.answers),
            ["Row", "ConnectRow"],
            "Final answers as flat rows, one a cell",
        )
    found["provisional"] = _channel(
        _NAMES.provisional(_COLLECTION),
        [kind.answer.__name__ for kind in KINDS.values()],
        "Answers of windows that are open, each replaced by the next; for fewer readers than finals",
    )
    return found


def _servers() -> _Json:
    """Describe the brokers by the protocols that `security_protocol` names; there are no hosts but those of users."""
    host = {"host": "{brokers}", "variables": {"brokers": {"default": Settings.model_fields["brokers"].default}}}
    schemes = {
        name: {"$ref": f"#/components/securitySchemes/{name}"} for name in (*_SASL, "OAUTHBEARER", "mutual-TLS")
    }
    passwords = [schemes[name] for name in _SASL]
    security = {
        SecurityProtocol.PLAINTEXT: ("kafka", []),
        SecurityProtocol.SSL: ("kafka-secure", [schemes["mutual-TLS"]]),
        SecurityProtocol.SASL_PLAINTEXT: ("kafka", passwords),
        SecurityProtocol.SASL_SSL: ("kafka-secure", [*passwords, schemes["OAUTHBEARER"]]),
    }
    return {
        each.value: {
            **host,
            "protocol": protocol,
            "description": f"brokers with security_protocol {each.value}",
            **({"security": asked} if asked else {}),
        }
        for each, (protocol, asked) in security.items()
    }


def _declared() -> dict[str, TopicSpec]:
    """Return the topics as `topics create` makes them for collections with windows of a minute, by address."""
    partitions = Settings.model_fields["partials_partitions"].default
    found: dict[str, TopicSpec] = {}
    for kind in KINDS.values():
        example: Any = SimpleNamespace(
            name=_COLLECTION,
            topics=kind.collection.topics,
            window=Window.model_validate({"size": "60s"}),
            rows=True,
            synthesizes=True,
            most_windows=1,
        )
        specs = topic_specs([example], prefix="{prefix}", partials_partitions=partitions)
        found |= {spec.name: spec for spec in specs}
    return found


def _binding(spec: TopicSpec) -> _Json:
    """Describe a topic as Kafka's binding of channels does; `retention.ms` is the least that workers accept."""
    settings: _Json = {name: int(value) if value.isdigit() else value for name, value in spec.config.items()}
    settings["cleanup.policy"] = spec.config["cleanup.policy"].split(",")
    return {"kafka": {"partitions": spec.partitions, "topicConfiguration": settings, "bindingVersion": _BINDING}}


def _channel(address: str, messages: list[str], description: str) -> _Json:
    parameters = [name for name in ("prefix", "collection") if f"{{{name}}}" in address]
    return {
        "address": address,
        "description": description,
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
        "parameters": {name: {"$ref": f"#/components/parameters/{name}"} for name in parameters},
        "bindings": _binding(_declared()[address]),
    }


def _operations() -> dict[str, tuple[str, str, str]]:
    answers = dict.fromkeys(kind.collection.topics.answers for kind in KINDS.values())
    found = {
        "sendRecords": ("send", "records", "A worker publishes synthetic records"),
        "receiveReports": ("receive", "reports", "Clients and gateways report; a worker counts"),
        "sendProvisional": ("send", "provisional", "A worker publishes answers of windows that are open"),
        "sendPartials": ("send", "partials", "A worker writes what it has counted"),
        "receivePartials": ("receive", "partials", "A worker merges what all have counted"),
        "sendDeadLetters": ("send", "dead-letters", "A worker puts what it refuses aside"),
        "sendRounds": ("send", "rounds", "A worker publishes what the next phase asks"),
        "receiveRounds": ("receive", "rounds", "A worker counts reports to rounds that it has read"),
        "sendRegistration": ("send", "collections", "`topics create` and `topics retire` register collections"),
        "receiveRegistrations": (
            "receive",
            "collections",
            "Workers serve what is registered; a worker with a file, and each client, compare theirs with it",
        ),
    }
    for name in answers:
        word = "".join(part.capitalize() for part in name.split("-"))
        found[f"send{word}"] = (
            "send",
            name,
            "A worker publishes final answers; a new owner reads them to go on from there",
        )
        found[f"send{word}Rows"] = ("send", f"{name}-rows", "A worker publishes final answers as flat rows")
    return {name: found[name] for name in sorted(found)}


def _header_schema(headers: Headers, **others: _Json) -> _Json:
    ((_, value),) = headers
    return {
        "type": "object",
        "properties": {CONTENT_TYPE: {"const": value.decode()}, **others},
        "required": [CONTENT_TYPE, *others],
    }


def _media(headers: Headers) -> str:
    ((_, value),) = headers
    return value.decode()


def _of(message: Any) -> _Json:
    headers = content_type_of(message)
    schema = message_schema(message)
    # A document has the dialect of its examples and definitions in one place.
    payload = {keyword: value for keyword, value in schema.items() if keyword not in ("$schema", "$id", "examples")}
    return {
        "contentType": _media(headers),
        "summary": schema["description"],
        "headers": _message_headers(message),
        "payload": {
            "schemaFormat": "application/schema+json;version=draft-07",
            "schema": _relocated(payload, f"#/components/messages/{message.__name__}/payload/schema"),
        },
        "examples": [
            {"headers": {CONTENT_TYPE: _media(headers)}, "payload": example} for example in schema["examples"]
        ],
    }


def _message_headers(message: Any) -> _Json:
    found = _header_schema(content_type_of(message))
    if message in {kind.answer for kind in KINDS.values()}:
        text = "of a final: what the solve of the next one starts from, JSON; for workers alone, of any form"
        found["properties"][STATE_HEADER] = {"type": "string", "description": text}
    return found


def _relocated(schema: Any, root: str) -> Any:
    """Let the references of a schema begin at the root of the document that it has become part of."""
    if isinstance(schema, list):
        return [_relocated(each, root) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        keyword: value.replace("#/", f"{root}/", 1) if keyword == "$ref" else _relocated(value, root)
        for keyword, value in schema.items()
    }


def _binary_messages() -> _Json:
    return {
        "Batch": {
            "contentType": _media(BATCH),
            "summary": "Reports of one collection or round; docs/wire.md, section 6",
            "headers": _header_schema(BATCH),
            "payload": {"type": "string", "format": "binary", "minLength": 57},
        },
        "Partial": {
            "contentType": _media(PARTIAL),
            "summary": "A JSON header, a line feed, and the bytes of a statistic; or of a watermark the header alone",
            "headers": _header_schema(PARTIAL),
            "payload": {"type": "string", "format": "binary"},
        },
        "DeadLetter": {
            "contentType": _media(DEAD_LETTER),
            "summary": "A refused record as it came",
            "headers": _header_schema(
                DEAD_LETTER,
                reason={"enum": [each.value for each in Reason]},
                detail=TEXT,
                **{"source-topic": TEXT, "source-partition": _NUMBER, "source-offset": _NUMBER},
                collection=TEXT,
                fingerprint=_FINGERPRINT,
            ),
            "payload": {"type": "string", "format": "binary"},
        },
        "Row": {
            "contentType": _media(ROW),
            "summary": "One cell of a final answer; the key is fingerprint, series, window_start and cell_labels",
            "headers": _header_schema(ROW),
            "payload": closed({name: column_schema(name) for name in COLUMNS}),
        },
        "ConnectRow": {
            "contentType": _media(CONNECT_ROW),
            "summary": "The same row with the schema of Kafka Connect, and times in milliseconds since 1970",
            "headers": _header_schema(CONNECT_ROW),
            "payload": closed(
                {
                    "schema": {"const": CONNECT_SCHEMA},
                    "payload": closed(
                        {
                            name: {"type": "integer"} if kind == "time" else column_schema(name)
                            for name, kind in COLUMNS.items()
                        }
                    ),
                }
            ),
        },
        "Registration": {
            "contentType": _media(REGISTRATION),
            "summary": "What a name means, whose record key it is",
            "headers": _header_schema(REGISTRATION),
            "payload": {
                "type": "object",
                "properties": {
                    "fingerprint": _FINGERPRINT,
                    "document": {"type": "object", "description": "the whole collection, as plain data"},
                    "paused": {"const": True, "description": "while it is changed, and nobody may count it"},
                    "retired": {
                        "type": "object",
                        "description": "where the log of a retired collection ends for workers",
                        "properties": {
                            "topic": {"type": "string", "description": "id of the reports topic"},
                            "ends": {
                                "type": "array",
                                "description": "offset, in each partition, of the first record that does not count",
                                "items": {"type": "integer", "minimum": 0},
                            },
                        },
                        "required": ["topic", "ends"],
                    },
                },
                "required": ["fingerprint", "document"],
            },
        },
    }
