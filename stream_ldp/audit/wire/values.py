"""The values of attributes: sections 1 and 5 of docs/wire.md."""

import math
import re
from collections.abc import Mapping
from itertools import pairwise

from stream_ldp.audit.wire.notation import Json, Unspecified, is_true, number


def text_of(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return str(int(value)) if float(value).is_integer() else repr(value)


def well_formed(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Values:
    """What an attribute of the file may be: a list, bins, and values for what is missing and for all others."""

    def __init__(self, attribute: Mapping[str, Json]) -> None:
        self.name: str = attribute["name"]
        self.edges = [float(number(each)) for each in attribute.get("bins", [])]
        self.missing: str | None = attribute.get("missing")
        self.other: str | None = attribute.get("other")
        self.clips: bool = is_true(attribute.get("clip", True))
        self.values: list[str] = list(map(text_of, attribute.get("values", self._intervals())))
        for each in (self.missing, self.other):
            if each is not None and each not in self.values:
                self.values.append(each)

    def _intervals(self) -> list[str]:
        shown = [text_of(edge) if math.isfinite(edge) else str(edge) for edge in self.edges]
        last = len(shown) - 2
        return [
            f"{'(' if math.isinf(self.edges[place]) else '['}{shown[place]},{shown[place + 1]}"
            f"{']' if place == last and math.isfinite(self.edges[-1]) else ')'}"
            for place in range(last + 1)
        ]

    def examples(self) -> list[str | float]:
        """List what a record may say of the attribute: each value once, and for a bin a number within it."""
        bins = [low if math.isfinite(low) else high - 1 for low, high in pairwise(self.edges)]
        return [*bins, *self.values[len(bins) :]]

    def number_of(self, value: str | float | None) -> int:
        if value is None:
            if self.missing is None:
                raise Unspecified("the attribute has no value for what is missing")
            return self.values.index(self.missing)
        text = text_of(value)
        if text in self.values:
            return self.values.index(text)
        if self.edges and re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", text, re.IGNORECASE):
            given = float(text)
            if self.clips:
                given = min(max(given, self.edges[0]), self.edges[-1])
            if self.edges[0] <= given <= self.edges[-1]:
                return [place for place in range(len(self.edges) - 1) if self.edges[place] <= given][-1]
        if self.other is None:
            raise Unspecified("the attribute does not have the value")
        return self.values.index(self.other)
