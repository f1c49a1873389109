"""The JSON Schemas of the messages that have a schema version: answers, rounds and synthetic records."""

import json
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from stream_ldp.kinds import KINDS, chunk_class
from stream_ldp.schemas import FOLDER
from stream_ldp.schemas.dialect import fields_of, summary_of, without_prefixes

_ALL: tuple[type[BaseModel], ...] = (
    *dict.fromkeys(message for kind in KINDS.values() for message in (kind.answer, *kind.messages)),
    # No kind's own: it is published beside the answers of several.
    chunk_class(),
)

#: The messages that ask clients, of the kinds that ask in rounds.
ROUNDS: tuple[type[BaseModel], ...] = tuple(kind.rounds.message for kind in KINDS.values() if kind.rounds is not None)

#: The version of the schema of each message that has one.
MESSAGES: dict[type[BaseModel], int] = {message: message.model_fields["schema_version"].default for message in _ALL}


#: What a schema cannot say of the messages of other releases.
READERS = (
    "What this release writes. Other releases of the same schema version may leave out fields that are not required "
    "to understand the message, and add others: a reader takes the fields that it needs and ignores the rest."
)


#: The values of fields that are text to their readers, as later releases may know more; by `Message.field`.
_VALUES: dict[str, list[str]] = {}
for _kind in KINDS.values():
    for _name, _words in _kind.vocabulary.items():
        _VALUES.setdefault(_name, []).extend(_words)


class _OfMessages(GenerateJsonSchema):
    """Generates the schema of what a model writes, where pydantic's own also allows for what it reads."""

    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        """Require every field that is never left out, allow no other, and describe them by the docstring."""
        found, model = super().model_schema(schema), schema["cls"]
        described = fields_of(model)
        for name, field in found.get("properties", {}).items():
            if name in described:
                field.setdefault("description", described[name].rstrip("."))
            if values := _VALUES.get(f"{model.__name__}.{name}"):
                field["enum"] = values
        found |= {"description": summary_of(model), "additionalProperties": False}
        properties = found.get("properties", {})
        # What may be left out is left out where it says nothing: it is never null.
        left_out = [name for name, field in model.model_fields.items() if field.exclude_if is not None]
        for name in left_out:
            said, _ = properties[name].pop("anyOf")
            properties[name] = said | {"description": properties[name]["description"]}
        required = [name for name in properties if name not in left_out]
        return found | ({"required": required} if required else {})

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  part of the hook
        """Set none: a field's name is its own title."""
        return False


def examples_of(name: str) -> list[Any]:
    """Return real messages with a schema, from the folder beside it."""
    return [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted((FOLDER / "examples").glob(f"{name}*.json"))
    ]


def message_name(message: type[BaseModel]) -> str:
    """Name the contract of a message, with its version."""
    return f"{message.__name__.lower()}-v{MESSAGES[message]}"


def message_schema(message: type[BaseModel]) -> dict[str, Any]:
    """Generate the schema of a message: JSON Schema, draft 2020-12.

    It is of what this release writes: every field, and no other. Readers must take more, see `READERS`.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:stream-ldp:{message.__name__.lower()}:{MESSAGES[message]}",
        "$comment": READERS,
        **without_prefixes(message.model_json_schema(mode="serialization", schema_generator=_OfMessages)),
        "examples": examples_of(message_name(message)),
    }
