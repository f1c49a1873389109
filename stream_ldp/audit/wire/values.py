"""The values of attributes: sections 1 and 5 of docs/wire.md."""

from __future__ import annotations

import math
from collections.abc import Mapping

from stream_ldp.audit.wire.notation import Json, Unspecified


def text_of(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return str(int(value)) if float(value).is_integer() else repr(value)


class Values:
    """What an attribute of the file may be: a list, bins, and a value for what is missing."""

    def __init__(self, attribute: Mapping[str, Json]) -> None:
        self.name: str = attribute["name"]
        self.edges = [float(each) for each in attribute.get("bins", [])]
        self.missing: str | None = attribute.get("missing")
        self.values: list[str] = list(attribute.get("values", self._intervals()))
        if self.missing is not None and self.missing not in self.values:
            self.values.append(self.missing)

    def _intervals(self) -> list[str]:
        shown = [text_of(edge) if math.isfinite(edge) else str(edge) for edge in self.edges]
        last = len(shown) - 2
        return [
            f"{'(' if math.isinf(self.edges[place]) else '['}{shown[place]},{shown[place + 1]}"
            f"{']' if place == last and math.isfinite(self.edges[-1]) else ')'}"
            for place in range(last + 1)
        ]

    def number_of(self, value: str | float | None) -> int:
        if value is None:
            if self.missing is None:
                raise Unspecified("the attribute has no value for what is missing")
            return self.values.index(self.missing)
        text = text_of(value)
        if text in self.values:
            return self.values.index(text)
        number = float(text)
        if not self.edges or not self.edges[0] <= number <= self.edges[-1]:
            raise Unspecified("the attribute does not have the value")
        inside = [place for place in range(len(self.edges) - 1) if self.edges[place] <= number]
        return inside[-1]
