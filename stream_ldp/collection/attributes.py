"""What all records have in common: attributes with names, each of which encodes one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from stream_ldp.collection.located import suggestion
from stream_ldp.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Encoder", "encode_record", "index_of"]


class Encoder(Protocol):
    """An attribute, which knows the values that it may have."""

    @property
    def name(self) -> str: ...

    def encode(self, value: str) -> Any:
        """Convert a value to a number.

        Raises:
            DataError: it is no value of the attribute. The message never repeats the value.
        """
        ...


def encode_record(record: Mapping[str, str], attributes: Sequence[Encoder], *, collection: str) -> tuple[Any, ...]:
    """Convert a record, which gives every attribute one of its values, to numbers.

    collection: its name.

    Raises:
        DataError: an attribute is missing, unknown, or has another value. The message never repeats the value.
    """
    known = [attribute.name for attribute in attributes]
    if unknown := [name for name in record if name not in known]:
        raise DataError(
            f"{unknown[0]!r} is not an attribute of collection {collection!r}{suggestion(unknown[0], known)}"
        )
    if missing := [name for name in known if name not in record]:
        raise DataError(f"attribute {missing[0]!r} is missing")
    return tuple(attribute.encode(record[attribute.name]) for attribute in attributes)


def index_of(value: str, values: Sequence[str], *, attribute: str) -> int:
    """Return the number of a value among those that an attribute may have.

    Raises:
        DataError: it is not among them. The message never repeats the value.
    """
    try:
        return values.index(value)
    except ValueError:
        shown = ", ".join(values[:_SHOWN])
        more = f" and {len(values) - _SHOWN:,} others" if len(values) > _SHOWN else ""
        raise DataError(f"attribute {attribute!r}: the given value is not one of {shown}{more}") from None


#: The most values that a message lists.
_SHOWN = 20
