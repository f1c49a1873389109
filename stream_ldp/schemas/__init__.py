"""JSON Schemas of the messages that others read, generated from the models and published with the package.

`python -m stream_ldp.schemas` writes them anew; a test holds them against the models.
"""

from __future__ import annotations

import json
from pathlib import Path

from stream_ldp.estimate import SCHEMA_VERSION, Estimate

__all__ = ["ESTIMATE_SCHEMA", "estimate_schema"]

#: The schema of the messages of an estimates topic, as published.
ESTIMATE_SCHEMA = Path(__file__).parent / f"estimate-v{SCHEMA_VERSION}.json"


def estimate_schema() -> str:
    """The text that `ESTIMATE_SCHEMA` must have: JSON Schema, draft 2020-12."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:stream-ldp:estimate:{SCHEMA_VERSION}",
        # Of what is written: there, a field with a default is always present.
        **Estimate.model_json_schema(mode="serialization"),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
