"""What of an answer is wanted: all its cells, those of some attributes, or the users between some numbers."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from stream_ldp.errors import ParameterError
from stream_ldp.pipeline.answer import Answer
from stream_ldp.pipeline.cells import Cell


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """A selection of cells.

    of, given: attributes whose distribution is wanted, for each combination of values of the given ones; none for all
        of an answer.
    between: two numbers: the share of users between them is wanted, and their mean, for each attribute or those of
        `of`.
    within: two numbers for each of some attributes: the share of users of whom all are between theirs is wanted, for
        each value of `of`.

    Raises:
        ParameterError: there are ranges, and given attributes.
    """

    of: Sequence[str] = ()
    given: Sequence[str] = ()
    between: tuple[float, float] | None = None
    within: Mapping[str, tuple[float, float]] | None = None

    def __post_init__(self) -> None:
        if (self.between is not None or self.within) and self.given:
            raise ParameterError("the share of users between two numbers is known for all of them: leave out `given`")

    @classmethod
    def parse(cls, ranges: Sequence[str], *, of: Sequence[str] = (), given: Sequence[str] = ()) -> Self:
        """Read ranges as texts: none, one such as `20,40`, or one for each of some attributes, such as `age=20,40`.

        Raises:
            ParameterError: a text is no range, an attribute has two, or one of several has none.
        """
        if not ranges:
            return cls(of=of, given=given)
        if len(ranges) == 1 and "=" not in ranges[0]:
            return cls(of=of, given=given, between=_ends(ranges[0], text=ranges[0]))
        within: dict[str, tuple[float, float]] = {}
        for text in ranges:
            name, _, numbers = text.rpartition("=")
            if not name:
                raise ParameterError(f"{text}: with several ranges, each needs a name, such as age=20,40")
            if name in within:
                raise ParameterError(f"{text}: {name} has a range already")
            within[name] = _ends(numbers, text=text)
        return cls(of=of, given=given, within=within)

    def cells(self, answer: Answer) -> Iterable[Cell]:
        """Return the cells of an answer that are wanted.

        Raises:
            ParameterError: the answer has no such attributes, or no such numbers.
        """
        if self.within is not None:
            return answer.within(self.within, of=self.of)
        if self.between is not None:
            return answer.between(*self.between, of=self.of)
        return answer.narrowed_to(self.of, given=self.given) if self.of or self.given else answer.cells()


def _ends(numbers: str, *, text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in numbers.split(","))
    except ValueError:
        low = high = math.nan
    if not low <= high:
        raise ParameterError(f"{text}: expected two numbers, the smaller one first, such as 20,40")
    return low, high


#: All cells.
EVERYTHING = Selection()
