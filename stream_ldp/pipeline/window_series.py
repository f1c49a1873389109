"""The series with one answer a window, made of all its reports, of collections which ask each user one question."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

from pydantic import Field, model_validator

from stream_ldp.collection import PositiveDuration, Prior, Window
from stream_ldp.collection.records import CollectionOfRecords

#: Name of the only statistic: the answers to all questions.
STATISTIC = ("answers",)


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowSeries:
    """The answers of one window after another, a `stream_ldp.collection.Series`.

    every_ms: time between two provisional answers of an open window, in milliseconds.
    """

    name: str
    every_ms: int

    def statistic(self, before: object) -> tuple[str, ...]:  # noqa: ARG002
        """Name its statistic, the same in every window."""
        return STATISTIC

    def period_ms(self, window: Window) -> int:
        """Return the hop of the windows."""
        return window.pane_ms

    def follows(self, window_ms: int) -> tuple[str, None]:  # noqa: ARG002
        """Name the answer before: its own latest final, which is the prior of this one."""
        return self.name, None


class CollectionOfOneSeries(CollectionOfRecords):
    """A collection with one series of answers, which has the name of their topic.

    every: time between two provisional answers of an open window.
    """

    every_ms: PositiveDuration = Field(alias="every", default=2_000)

    @cached_property
    def series(self) -> tuple[WindowSeries, ...]:
        """The only series."""
        return (WindowSeries(name=self.topics.answers, every_ms=self.every_ms),)


class CollectionOfFilteredSeries(CollectionOfOneSeries):
    """A collection with one series of answers, which learn from those of previous windows.

    prior: what the answers of a window are held against: nothing (`window`), or those of previous windows
        (`temporal`); by default `temporal` where it is possible.
    """

    prior: Prior | None = None

    @model_validator(mode="after")
    def _windows_can_learn(self) -> Self:
        self.window.check_prior(self.prior, "prior")
        return self
