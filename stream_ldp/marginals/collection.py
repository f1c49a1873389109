"""Collections of frequencies and means, about which users are each asked one question."""

from functools import cached_property
from typing import ClassVar, Self

from pydantic import Field, field_validator, model_validator

from stream_ldp.collection import PositiveDuration, Prior, Topics
from stream_ldp.marginals.question import AttributeQuestion
from stream_ldp.marginals.spec import AnySampledSpec, with_oracle
from stream_ldp.pipeline.window_series import WindowSeries
from stream_ldp.questions.collection import AskingCollection
from stream_ldp.questions.questions import QuestionSet


class SampledCollection(AskingCollection):
    """A collection of frequencies and means, as a collection file describes it.

    every: time between two provisional answers of an open window.
    prior: what the answers of a window are held against: nothing (`window`), or the estimates of previous windows
        (`temporal`); by default `temporal` where it is possible.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    topics: ClassVar[Topics] = Topics(answers="marginals")

    mechanism_spec: AnySampledSpec = Field(alias="mechanism", discriminator="oracle")
    every_ms: PositiveDuration = Field(alias="every", default=2_000)
    prior: Prior | None = None

    @field_validator("mechanism_spec", mode="before", json_schema_input_type=AnySampledSpec)
    @classmethod
    def _has_an_oracle(cls, options: object) -> object:
        return with_oracle(options)

    @model_validator(mode="after")
    def _windows_can_learn(self) -> Self:
        self.window.check_prior(self.prior, "prior")
        return self

    @cached_property
    def questions(self) -> QuestionSet[AttributeQuestion]:
        return self.mechanism_spec.questions(self.attributes)

    @cached_property
    def series(self) -> tuple[WindowSeries, ...]:
        """The only series."""
        return (WindowSeries(name="marginals", every_ms=self.every_ms),)
