"""Write the published schemas."""

from __future__ import annotations

from stream_ldp.schemas import ESTIMATE_SCHEMA, estimate_schema

if __name__ == "__main__":
    ESTIMATE_SCHEMA.write_text(estimate_schema(), encoding="utf-8")
