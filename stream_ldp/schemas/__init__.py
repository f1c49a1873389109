"""JSON Schemas of the published messages, generated from the models and shipped with the package.

`python -m stream_ldp.schemas` writes them anew; a test compares them with the models.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from stream_ldp.kinds import KINDS

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["SCHEMAS", "schema_of", "schema_path"]

#: The version of the schema of each message that has one.
SCHEMAS: dict[type[BaseModel], int] = {
    message: message.model_fields["schema_version"].default for kind in KINDS.values() for message in kind.messages
}


def schema_path(message: type[BaseModel]) -> Path:
    """Return the file that holds the schema of a message."""
    return Path(__file__).parent / f"{message.__name__.lower()}-v{SCHEMAS[message]}.json"


def schema_of(message: type[BaseModel]) -> str:
    """Generate the text of the schema of a message: JSON Schema, draft 2020-12."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:stream-ldp:{message.__name__.lower()}:{SCHEMAS[message]}",
        # The schema describes what this release writes; it also reads messages with additional fields.
        **message.model_json_schema(mode="serialization"),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
