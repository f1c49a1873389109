"""A method whose phases ask a sample of the users."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from stream_ldp.mechanisms import RESOLUTION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import FrequencyOracle, LolohaResponse
    from stream_ldp.sets.phases import Inquiry, Method, Phase, RankingEstimate


@dataclass(frozen=True)
class UserSample:
    """A method that asks only the users whose partition word is below a bound, and these as another method does.

    Frequencies are shares of the users who report, so that nothing else changes.

    method: the other method.
    words: the bound, from 1 to 2^32. Shares [begin, end) of the method become [begin words / 2^32, end words / 2^32),
        rounded down.
    """

    method: Method
    words: int

    @property
    def name(self) -> str:
        """The method's kind."""
        return self.method.name

    @property
    def domain(self) -> int:
        """The number of items."""
        return self.method.domain

    @property
    def k(self) -> int:
        """The number of heavy hitters that are wanted."""
        return self.method.k

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The method's phases, of the sample."""
        return tuple(
            replace(phase, share=(self._scaled(phase.share[0]), self._scaled(phase.share[1])))
            for phase in self.method.phases
        )

    @property
    def memoising(self) -> LolohaResponse | None:
        """That of the method."""
        return self.method.memoising

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

    def _scaled(self, word: int) -> int:
        return word * self.words // RESOLUTION
