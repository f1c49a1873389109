"""Collections whose users are each asked one question, which their secret determines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import Field, model_validator

from stream_ldp.collection import MAX_BITS, require_distinct
from stream_ldp.collection.located import Misplaced
from stream_ldp.collection.records import CollectionOfRecords
from stream_ldp.errors import ParameterError
from stream_ldp.questions.attributes import AskedAttribute
from stream_ldp.questions.questions import MAX_QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.questions.questions import Question, QuestionSet, Table


class AskingCollection(CollectionOfRecords):
    """A collection whose users are each asked one question, whatever is estimated from their answers.

    mechanism: how users are asked, and what perturbs their answers.
    attributes: what may be asked about.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    attributes: tuple[AskedAttribute, ...] = Field(min_length=1)

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
    def questions(self) -> QuestionSet[Question]:
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
            [[attribute.name, _domain(attribute)] for attribute in self.attributes],
            [question.meaning for question in questions.questions],
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


def _domain(attribute: AskedAttribute) -> list[Any] | None:
    """Return what an attribute may be, as plain data; None for any text, whatever the candidates are."""
    if attribute.candidates is not None:
        return None
    return list(attribute.bounds if attribute.values is None else attribute.values)
