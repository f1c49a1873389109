"""The questions of views: which values of a few attributes a user has together, and which number of one alone."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.marginals.numbers import NumberQuestion, cell_leverage
from stream_ldp.mechanisms import Entropy, FrequencyOracle
from stream_ldp.questions.answers import Answers
from stream_ldp.questions.questions import Question, Table
from stream_ldp.views.cells import ViewAxis
from stream_ldp.views.tables import NumberTable, ViewTable


@dataclass(frozen=True, kw_only=True)
class ViewQuestion(Question):
    """The question which cell of the joint distribution of a view the user is in.

    of: positions of the attributes, ascending.
    shape: number of values of each attribute; of a number, that of its cells.
    randomizer: perturbs the number of the cell, in which the value of the last attribute changes fastest (C order).
    """

    shape: tuple[int, ...]
    randomizer: FrequencyOracle

    @property
    def meaning(self) -> list[Any]:
        """See `Question.meaning`; with numbers among the attributes, it has the shape as well."""
        has_number = any(attribute.range is not None for attribute in self.attributes)
        return [*super().meaning, list(self.shape)] if has_number else super().meaning

    @property
    def permanent_answers(self) -> int:
        """One for each cell."""
        return math.prod(self.shape)

    def inputs(self, table: Table, *, entropy: Entropy) -> NDArray[np.int64]:  # noqa: ARG002
        """See `Question.inputs`: the numbers of the cells."""
        return np.ravel_multi_index(tuple(self.columns(table)), self.shape)

    def columns(self, table: Table) -> list[NDArray[np.int64]]:
        """See `Question.columns`: of a number, that of its cell, so that numbers of one cell have the same answer."""
        return [
            ViewAxis(attribute=attribute, size=size).holding(table[str(position)])
            for position, attribute, size in zip(self.of, self.attributes, self.shape, strict=True)
        ]

    def reported(self, answers: Answers[Any]) -> ViewTable:
        """Return what answers to it show."""
        frequencies = self.randomizer.estimate(answers.sums, reports=answers.reports).reshape(self.shape)
        return ViewTable(of=self.of, oracle=self.randomizer, reports=answers.reports, frequencies=frequencies)

    @property
    def cell_leverage(self) -> float:
        """The most that one crafted answer moves the share of a cell by, times the number of answers."""
        return self.randomizer.leverage


@dataclass(frozen=True, kw_only=True)
class NumberAlone(NumberQuestion):
    """The question which number a user has, answered by the cell of its grid.

    edges: of the cells, ascending.
    """

    edges: tuple[float, ...]

    def reported(self, answers: Answers[Any]) -> NumberTable:
        """Return what answers to it show."""
        (place,), fitted = self.of, self.distribution(answers)
        if fitted is None:
            raise ValueError(f"{self.randomizer.title} shows no shares of cells")
        return NumberTable.read(
            place, fitted.curve(self.edges[0], self.edges[-1]), np.array(self.edges), reports=answers.reports
        )

    @property
    def cell_leverage(self) -> float:
        """See `ViewQuestion.cell_leverage`."""
        return cell_leverage(self.randomizer, cells=len(self.edges) - 1)


AnyViewQuestion = ViewQuestion | NumberAlone
