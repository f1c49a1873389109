"""What a final answer leaves to the solve of the next one, in a header of its record.

The value of the record is for readers of the answer, and does not contain the state. It is written, replicated,
compacted and deleted with the value, so that no reader of the log can find the one without the other.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel

from stream_ldp.pipeline.content_type import Headers

#: Name of the header: a JSON object of parts by their places in the value, as JSON pointers (RFC 6901).
HEADER = "solver-state"


def state_of(message: BaseModel) -> Headers:
    """Return the header with the solver's state of a message; none if it has no such part."""
    parts = [f"{json.dumps(place)}:{part.model_dump_json()}" for place, part in _parts(message)]
    return ((HEADER, f"{{{','.join(parts)}}}".encode()),) if parts else ()


def with_state(value: bytes, headers: Sequence[tuple[str, bytes | None]]) -> bytes:
    """Return the value of a record, JSON, with the parts in its header at their places.

    Without the header, as tools that copy only values leave it, it is the value itself.

    Raises:
        ValueError: one of them is no JSON, or the value has no such place.
    """
    state = next((data for name, data in headers if name == HEADER), None)
    if state is None:
        return value
    try:
        document, parts = json.loads(value), json.loads(state)
    except RecursionError:
        raise ValueError(f"the value or the header {HEADER} is nested too deeply") from None
    if not isinstance(parts, dict):
        raise ValueError(f"the header {HEADER} is no JSON object")  # noqa: TRY004  as of all that is malformed
    for place, part in parts.items():
        *outer, last = place.removeprefix("/").split("/")
        _within(document, outer)[last] = part
    return json.dumps(document).encode()


def _parts(message: BaseModel, place: str = "") -> Iterator[tuple[str, BaseModel]]:
    """Iterate over the parts that are state and their places, each before those within it."""
    for name in type(message).model_fields:
        value = getattr(message, name)
        if isinstance(value, BaseModel):
            if getattr(value, "is_state", False):
                yield f"{place}/{name}", value
            yield from _parts(value, f"{place}/{name}")
        elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
            for number, each in enumerate(value):
                yield from _parts(each, f"{place}/{name}/{number}")


def _within(document: Any, names: Sequence[str]) -> dict[str, Any]:
    for name in names:
        try:
            document = document[int(name) if isinstance(document, list) else name]
        except (KeyError, IndexError, TypeError):
            raise ValueError(
                f"the header {HEADER} is about /{'/'.join(names)}, which the value does not have"
            ) from None
    if not isinstance(document, dict):
        raise ValueError(f"the header {HEADER} is about /{'/'.join(names)}, which is no object")  # noqa: TRY004  likewise
    return document
