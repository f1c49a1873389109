"""What solves of a window leave to the next one: counts that the reports since then are added to.

Reports only come, and a solve of a million of them takes seconds. The counts are whole numbers, so that an answer is
the same whether they are added up at once or in parts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_ldp.pipeline.statistics import RowCounts

#: Most counts that are kept, of 8 bytes each: with 64 beginnings of each of two questions about two more of 26
#: letters, there are 90,000, and up to twice as many are kept. What is beyond is counted anew.
MAX_KEPT = 2**21


class Answers(Protocol):
    """Answers that can be selected by the numbers of their questions."""

    @property
    def numbers(self) -> NDArray[np.integer]: ...

    def where(self, wanted: NDArray[np.bool_]) -> Self: ...


AnswersT = TypeVar("AnswersT", bound=Answers)

#: Counts the answers that support each beginning with each ending, int64, shape (endings, beginnings).
Count = Callable[[AnswersT, "NDArray[np.integer]", "NDArray[np.integer]"], "NDArray[np.int64]"]


class Counted(NamedTuple):
    """Counts of the answers to a question that support strings with some endings.

    beginnings: symbols, shape (beginnings, letters).
    counts: shape (endings, beginnings).
    """

    beginnings: NDArray[np.integer]
    counts: NDArray[np.int64]


class Left(NamedTuple):
    """What a solve has counted of one window: which rows, and what by question and endings."""

    rows: RowCounts
    counted: Mapping[tuple[int, bytes], Counted]


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Recount(Generic[AnswersT]):
    """Counts of the answers of one window.

    fresh: answers that have come since the solve before.
    before: what that has counted of the others.
    most: counts that may be kept.
    number: of the question, where the answers are to one.
    now: what this solve has counted of all.
    """

    fresh: AnswersT
    before: Mapping[tuple[int, bytes], Counted]
    most: int
    number: int = 0
    now: dict[tuple[int, bytes], Counted] = field(default_factory=dict)

    def asked(self, number: int) -> Self:
        """Return the same of the answers to one question."""
        return replace(self, fresh=self.fresh.where(self.fresh.numbers == number), number=number)

    def counted(
        self,
        count: Count[AnswersT],
        answers: AnswersT,
        beginnings: NDArray[np.integer],
        endings: NDArray[np.integer],
    ) -> NDArray[np.int64]:
        """Count answers, all of them only for beginnings that the solve before has not counted; see `Count`.

        As many others that it has counted are kept up to date: some are soon tried again.
        """
        key = self.number, endings.tobytes()
        none = Counted(beginnings[:0], np.zeros((len(endings), 0), dtype=np.int64))
        before = self.before.get(key, none)
        places = {beginning.tobytes(): place for place, beginning in enumerate(before.beginnings)}
        taken = np.array([places.pop(beginning.tobytes(), -1) for beginning in beginnings], dtype=np.int64)
        others = np.array(list(places.values())[: len(beginnings)], dtype=np.int64)
        kept, taken = np.concatenate([beginnings, before.beginnings[others]]), np.concatenate([taken, others])
        known, counts = taken >= 0, np.empty((len(endings), len(kept)), dtype=np.int64)
        if known.any():
            counts[:, known] = before.counts[:, taken[known]] + count(self.fresh, kept[known], endings)
        if not known.all():
            counts[:, ~known] = count(answers, kept[~known], endings)
        if counts.size + sum(each.counts.size for each in self.now.values()) <= self.most:
            self.now[key] = Counted(kept, counts)
        return counts[:, : len(beginnings)]
