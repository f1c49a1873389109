"""The attributes of sampled collections: values in a list, or numbers in a range."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Self

from pydantic import Field, model_validator

from stream_ldp.collection import Label, Part, require_distinct
from stream_ldp.collection.attributes import index_of
from stream_ldp.collection.located import Misplaced
from stream_ldp.errors import DataError, ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SampledAttribute"]


class SampledAttribute(Part):
    """An attribute of a user: a name, and either the values or the range of numbers that it may have.

    values: the possible values, whose frequencies are estimated.
    range: the least and the largest possible number; the mean and the distribution are estimated.
    """

    name: Label
    values: tuple[Label, ...] | None = Field(default=None, min_length=2)
    range: tuple[float, float] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.values is None) == (self.range is None):
            raise ParameterError(
                f"attribute {self.name!r} needs either `values`, a list, or `range: [least, largest]`"
            )
        if self.values is not None:
            require_distinct(self.values, f"values of attribute {self.name!r}", "values")
        if self.range is not None and not (all(map(math.isfinite, self.range)) and self.range[0] < self.range[1]):
            raise Misplaced(
                f"the range of attribute {self.name!r} needs two numbers, the smaller one first; got "
                f"[{self.range[0]:g}, {self.range[1]:g}]",
                "range",
            )
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest number.

        Raises:
            TypeError: the attribute has values in a list.
        """
        if self.range is None:
            raise TypeError(f"attribute {self.name!r} has values, and no range")
        return self.range

    @property
    def labels(self) -> tuple[str, ...]:
        """The values in the list.

        Raises:
            TypeError: the attribute is a number.
        """
        if self.values is None:
            raise TypeError(f"attribute {self.name!r} is a number, and has no list of values")
        return self.values

    @property
    def dtype(self) -> str:
        """The type of its column in a table of users: numbers of values, or the numbers themselves."""
        return "<i8" if self.range is None else "<f8"

    def encode(self, value: str) -> int | float:
        """Convert a value to its number in the list, or a number in text to itself.

        Raises:
            DataError: it is not in the list, not a number, or not in the range. The message never repeats the value.
        """
        if self.range is None:
            if value in self._positions:
                return self._positions[value]
            return index_of(value, self.labels, attribute=self.name)
        least, largest = self.range
        try:
            number = float(value)
        except ValueError:
            raise DataError(f"attribute {self.name!r}: the given value is not a number") from None
        # This refuses NaN as well, which is in no range.
        if not least <= number <= largest:
            raise DataError(f"attribute {self.name!r}: the given number is not from {least:g} to {largest:g}")
        return number

    def scaled(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers of the range in units in which it is from -1 to 1."""
        least, largest = self.bounds
        scaled: NDArray[np.float64] = (numbers - least) / (largest - least) * 2 - 1
        return scaled.clip(-1, 1)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {value: position for position, value in enumerate(self.labels)}
