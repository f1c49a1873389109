"""How our schemas are written: with keywords of older drafts of JSON Schema alone, and described by docstrings."""

import inspect
import re
from typing import Any

from pydantic import BaseModel


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


_FIELD = re.compile(r"([a-z_]+(?:, [a-z_]+)*): (.*)")
_INDENT = "    "


def summary_of(model: type[BaseModel]) -> str:
    """Return the first paragraph of the docstring of a model, in one line."""
    return " ".join(inspect.cleandoc(model.__doc__ or "").split("\n\n")[0].split())


def fields_of(model: type[BaseModel]) -> dict[str, str]:
    """Return the descriptions of its fields that a model has in its docstring, or inherits from others.

    Returns:
        {name of the field in a file, or in Python: description}
    """
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        found |= _lines(each)
    return found


def _lines(model: type[Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    names: list[str] = []
    for line in inspect.cleandoc(model.__dict__.get("__doc__") or "").splitlines():
        if names and line.startswith(_INDENT):
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
        elif match := _FIELD.fullmatch(line):
            names = match[1].split(", ")
            found |= dict.fromkeys(names, match[2])
        else:
            names = []
    return found
