"""The number of reports that those of several windows are worth, where earlier windows have less weight."""

from collections.abc import Iterable
from typing import NamedTuple, Self


class WeightedReports(NamedTuple):
    """The reports of several windows, those of one with the same weight.

    total: sum w n over windows of n reports and weight w.
    squares: sum w^2 n, times the reports of a user who repeats one answer: these vary together.
    """

    total: float
    squares: float

    @classmethod
    def of(cls, windows: Iterable[tuple[float, float]], *, reports_per_user: float = 1.0) -> Self:
        """Add up windows, given as (weight, number of reports).

        reports_per_user: sum m^2 / sum m over users with m reports each, who repeat one answer in all of them.
        """
        given = list(windows)
        return cls(
            sum(weight * reports for weight, reports in given),
            reports_per_user * sum(weight**2 * reports for weight, reports in given),
        )

    @property
    def scale(self) -> float:
        """The factor that scales weighted counts to the effective number of reports; 1 without any."""
        return self.total / self.squares if self.squares else 1.0

    @property
    def effective(self) -> float:
        """The number of reports that say as much, of users with one each, (sum w n)^2 / sum w^2 n (Kish, 1965)."""
        return self.scale * self.total
