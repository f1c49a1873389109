"""This module plays users who report the records of a table, for one window or for many, and scores the estimates."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stream_ldp.cli.progress import watched
from stream_ldp.records.evaluation import scores, trials
from stream_ldp.records.users_needed import Distance, users_needed
from stream_ldp.records.window_evaluation import Stream, window_scores, window_trials

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Mechanism
    from stream_ldp.records.estimators import Estimator
    from stream_ldp.records.evaluation import Score, Trial
    from stream_ldp.records.users_needed import Needed
    from stream_ldp.records.window_evaluation import MadeOf, WindowScore

__all__ = ["Reporting"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reporting:
    """Users drawn from a table, who report its records again and again.

    population: value indices, shape (records, attributes).
    users: number of users in each repeat, or in each window of it.
    among: number of attributes, the last ones, that are reported and not estimated.
    """

    population: NDArray[np.int64]
    mechanism: Mechanism
    users: int
    among: int
    repeats: int
    seed: int

    def warm_up(self, estimators: Sequence[Estimator]) -> None:
        """Estimate from one user, so that no time of an estimate has the imports in it that the first one needs."""
        for _ in replace(self, users=1, repeats=1)._trials(estimators):
            pass

    def scores(self, estimators: Sequence[Estimator], *, what: str = "estimates") -> list[Score]:
        """Evaluate each estimator on the reports of one window."""
        return scores(watched(self._trials(estimators), total=self.repeats * len(estimators), what=what))

    def _trials(self, estimators: Sequence[Estimator]) -> Iterator[Trial]:
        return trials(
            self.population,
            mechanism=self.mechanism,
            users=self.users,
            repeats=self.repeats,
            seed=self.seed,
            estimators=estimators,
            clock=time.perf_counter,
            among=self.among,
        )

    def users_needed(self, of: Estimator, *, wanted: float) -> Needed | None:
        """Find the number of users with which an estimator has this mean distance; None beyond MOST_USERS."""

        def measure(users: int, repeats: int, round_: int) -> Distance:
            users_of_round = replace(self, users=users, repeats=repeats, seed=self.seed + round_)
            (score,) = users_of_round.scores([of], what=f"estimates of {users:,} users")
            return Distance(score.avd, score.avd_sd)

        return users_needed(wanted, users=self.users, repeats=self.repeats, measure=measure)

    def window_scores(
        self,
        of: Estimator,
        *,
        windows: int,
        drift: NDArray[np.int64] | None,
        shares: Sequence[float],
        priors: Sequence[MadeOf],
    ) -> list[WindowScore]:
        """Evaluate an estimator with each prior on consecutive windows, for each share of returning users."""
        trials_of_shares = (
            window_trials(
                Stream(
                    population=self.population,
                    drift=drift,
                    mechanism=self.mechanism,
                    users=self.users,
                    windows=windows,
                    returning=share,
                    among=self.among,
                ),
                priors=priors,
                repeats=self.repeats,
                seed=self.seed,
                estimator=of,
                clock=time.perf_counter,
            )
            for share in shares
        )
        total = self.repeats * windows * len(shares) * len(priors)
        return window_scores(watched(itertools.chain.from_iterable(trials_of_shares), total=total, what="estimates"))
