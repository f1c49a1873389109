"""Collections of records with a few attributes, whose joint distributions are estimated."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, model_validator

from stream_ldp.collection import MAX_BITS, Collection, Label, Name, Part, PositiveDuration, require_distinct
from stream_ldp.collection.located import Misplaced, suggestion
from stream_ldp.errors import DataError
from stream_ldp.mechanisms import RRLDP, PermanentWords

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Attribute", "EstimateSpec", "JointCollection", "MechanismSpec"]

#: Cells of one estimate: at 40 bytes of JSON each, an estimate then stays below 6 MB, well within the 16 MiB that
#: an estimates topic takes in one record.
MAX_CELLS = 2**17


class Attribute(Part):
    """One question: its name and its possible answers, in the order of their bits."""

    name: Label
    values: tuple[Label, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _values_are_distinct(self) -> Self:
        require_distinct(self.values, f"values of attribute {self.name!r}", "values")
        return self


class MechanismSpec(Part):
    """RR-LDP's parameters as written; see `stream_ldp.mechanisms.RRLDP`."""

    kind: Literal["rr-ldp"]
    f: float
    p: float | None = None
    q: float | None = None

    @model_validator(mode="after")
    def _parameters_are_possible(self) -> Self:
        self.of(sizes=(2,))
        return self

    def of(self, *, sizes: tuple[int, ...]) -> RRLDP:
        """The mechanism for attributes of these sizes."""
        return RRLDP(sizes=sizes, f=self.f, p=self.p, q=self.q)


class EstimateSpec(Part):
    """One joint distribution to estimate.

    of: the attributes, in the order of the axes of the result.
    method: the estimator.
    stop: its stopping rule: `certificate`, ours, or `paper`, max |P_t - P_(t-1)| < delta.
    every: time between two provisional estimates of an open window, in milliseconds.
    """

    name: Name
    of: tuple[str, ...] = Field(min_length=1)
    method: Literal["em", "lasso", "lremh"] = "lremh"
    stop: Literal["certificate", "paper"] = "certificate"
    delta: float = Field(default=0.001, gt=0, allow_inf_nan=False)
    every_ms: PositiveDuration = Field(alias="every", default=2_000)

    @model_validator(mode="after")
    def _attributes_are_distinct(self) -> Self:
        require_distinct(self.of, f"attributes of estimate {self.name!r}", "of")
        return self

    def follows(self, window_ms: int) -> tuple[str, int | None]:  # noqa: ARG002
        """The last one of its own: its joint is where the solver starts from."""
        return self.name, None


class JointCollection(Collection):
    """What a collection file says of records.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    mechanism_spec: MechanismSpec = Field(alias="mechanism")
    attributes: tuple[Attribute, ...] = Field(min_length=1)
    estimates: tuple[EstimateSpec, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        require_distinct([attribute.name for attribute in self.attributes], "attribute names", "attributes", "name")
        require_distinct([estimate.name for estimate in self.estimates], "estimate names", "estimates", "name")
        if sum(self.sizes) > MAX_BITS:
            raise Misplaced(f"{sum(self.sizes):,} values in all; at most {MAX_BITS:,} fit a report", "attributes")
        for index, estimate in enumerate(self.estimates):
            for axis, name in enumerate(estimate.of):
                if name not in self._positions:
                    raise Misplaced(
                        f"{name!r} is not an attribute{suggestion(name, self._positions)}",
                        "estimates",
                        index,
                        "of",
                        axis,
                    )
            cells = math.prod(self.sizes_of(estimate))
            if cells > MAX_CELLS:
                raise Misplaced(f"{cells:,} cells; at most {MAX_CELLS:,} can be solved", "estimates", index, "of")
        return self

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {attribute.name: position for position, attribute in enumerate(self.attributes)}

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each attribute."""
        return tuple(len(attribute.values) for attribute in self.attributes)

    @cached_property
    def mechanism(self) -> RRLDP:
        """The mechanism, which both perturbs and tells the decoder its probabilities."""
        return RRLDP(sizes=self.sizes, f=self.mechanism_spec.f, p=self.mechanism_spec.p, q=self.mechanism_spec.q)

    def permanent_words(self) -> PermanentWords:
        """The keyed words of its users' permanent responses."""
        return PermanentWords(
            collection=self.name,
            attributes=[(attribute.name, attribute.values) for attribute in self.attributes],
            flip_threshold=self.mechanism.flip_threshold,
        )

    def attributes_of(self, estimate: EstimateSpec) -> tuple[Attribute, ...]:
        """The attributes of an estimate, in the order of its axes."""
        return tuple(self.attributes[self._positions[name]] for name in estimate.of)

    def sizes_of(self, estimate: EstimateSpec) -> tuple[int, ...]:
        """The shape of an estimate."""
        return tuple(len(attribute.values) for attribute in self.attributes_of(estimate))

    def bits_of(self, of: Sequence[str]) -> tuple[int, ...]:
        """Positions, in a report, of the bits of some attributes, in the given order."""
        positions: list[int] = []
        for name in of:
            position = self._positions[name]
            start = sum(self.sizes[:position])
            positions.extend(range(start, start + self.sizes[position]))
        return tuple(positions)

    @property
    def series(self) -> tuple[EstimateSpec, ...]:
        """The estimates."""
        return self.estimates

    @property
    def _meaning(self) -> list[Any]:
        """[name, "rr-ldp", [f/2, p, q in units of 2^-32], [[attribute, [value, ...]], ...]]."""
        return [
            self.name,
            self.mechanism_spec.kind,
            self.mechanism.thresholds,
            [[attribute.name, list(attribute.values)] for attribute in self.attributes],
        ]

    def encode(self, record: Mapping[str, str]) -> tuple[int, ...]:
        """The value indices of a record that gives every attribute one of its values.

        Raises:
            DataError: an attribute is missing, unknown, or has another value. The message never repeats the value.
        """
        if unknown := [name for name in record if name not in self._positions]:
            raise DataError(
                f"{unknown[0]!r} is not an attribute of collection {self.name!r}"
                f"{suggestion(unknown[0], self._positions)}"
            )
        codes = []
        for attribute in self.attributes:
            if attribute.name not in record:
                raise DataError(f"attribute {attribute.name!r} is missing")
            try:
                codes.append(attribute.values.index(record[attribute.name]))
            except ValueError:
                raise DataError(
                    f"attribute {attribute.name!r}: the given value is not one of {', '.join(attribute.values)}"
                ) from None
        return tuple(codes)
