"""An estimate as it is published: JSON, self-contained, with its own error and privacy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SCHEMA_VERSION", "Axis", "Estimate", "Fit", "Independence", "Plausibility", "Privacy", "WindowBounds"]

#: Grows when a field changes its meaning or goes; a new optional field leaves it.
SCHEMA_VERSION: Literal[1] = 1

Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Part(BaseModel):
    # A later release may add fields; whoever reads the ones known here need not know them.
    model_config = ConfigDict(frozen=True, extra="ignore")


class Axis(_Part):
    """One attribute of the joint distribution, its values in the order of the arrays' axis."""

    attribute: str
    values: tuple[str, ...]


class WindowBounds(_Part):
    """Event time of the window: start included, end excluded, milliseconds since 1970-01-01 UTC."""

    start_ms: int
    end_ms: int


class Fit(_Part):
    """How the joint was solved, and how far from solved it may be."""

    method: str = Field(description="em, lasso or lremh")
    stop: str = Field(description="the stopping rule: certificate or paper")
    start: str = Field(description="what the iteration started from: uniform, independence, pairs, lasso or previous")
    iterations: int = Field(ge=0, description="evaluations of the EM map")
    certificate: Finite = Field(description="upper bound, in nats, of what the objective could still gain")
    certified: bool = Field(description="whether the certificate is within the estimator's tolerance")


class Independence(_Part):
    """The product-of-marginals baseline, and whether the reports tell the joint apart from it."""

    marginals: tuple[tuple[Probability, ...], ...] = Field(description="one distribution an axis")
    statistic: Finite = Field(description="likelihood-ratio statistic of the joint over the product")
    p_value: Probability
    dependent: bool = Field(description="whether independence is rejected; where not, prefer the product")


class Plausibility(_Part):
    """Whether the reports look as the mechanism makes them; a window that does not is marked, not hidden."""

    statistic: Finite = Field(description="of the numbers of set bits against what the channel allows")
    degrees_of_freedom: int = Field(ge=0, description="0 where there are too few reports to say anything")
    p_value: Probability = Field(description="chance that honest reports agree no better")
    flagged: bool = Field(
        description="whether honest reports would so rarely look like this that they are not all honest"
    )


class Privacy(_Part):
    """Epsilon, in nats, of any two records, and the assumption that it rests on."""

    per_report: float
    for_ever: float
    assumption: str


class Estimate(_Part):
    """A joint distribution over one window; the message of an estimates topic."""

    schema_version: Literal[1] = SCHEMA_VERSION
    collection: str
    fingerprint: str = Field(description="of the collection, hexadecimal", pattern="^[0-9a-f]{32}$")
    estimate: str
    window: WindowBounds
    final: bool = Field(description="false while the window is open; a final estimate never changes")
    reports: int = Field(ge=0, description="reports counted in the window, each once")
    effective_reports: Finite = Field(
        ge=0, description="equal to reports, or, with memory, Kish's effective number over the windows remembered"
    )
    axes: tuple[Axis, ...]
    probability: list[Any] = Field(description="nested lists, one level an axis; sums to 1")
    standard_error: list[Any] = Field(description="of each probability, same shape")
    fit: Fit
    independence: Independence
    plausibility: Plausibility
    privacy: Privacy

    @property
    def series(self) -> str:
        """Which answers it follows, window after window."""
        return self.estimate

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each axis."""
        return tuple(len(axis.values) for axis in self.axes)

    @model_validator(mode="after")
    def _cells_have_the_announced_shape(self) -> Self:
        for cells in (self.joint(), self.standard_errors()):
            if cells.shape != self.shape:
                raise ValueError(f"the axes announce cells of shape {self.shape}, there are {cells.shape}")
        return self

    def joint(self) -> NDArray[np.float64]:
        """The probabilities as an array of `shape`."""
        return np.array(self.probability, dtype=np.float64)

    def standard_errors(self) -> NDArray[np.float64]:
        """Their standard errors as an array of `shape`."""
        return np.array(self.standard_error, dtype=np.float64)

    @property
    def key(self) -> bytes:
        """Record key: one a final window, so that compaction keeps the history; one for the live view."""
        return f"{self.estimate}|{f'final|{self.window.start_ms}' if self.final else 'live'}".encode()

    def to_bytes(self) -> bytes:
        """UTF-8 JSON; every number in full precision, so that a warm start read back is the one published."""
        return self.model_dump_json().encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Estimate:
        """The inverse of `to_bytes`.

        Raises:
            ValueError: not an estimate, or of a schema version that this release does not read.
        """
        return cls.model_validate_json(data)

    def distance(self, truth: NDArray[np.float64]) -> float:
        """Average variation distance to a distribution of the same shape (Chu, Long and Liu, 2022, eq. 12)."""
        return float(0.5 * math.fsum(np.abs(self.joint() - truth).ravel()))
