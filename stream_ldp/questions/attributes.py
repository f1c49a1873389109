"""The attributes of sampled collections: values in a list, any text, or numbers in a range."""

import math
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, model_validator

from stream_ldp.collection import Label, Part, one_of, require_distinct
from stream_ldp.collection.located import Misplaced
from stream_ldp.collection.values import (
    Edge,
    MissingValue,
    clipped,
    encode_value,
    fill_in_values,
    number_of,
    text_of,
    well_formed,
)
from stream_ldp.errors import ParameterError

#: Widths of ranges of numbers: beyond them, a variance is 0 or infinite as a number of 64 bits.
_NARROWEST, _WIDEST = 1e-100, 1e100

#: Most steps of a range: twice those of the grid of a square wave, which distinguishes no more numbers.
MAX_STEPS = 256

#: Part of a step by which the last may miss the end of the range, for the rounding of decimals.
_OFF = 1e-6


class AskedAttribute(Part):
    """An attribute of a user: a name, and the values or the range of numbers that it may have.

    name: name, as records have it.
    values: the possible values, whose frequencies are estimated.
    candidates: in place of values, those of any text whose frequencies are estimated. Clients need not know them, and
        the server may be given others at any time.
    range: the least and the largest possible number; the mean and the distribution are estimated.
    step: the numbers are the least one and whole steps above it, such as 1 for whole numbers: clients take a number
        between for the nearest of them. The whole distribution is then estimated over these numbers alone.
    clip: whether clients take a number beyond the range, or the bins, for the nearest in them; otherwise they refuse
        it.
    quantiles: shares, each between 0 and 1 and ascending, such as [0.5, 0.95, 0.99]: the numbers that so many users
        are below are estimated as well. An extreme is a high quantile, whose error is stated.
    bins: in place of values, ascending numbers that bound intervals, which are then the values.
    missing: value, or any text, that stands for one that is missing, the last unless it is among the values; without
        it, a record that lacks a value is refused.
    other: value that stands for any value outside the list, after the others unless among them; without it, such a
        record is refused, and its missing report reveals that the value is outside the list.
    """

    model_config = ConfigDict(json_schema_extra=one_of("values", "bins", "range", "candidates"))

    name: Label
    values: tuple[Label, ...] | None = Field(default=None, min_length=2)
    candidates: tuple[Label, ...] | None = Field(default=None, min_length=1)
    range: tuple[float, float] | None = None
    step: float | None = None
    quantiles: tuple[float, ...] = ()
    clip: bool = True
    bins: tuple[Edge, ...] | None = None
    missing: Label | None = None
    other: Label | None = None

    @model_validator(mode="before")
    @classmethod
    def _values_are_complete(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("range") is not None and data.get("bins") is not None:
            raise Misplaced(
                "a number with a `range` has no bins, since its whole distribution is estimated: leave one out",
                "bins",
            )
        return fill_in_values(data)

    @model_validator(mode="after")
    def _one_domain(self) -> Self:
        given = [each for each in (self.values, self.candidates, self.range) if each is not None]
        if len(given) != 1:
            raise ParameterError(
                f"attribute {self.name!r} needs either `values`, a list, or `bins`, the edges of intervals, or "
                "`range: [least, largest]`, or `candidates`, a list of some texts"
            )
        if self.quantiles:
            self._check_quantiles()
        if self.missing is not None and self.range is not None:
            raise Misplaced("a number has no value for what is missing: take `bins`", "missing")
        if self.other is not None and self.values is None:
            raise Misplaced("only an attribute with values or bins can have one for all others", "other")
        if self.candidates is not None:
            require_distinct(self.candidates, f"candidates of attribute {self.name!r}", "candidates")
        if self.values is not None:
            require_distinct(self.values, f"values of attribute {self.name!r}", "values")
        if not self.clip and self.range is None and self.bins is None:
            raise Misplaced(f"attribute {self.name!r} is no number that could be clipped to a `range`", "clip")
        if self.range is not None and not (all(map(math.isfinite, self.range)) and self.range[0] < self.range[1]):
            raise Misplaced(
                f"the range of attribute {self.name!r} needs two numbers, the smaller one first; got "
                f"[{self.range[0]:g}, {self.range[1]:g}]",
                "range",
            )
        if self.range is not None and not _NARROWEST <= self.range[1] - self.range[0] <= _WIDEST:
            raise Misplaced(
                f"the range of {self.name!r} has to be {_NARROWEST:g} to {_WIDEST:g} wide: take another unit",
                "range",
            )
        return self

    @model_validator(mode="after")
    def _whole_steps(self) -> Self:
        if self.step is None:
            return self
        if self.range is None:
            raise Misplaced(
                f"attribute {self.name!r} is not a number with a `range`, so it cannot have a step", "step"
            )
        if not 0.0 < self.step < math.inf:
            raise Misplaced(f"the step of {self.name!r} is a number above 0, such as 1; got {self.step:g}", "step")
        (least, largest), steps = self.range, (self.range[1] - self.range[0]) / self.step
        if steps > MAX_STEPS + _OFF:
            raise Misplaced(
                f"the range of {self.name!r} has {steps:,.0f} steps, and answers distinguish at most {MAX_STEPS}: "
                "leave `step` out, or take a longer one",
                "step",
            )
        if abs(steps - self.steps) > _OFF or not self.steps:
            end = least + max(math.floor(steps), 1) * self.step
            raise Misplaced(
                f"steps of {self.step:g} from {least:g} do not end at {largest:g}: take a range to {end:g}, or "
                "another step",
                "step",
            )
        return self

    def _check_quantiles(self) -> None:
        if self.range is None:
            raise Misplaced(
                f"attribute {self.name!r} is not a number with a `range`, so it cannot have quantiles", "quantiles"
            )
        for each in self.quantiles:
            if not 0.0 < each < 1.0:
                raise Misplaced(
                    f"a quantile of {self.name!r} is a share between 0 and 1, such as 0.95; got {each:g}. For an "
                    "extreme, take a high quantile, such as 0.99: what one user has must not show",
                    "quantiles",
                )
        if any(low >= high for low, high in pairwise(self.quantiles)):
            raise Misplaced(f"the quantiles of {self.name!r} have to ascend, each given once", "quantiles")

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
    def steps(self) -> int:
        """The number of steps of the range; 0 without a step."""
        least, largest = self.bounds
        return 0 if self.step is None else round((largest - least) / self.step)

    @property
    def domain(self) -> list[Any] | None:
        """What it may be, as the meaning of a collection has it; None for any text, whatever the candidates are."""
        if self.range is not None:
            return [*self.range, *(() if self.step is None else (self.step,))]
        return None if self.values is None else list(self.values)

    @property
    def labels(self) -> tuple[str, ...]:
        """The values, or candidates, in the list.

        Raises:
            TypeError: the attribute is a number.
        """
        labels = self.candidates if self.values is None else self.values
        if labels is None:
            raise TypeError(f"attribute {self.name!r} is a number, and has no list of values")
        return labels

    @property
    def dtype(self) -> str:
        """The type of its column in a table of users: numbers of values, texts, or the numbers themselves."""
        if self.candidates is not None:
            return "O"
        return "<i8" if self.range is None else "<f8"

    def encode(self, value: Any) -> int | float | str:
        """Convert a value to its number in the list, a number in text to itself, and leave any text as it is.

        Raises:
            MissingValue: it is missing.
            DataError: it is not in the list without `other`, not a number, or not in the range without `clip`. The
                message never repeats the value.
        """
        text = text_of(value, what=f"attribute {self.name!r}: the given value")
        if self.values is not None:
            if text in self._positions:
                return self._positions[text]
            return encode_value(
                text,
                self.values,
                attribute=self.name,
                bins=self.bins,
                missing=self.missing,
                other=self.other,
                clip=self.clip,
            )
        text = self.missing if text is None else text
        if text is None:
            raise MissingValue(self.name, held=value)
        if self.range is None:
            return well_formed(text)
        least, largest = self.range
        number = number_of(text, attribute=self.name)
        # -0.0 is 0, and must not have another permanent answer.
        number = clipped(number, least=least, largest=largest, clip=self.clip, attribute=self.name)
        return float(self.stepped(number)) + 0.0

    def stepped(self, numbers: Any) -> Any:
        """Return the nearest whole steps to a number of the range, or several; the greater of two, and any without.

        Each operation is rounded as doubles are, so that all clients find the same number.
        """
        if self.step is None:
            return numbers
        least, largest = self.bounds
        return np.minimum(least + np.floor((numbers - least) / self.step + 0.5) * self.step, largest)

    def scaled(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers of the range in units in which it is from -1 to 1."""
        least, largest = self.bounds
        scaled: NDArray[np.float64] = (numbers - least) / (largest - least) * 2 - 1
        return scaled.clip(-1, 1)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {value: position for position, value in enumerate(self.labels)}
