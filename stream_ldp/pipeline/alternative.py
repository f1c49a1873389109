"""Another mechanism that a collection could have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Alternative:
    """Another mechanism with the collection's lifetime epsilon between any two records.

    kind: its name in a collection file.
    parameters: with which it has that epsilon.
    per_report: epsilon of one report, between any two records.
    instead_of: that of the collection's mechanism.
    collection: the collection that has it.
    is_alike: whether it sends the same, as two mechanisms may where values are few.
    """

    kind: str
    parameters: Mapping[str, float]
    per_report: float
    instead_of: float
    collection: Any
    is_alike: bool
