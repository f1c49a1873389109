"""What our schemas do without, so that readers of older drafts of JSON Schema know all of their keywords."""

from __future__ import annotations

from typing import Any


def without_prefixes(schema: Any) -> Any:
    """Write lists of a fixed length and of equal items without `prefixItems`, which came with draft 2020-12."""
    if isinstance(schema, list):
        return [without_prefixes(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if (items := schema.get("prefixItems")) and all(item == items[0] for item in items):
        schema = {keyword: value for keyword, value in schema.items() if keyword != "prefixItems"}
        schema["items"] = items[0]
    return {keyword: without_prefixes(value) for keyword, value in schema.items()}
