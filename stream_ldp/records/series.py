"""The estimates of a collection of records: one series of answers each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from stream_ldp.collection import Name, Part, PositiveDuration, require_distinct

if TYPE_CHECKING:
    from stream_ldp.records.answer import Estimate

__all__ = ["EstimateSpec"]


class EstimateSpec(Part):
    """One joint distribution to estimate, a `stream_ldp.collection.Series`.

    of: the attributes, in the order of the axes of the result.
    method: the estimator.
    stop: its stopping rule: `certificate`, ours, or `paper`, max |P_t - P_(t-1)| < delta.
    every_ms: time between two provisional estimates of an open window, in milliseconds.
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

    def statistic(self, before: Estimate | None) -> tuple[str, ...]:  # noqa: ARG002
        """Name its statistic: the counts of its attributes' rows, in every window."""
        return self.of

    def follows(self, window_ms: int) -> tuple[str, int | None]:  # noqa: ARG002
        """Name the answer before: its own latest final, from whose joint the solver starts."""
        return self.name, None
