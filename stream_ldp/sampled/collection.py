"""Collections whose users are each asked one question, which their secret determines."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from stream_ldp.collection import MAX_BITS, PositiveDuration, Prior, Topics, require_distinct
from stream_ldp.collection.located import Misplaced
from stream_ldp.collection.records import CollectionOfRecords
from stream_ldp.errors import ParameterError
from stream_ldp.pipeline.window_series import WindowSeries
from stream_ldp.sampled.attributes import SampledAttribute
from stream_ldp.sampled.questions import MAX_QUESTIONS
from stream_ldp.sampled.spec import SampledSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.sampled.questions import QuestionSet, Table

__all__ = ["AskingCollection", "SampledCollection"]


class AskingCollection(CollectionOfRecords):
    """A collection whose users are each asked one question, whatever is estimated from their answers.

    mechanism: how users are asked, and what perturbs their answers.
    attributes: what may be asked about.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    attributes: tuple[SampledAttribute, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _questions_fit(self) -> Self:
        require_distinct([attribute.name for attribute in self.attributes], "attribute names", "attributes", "name")
        try:
            questions = self.questions
        except Misplaced:
            raise
        except ParameterError as error:
            raise Misplaced(str(error), "mechanism") from error
        if len(questions.questions) > MAX_QUESTIONS:
            raise Misplaced(f"{len(questions.questions):,} questions; at most {MAX_QUESTIONS:,}", "attributes")
        if questions.bits > MAX_BITS:
            raise Misplaced(f"{questions.bits:,} bits a report; at most {MAX_BITS:,}", "attributes")
        return self

    @property
    def questions(self) -> QuestionSet:
        """The questions, of which each user answers one.

        Raises:
            ParameterError: the mechanism cannot ask about the attributes.
        """
        raise NotImplementedError

    @property
    def _meaning(self) -> list[Any]:
        """The fingerprint's input, which says all that the meaning of a report depends on.

        It is [name, "sampled", [[attribute, [value, ...] or [least, largest] or null], ...], [question, ...],
        [end, ...]]. A question is [[position of an attribute, ...], kind of randomizer, [parameter, ...]], with the
        number of its cohort where values are hashed, and its users are those with words from the end before to its
        own.
        """
        questions = self.questions
        return [
            self.name,
            "sampled",
            [[each.name, _domain(each)] for each in self.attributes],
            [each.meaning for each in questions.questions],
            list(questions.ends),
        ]

    @property
    def bits(self) -> int:
        """Number of bits of a report."""
        return self.questions.bits

    def table(self, records: Table | Sequence[tuple[Any, ...]]) -> Table:
        """Return encoded records as a table of users, one a row, with a column for each attribute."""
        if isinstance(records, np.ndarray):
            return records
        columns = [(str(place), each.dtype) for place, each in enumerate(self.attributes)]
        return np.array([tuple(record) for record in records], dtype=columns)


class SampledCollection(AskingCollection):
    """A collection of frequencies and means, as a collection file describes it.

    every: time between two provisional answers of an open window.
    prior: what the answers of a window are held against: nothing (`window`), or the estimates of the windows before
        (`temporal`); by default `temporal` where it is possible.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    topics: ClassVar[Topics] = Topics(answers="marginals")

    mechanism_spec: SampledSpec = Field(alias="mechanism")
    every_ms: PositiveDuration = Field(alias="every", default=2_000)
    prior: Prior | None = None

    @model_validator(mode="after")
    def _windows_can_learn(self) -> Self:
        self.window.check_prior(self.prior, "prior")
        return self

    @cached_property
    def questions(self) -> QuestionSet:
        """See `AskingCollection.questions`."""
        return self.mechanism_spec.questions(self.attributes)

    @cached_property
    def series(self) -> tuple[WindowSeries, ...]:
        """The only series."""
        return (WindowSeries(name="marginals", every_ms=self.every_ms),)


def _domain(attribute: SampledAttribute) -> list[Any] | None:
    """Return what an attribute may be, as plain data; None for any text, whatever the candidates are."""
    if attribute.candidates is not None:
        return None
    return list(attribute.bounds if attribute.values is None else attribute.values)
