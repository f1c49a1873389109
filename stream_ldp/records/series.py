"""The estimates of a collection of records: one series of answers each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from stream_ldp.collection import Name, Part, PositiveDuration, Prior, Window, require_distinct
from stream_ldp.collection.located import Misplaced

if TYPE_CHECKING:
    from stream_ldp.records.answer import Estimate

#: Most attributes that have a hidden factor in common: it is learnt from all their pairs, 496 of 32.
MAX_AMONG = 32

#: What a temporal prior cannot do without, for messages.
NEEDED_BY_TEMPORAL = "needs method em or lremh, and stop certificate"


def has_prior(method: str, stop: str) -> bool:
    """Decide whether a form of a method draws its estimate to a prior by its likelihood."""
    return method != "lasso" and stop == "certificate"


class JointSpec(Part):
    """One joint distribution to estimate, a `stream_ldp.collection.Series`.

    name: name of the series of estimates.
    of: the attributes, in the order of the axes of the result.
    prior: what the estimate of a window is held against: nothing but its own reports (`window`), or the estimates of
        previous windows as well (`temporal`); by default `temporal` where it is possible.
    every_ms: time between two provisional estimates of an open window, in milliseconds.
    """

    name: Name
    of: tuple[str, ...] = Field(min_length=1)
    prior: Prior | None = None
    every_ms: PositiveDuration = Field(alias="every", default=2_000)

    @model_validator(mode="after")
    def _attributes_are_distinct(self) -> Self:
        require_distinct(self.of, f"attributes of estimate {self.name!r}", "of")
        return self

    def period_ms(self, window: Window) -> int:
        """Return the hop of the windows."""
        return window.pane_ms

    def follows(self, window_ms: int) -> tuple[str, int | None]:  # noqa: ARG002
        """Name the answer before, from which this one starts: its own latest final."""
        return self.name, None


class EstimateSpec(JointSpec):
    """One joint distribution to estimate, a `stream_ldp.collection.Series`.

    method: the estimator.
    stop: its stopping rule: `certificate`, ours, or `paper`, max |P_t - P_(t-1)| < delta.
    delta: bound of the stopping rule `paper`.
    among: attributes, those of the estimate and more, whose pairs are all evidence of one hidden factor that makes
        them dependent. Where it can be seen, the estimate is shrunk towards what it makes of its own attributes. By
        default, the estimate learns from its own attributes alone.
    """

    among: Annotated[tuple[str, ...], Field(min_length=3, max_length=MAX_AMONG)] | None = None
    method: Literal["em", "lasso", "lremh"] = "lremh"
    stop: Literal["certificate", "paper"] = "certificate"
    delta: float = Field(default=0.001, gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _its_attributes_are_among_others(self) -> Self:
        if self.among is None:
            return self
        require_distinct(self.among, f"attributes among which estimate {self.name!r} is", "among")
        if lacking := [name for name in self.of if name not in self.among]:
            raise Misplaced(f"the attributes of the estimate are among them: add {', '.join(lacking)}", "among")
        if not has_prior(self.method, self.stop):
            raise Misplaced("among needs method em or lremh, and stop certificate", "among")
        return self

    @model_validator(mode="after")
    def _a_prior_is_used(self) -> Self:
        if self.prior == "temporal" and not has_prior(self.method, self.stop):
            raise Misplaced(f"temporal {NEEDED_BY_TEMPORAL}", "prior")
        return self

    def is_temporal(self, window: Window) -> bool:
        """Decide whether the estimate of one window is the prior of the next."""
        return has_prior(self.method, self.stop) and window.can_learn(self.prior)

    @property
    def counted(self) -> tuple[str, ...]:
        """The attributes whose rows are counted for it."""
        return self.of if self.among is None else self.among

    def statistic(self, before: Estimate | None) -> tuple[str, ...]:  # noqa: ARG002
        """Name its statistic: the counts of the rows of some attributes, in every window."""
        return self.counted
