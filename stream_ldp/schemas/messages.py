"""The JSON Schemas of the messages that have a schema version: answers, rounds and synthetic records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.kinds import KINDS
from stream_ldp.synthesis.chunk import SyntheticChunk

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["MESSAGES", "message_name", "message_schema"]

_ALL: tuple[type[BaseModel], ...] = (
    *(message for kind in KINDS.values() for message in kind.messages),
    # No kind's own: it is published beside the answers of several.
    SyntheticChunk,
)

#: The version of the schema of each message that has one.
MESSAGES: dict[type[BaseModel], int] = {message: message.model_fields["schema_version"].default for message in _ALL}


def message_name(message: type[BaseModel]) -> str:
    """Name the contract of a message, with its version."""
    return f"{message.__name__.lower()}-v{MESSAGES[message]}"


def message_schema(message: type[BaseModel]) -> dict[str, Any]:
    """Generate the schema of a message: JSON Schema, draft 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:stream-ldp:{message.__name__.lower()}:{MESSAGES[message]}",
        # The schema describes what this release writes; it also reads messages with additional fields.
        **message.model_json_schema(mode="serialization"),
    }
