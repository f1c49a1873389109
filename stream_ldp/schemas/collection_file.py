"""The JSON Schema of a collection file, for editors and for programs that write such files.

It has the keys of every kind of collection, and the form of their values. What only holds between values, such as
that an estimate names attributes which exist, the parser alone can say.
"""

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema
from pydantic_core import core_schema

from stream_ldp.collection import located, shown_duration
from stream_ldp.kinds import KINDS
from stream_ldp.schemas.dialect import fields_of, summary_of, without_prefixes

#: Version of the schema: it rises when a file that was right is no longer.
COLLECTION_FILE_VERSION = 1

#: What YAML takes for text, a number or a truth, and the parser for text: the values `[no, yes]` are two words.
_TEXT = ["string", "number", "boolean"]


class _OfFiles(GenerateJsonSchema):
    """Generates the schema of what a file says, where pydantic's own is of what a validated model holds."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> dict[str, Any]:
        """Leave null out: in a file, what is not given is left out."""
        return self.generate_inner(schema["schema"])

    def str_schema(self, schema: core_schema.StringSchema) -> dict[str, Any]:
        """Take numbers and booleans for text, except where text has a form that they cannot have."""
        found = super().str_schema(schema)
        match found.get("pattern", ""):
            case located.NAME_PATTERN:
                return found | {"type": ["string", "integer", "boolean"], "minimum": 0}
            case duration if "\\d" in duration:
                return found
        return found | {"type": _TEXT}

    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        """Describe every key, and write each default as a file would."""
        found, model = super().model_schema(schema), schema["cls"]
        described = fields_of(model)
        for name, field in model.model_fields.items():
            key = field.alias or name
            shown = found["properties"][key]
            found["properties"][key] = _property(shown, described.get(key) or described.get(name), name)
        return found | {"description": summary_of(model)}

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  part of the hook
        """Set none: a key is its own title."""
        return False


def _property(shown: dict[str, Any], description: str | None, name: str) -> dict[str, Any]:
    kept = {keyword: value for keyword, value in shown.items() if not (keyword == "default" and value is None)}
    default = kept.get("default")
    if name.endswith("_ms") and isinstance(default, int):
        kept["default"] = shown_duration(default)
    if description is not None and "description" not in kept:
        kept["description"] = description.removesuffix(", in milliseconds.").rstrip(".")
    return kept


def collection_file_schema() -> dict[str, Any]:
    """Generate the schema of a collection file of any kind: JSON Schema, draft 2020-12.

    It has only keywords that editors with an older draft know as well.
    """
    inputs: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        (kind.collection, "validation") for kind in KINDS.values()
    ]
    places, definitions = models_json_schema(inputs, by_alias=True, schema_generator=_OfFiles)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:stream-ldp:collection:{COLLECTION_FILE_VERSION}",
        "title": "Collection file",
        "description": "What is collected, how it is perturbed, and what is estimated from it",
        "anyOf": [places[each] for each in inputs],
        "$defs": dict(sorted(without_prefixes(definitions["$defs"]).items())),
    }
