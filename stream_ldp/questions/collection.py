"""Collections whose users are each asked one question, which their secret determines."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from stream_ldp.collection import MAX_BITS, require_distinct
from stream_ldp.collection.located import Misplaced
from stream_ldp.collection.records import CollectionOfRecords
from stream_ldp.errors import ParameterError
from stream_ldp.questions.attributes import AskedAttribute
from stream_ldp.questions.questions import MAX_QUESTIONS, Question, QuestionSet, Table


class CollectionOfQuestions(CollectionOfRecords):
    """A collection whose users each answer one of some questions, or the only one."""

    @property
    def questions(self) -> QuestionSet[Question]:
        """The questions.

        Raises:
            ParameterError: the mechanism cannot ask about what is to be asked.
        """
        raise NotImplementedError

    def checked_questions(self, *place: str) -> QuestionSet[Question]:
        """Return the questions, each checked to be possible.

        place: that in the file of what is too much to be asked.

        Raises:
            Misplaced: one is not, or a report is too long.
        """
        try:
            questions = self.questions
        except Misplaced:
            raise
        except ParameterError as error:
            raise Misplaced(str(error), "mechanism") from error
        if questions.bits > MAX_BITS:
            raise Misplaced(f"{questions.bits:,} bits a report; at most {MAX_BITS:,}", *place)
        return questions

    @property
    def bits(self) -> int:
        """Number of bits of a report."""
        return self.questions.bits

    def chosen(self, table: Table) -> NDArray[np.int64] | None:  # noqa: ARG002
        """Return the number of the question that each user has chosen, shape (n,); None where chance decides."""
        return None

    @property
    def _columns(self) -> list[tuple[str, str]]:
        """The columns of a table of users, with their types."""
        raise NotImplementedError

    def table(self, records: Table | Sequence[tuple[Any, ...]]) -> Table:
        """Return encoded records as a table of users, one a row."""
        if isinstance(records, np.ndarray):
            return records
        return np.array([tuple(record) for record in records], dtype=self._columns)


class AskingCollection(CollectionOfQuestions):
    """A collection whose users are each asked about some attributes, whatever is estimated from their answers.

    mechanism: how users are asked, and what perturbs their answers.
    attributes: what may be asked about.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    attributes: tuple[AskedAttribute, ...] = Field(min_length=1, examples=[[{"name": "age", "range": [0, 120]}]])

    @model_validator(mode="after")
    def _questions_fit(self) -> Self:
        require_distinct([attribute.name for attribute in self.attributes], "attribute names", "attributes", "name")
        questions = self.checked_questions("attributes").questions
        if len(questions) > MAX_QUESTIONS:
            raise Misplaced(f"{len(questions):,} questions; at most {MAX_QUESTIONS:,}", "attributes")
        return self

    @property
    def _meaning(self) -> list[Any]:
        """The fingerprint's input, which says all that the meaning of a report depends on.

        It is [name, "sampled", [[attribute, domain], ...], [question, ...], [end, ...]], with domains as in
        `AskedAttribute.domain`. A question is [[position of an attribute, ...], kind of randomizer, [parameter,
        ...]], with the number of its cohort where values are hashed. Its users are those with words from the previous
        question's end to its own.
        """
        questions = self.questions
        return [
            self.name,
            "sampled",
            [[attribute.name, attribute.domain] for attribute in self.attributes],
            [question.meaning for question in questions.questions],
            list(questions.ends),
        ]

    @property
    def _columns(self) -> list[tuple[str, str]]:
        return [(str(place), each.dtype) for place, each in enumerate(self.attributes)]
