"""A method that asks some of the users as another method does, and passes on what is the same."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import RESOLUTION, FrequencyOracle, LolohaResponse
from stream_ldp.sets.phases import Inquiry, Method, Phase, RankingEstimate

Inner = TypeVar("Inner", bound=Method)


@dataclass(frozen=True)
class Wrapped(Generic[Inner]):
    """The base of methods that ask some of the users as another one does.

    method: the other method.
    """

    method: Inner

    @property
    def name(self) -> str:
        """The kind of the method."""
        return self.method.name

    @property
    def domain(self) -> int:
        """The number of items."""
        return self.method.domain

    @property
    def k(self) -> int:
        """The number of heavy hitters that are wanted."""
        return self.method.k

    @property
    def memoising(self) -> LolohaResponse | None:
        """That of the method."""
        return self.method.memoising

    def phases_within(self, begin: int, end: int) -> tuple[Phase, ...]:
        """Return the method's phases, which ask the users whose partition words are in [begin, end).

        Each bound of a share moves in proportion, and is rounded down.
        """

        def moved(word: int) -> int:
            return begin + word * (end - begin) // RESOLUTION

        return tuple(
            replace(phase, share=(moved(phase.share[0]), moved(phase.share[1]))) for phase in self.method.phases
        )


@dataclass(frozen=True)
class UserSample(Wrapped[Method]):
    """A method that asks only the users whose partition word is below a bound, and these as another method does.

    Frequencies are shares of the users who report, so that nothing else changes.

    words: the bound, from 1 to 2^32. Shares [begin, end) of the method become [begin words / 2^32, end words / 2^32),
        rounded down.
    """

    words: int

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The method's phases, of the sample."""
        return self.phases_within(0, self.words)

    def first(self) -> Inquiry:
        """Return the method's inquiry of phase 1."""
        return self.method.first()

    def oracle(self, inquiry: Inquiry) -> FrequencyOracle:
        """Return the method's oracle."""
        return self.method.oracle(inquiry)

    def solve(
        self, inquiry: Inquiry, *, sums: NDArray[np.int64], reports: int, before: RankingEstimate | None
    ) -> tuple[RankingEstimate, Inquiry | None]:
        """Solve as the method does."""
        return self.method.solve(inquiry, sums=sums, reports=reports, before=before)
