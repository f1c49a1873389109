"""What the document of a collection may leave to the table that it is evaluated on."""

import contextlib
from collections.abc import Iterable
from typing import Any

from stream_ldp.collection.values import number_of
from stream_ldp.errors import DataError
from stream_ldp.evaluation.trial import KnownTable

#: The keys that say what an attribute may be.
_DOMAINS = ("values", "bins", "range", "candidates")
#: What a value that is missing is called, unless a value has that name.
_MISSING = "missing"


def ordered(values: Iterable[str]) -> list[str]:
    """Return each value once, in the order of integers if all values are, otherwise in that of text."""
    found = sorted(set(values))
    with contextlib.suppress(ValueError):  # raised for a value that is not an integer: the order of text stays
        found = sorted(found, key=int)
    return found


def complete_attributes(document: dict[str, Any], table: KnownTable) -> None:
    """Fill in the attributes: all columns if there are none, and of each the values that occur.

    What is missing becomes a value, before the others. An empty `range` becomes that of the numbers in the table.

    Raises:
        DataError: a column is not there, has a single value, or no number where one is due. The message never repeats
            a value.
    """
    attributes = document.setdefault("attributes", [{"name": name} for name in table.columns])
    for attribute in attributes if isinstance(attributes, list) else ():
        if not isinstance(attribute, dict) or not isinstance(name := attribute.get("name"), str):
            continue
        if not attribute.get("range", True):
            attribute["range"] = _range(table.values(name), name)
        elif not any(key in attribute for key in _DOMAINS):
            _complete_values(attribute, table.values(name))


def complete_estimates(document: dict[str, Any], table: KnownTable) -> None:
    """Fill in the attributes, and the estimates: one of all attributes if there are none, and a name for each."""
    complete_attributes(document, table)
    estimates = document.setdefault("estimates", [{}])
    for place, estimate in enumerate(estimates if isinstance(estimates, list) else ()):
        if isinstance(estimate, dict):
            estimate.setdefault("name", "joint" if len(estimates) == 1 else f"joint-{place + 1}")
            estimate.setdefault("of", _names(document["attributes"]))


def _names(attributes: Any) -> list[str]:
    return [attribute["name"] for attribute in attributes if isinstance(attribute, dict) and "name" in attribute]


def _complete_values(attribute: dict[str, Any], values: list[str]) -> None:
    if len(values) < 2:
        raise DataError(f"attribute {attribute['name']!r} has the same value in every record; it needs at least two")
    missing = _MISSING
    while missing in values:
        missing += "_"
    if "" in values:
        attribute.setdefault("missing", missing)
    attribute["values"] = [value or attribute["missing"] for value in values]


def _range(values: list[str], name: str) -> list[float]:
    try:
        numbers = [number_of(value, attribute=name) for value in values if value]
    except DataError:
        raise DataError(f"attribute {name!r} is not a number in every record: give its `range`") from None
    if len(set(numbers)) < 2:
        raise DataError(f"attribute {name!r} has the same number in every record: give its `range`")
    return [min(numbers), max(numbers)]
