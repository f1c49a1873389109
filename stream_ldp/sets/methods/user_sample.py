"""A method whose phases ask a sample of the users."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from stream_ldp.sets.methods.wrapped import Wrapped
from stream_ldp.sets.phases import Method

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import FrequencyOracle
    from stream_ldp.sets.phases import Inquiry, Phase, RankingEstimate


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
