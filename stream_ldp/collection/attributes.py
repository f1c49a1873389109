"""What all records have in common: named attributes that each encode one value."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from stream_ldp.collection.located import suggestion
from stream_ldp.errors import DataError


class Encoder(Protocol):
    """An attribute, with the values that it may have."""

    @property
    def name(self) -> str: ...

    def encode(self, value: Any) -> Any:
        """Convert a value, which is None, NaN or an empty text if it is missing, to a number.

        Raises:
            DataError: it is no value of the attribute. The message never repeats the value.
        """
        ...


#: What an attribute may have no number for, each with an example that is in no file.
_HELD: tuple[tuple[str, Any], ...] = (("no value", None), ("any other text", "\N{REPLACEMENT CHARACTER}"))


def refused_of(attributes: Sequence[Encoder]) -> tuple[str, ...]:
    """Say what users hold of whom nothing can be reported, found by trying to encode it; at most a line each."""
    found = []
    for attribute in attributes:
        of = []
        for held, example in _HELD:
            try:
                attribute.encode(example)
            except DataError:
                of.append(held)
        if not getattr(attribute, "clip", True):
            of.append("a number beyond its range")
        if of:
            found.append(f"{attribute.name}: {', or '.join(of)}")
    return tuple(found)


def encode_record(record: Mapping[str, Any], attributes: Sequence[Encoder], *, collection: str) -> tuple[Any, ...]:
    """Convert a record, which gives every attribute one of its values, to numbers.

    collection: its name.

    Raises:
        DataError: an attribute is missing, unknown, or has another value. The message never repeats the value.
    """
    require_mapping(record)
    known = [attribute.name for attribute in attributes]
    if unknown := [name for name in record if name not in known]:
        raise DataError(
            f"{unknown[0]!r} is not an attribute of collection {collection!r}{suggestion(str(unknown[0]), known)}"
        )
    if missing := [name for name in known if name not in record]:
        raise DataError(f"attribute {missing[0]!r} is missing")
    return tuple(attribute.encode(record[attribute.name]) for attribute in attributes)


def require_mapping(record: Any) -> None:
    """Raise a DataError unless a record names its attributes; the items of a list would be printed as their names."""
    if not isinstance(record, Mapping):
        raise DataError(
            f"a record is a mapping from attributes to values, as a dict is, and this is a {type(record).__name__}"
        )
