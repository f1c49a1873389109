"""Write the published schemas."""

from __future__ import annotations

from stream_ldp.schemas import SCHEMAS, schema_of, schema_path

if __name__ == "__main__":
    for message in SCHEMAS:
        schema_path(message).write_text(schema_of(message), encoding="utf-8")
