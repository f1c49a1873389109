"""Collections of frequencies and means, about which users are each asked one question."""

from functools import cached_property
from typing import ClassVar

from pydantic import Field, field_validator

from stream_ldp.collection import Topics
from stream_ldp.marginals.question import AttributeQuestion
from stream_ldp.marginals.spec import AnySampledSpec, with_oracle
from stream_ldp.pipeline.window_series import CollectionOfFilteredSeries
from stream_ldp.questions.collection import AskingCollection
from stream_ldp.questions.questions import QuestionSet


class SampledCollection(CollectionOfFilteredSeries, AskingCollection):
    """A collection of frequencies and means, as a collection file describes it.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    topics: ClassVar[Topics] = Topics(answers="marginals")

    mechanism_spec: AnySampledSpec = Field(alias="mechanism", discriminator="oracle")

    @field_validator("mechanism_spec", mode="before", json_schema_input_type=AnySampledSpec)
    @classmethod
    def _has_an_oracle(cls, options: object) -> object:
        return with_oracle(options)

    @cached_property
    def questions(self) -> QuestionSet[AttributeQuestion]:
        return self.mechanism_spec.questions(self.attributes)
