"""The part of an answer that says what the windows before have told of its numbers; see `local_level`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from stream_ldp.pipeline.answer import Finite, MessagePart
from stream_ldp.pipeline.local_level import DRIFTS, Level

if TYPE_CHECKING:
    from stream_ldp.pipeline.local_level import Updated

__all__ = ["Filter", "Learnt"]

Variance = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Filter(MessagePart):
    """What a final answer leaves to the next one, beside its estimates."""

    variances: tuple[Variance, ...] = Field(description="expected squared error of each, without permanent noise")
    permanent: tuple[Finite, ...] = Field(description="part of the users' permanent noise in each")
    evidence: tuple[Finite, ...] = Field(
        description="log-likelihood of each drift, up to a constant", min_length=len(DRIFTS), max_length=len(DRIFTS)
    )


class Learnt(MessagePart):
    """Numbers that are estimated from a window and from those before it."""

    estimate: tuple[Finite, ...] = Field(
        description="of each number; not held to its range, so that noise averages out"
    )
    standard_error: tuple[Variance, ...] = Field(description="of each estimate, with the doubt about the drift")
    weight: Finite = Field(ge=0, description="weight of the windows before, in reports; 0 if they are not used")
    drift: Finite | None = Field(
        description="expected squared change of a number between windows, as a share of its variance among "
        "users; null in a first window"
    )
    jumped: bool = Field(description="whether the population has moved as never before; the past is then not used")
    filter: Filter | None = Field(description="what the next window starts from; null in a provisional answer")

    @model_validator(mode="after")
    def _as_many_of_each(self) -> Self:
        lengths = {len(self.estimate), len(self.standard_error)}
        if self.filter is not None:
            lengths |= {len(self.filter.variances), len(self.filter.permanent)}
        if len(lengths) > 1:
            raise ValueError(f"estimates and what belongs to them differ in number: {sorted(lengths)}")
        return self

    @classmethod
    def of(cls, updated: Updated, *, final: bool) -> Self:
        """Convert what was learnt to its part of a message."""
        level = updated.level
        return cls(
            estimate=tuple(updated.mean.tolist()),
            standard_error=tuple(updated.standard_error.tolist()),
            weight=updated.reports,
            drift=updated.drift,
            jumped=updated.jumped,
            filter=Filter(
                variances=tuple(level.variances.tolist()),
                permanent=tuple(level.permanent.tolist()),
                evidence=tuple(level.evidence.tolist()),
            )
            if final
            else None,
        )

    @property
    def level(self) -> Level | None:
        """What the next window takes from it; None in a provisional answer."""
        if self.filter is None:
            return None
        return Level(
            mean=np.array(self.estimate, dtype=np.float64),
            variances=np.array(self.filter.variances, dtype=np.float64),
            permanent=np.array(self.filter.permanent, dtype=np.float64),
            evidence=np.array(self.filter.evidence, dtype=np.float64),
        )
