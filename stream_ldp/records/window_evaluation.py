"""Evaluation of what windows learn from each other, on a known population that reports window after window."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.mechanisms.randomness.pseudonym import PSEUDONYM_BITS
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.bit_selection import selected
from stream_ldp.records.estimators import Recurrence
from stream_ldp.records.evaluation import average_variation_distance, coverage, joint_of
from stream_ldp.records.linking import LinkedUsers
from stream_ldp.records.solve import factor_of, supported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Mechanism
    from stream_ldp.mechanisms.mechanism import Symbols
    from stream_ldp.records.estimators import Estimator, FloatArray, Solution

__all__ = ["MadeOf", "Stream", "Told", "WindowScore", "WindowTrial", "window_scores", "window_trials"]

#: Share of the records, by the value that drifts, from which the first window's users come, and the last one's.
_END = 0.4
#: Windows before this share of them are not scored: the past has only begun.
_FIRST_SCORED = 0.25


#: What an estimate is made of: the window's reports and a prior, or all reports of the windows until then, as if each
#: were another user's (`pooled`) or each user's together (`linked`).
MadeOf = Literal["window", "temporal", "pooled", "linked"]


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Told:
    """What the users of one window have told.

    rows: packed reports, uint8, shape (users, width).
    users: number of each one's user, uint64, shape (users,).
    truth: joint distribution of these users, of the attributes that are estimated.
    """

    rows: NDArray[np.uint8]
    users: NDArray[np.uint64]
    truth: FloatArray

    def linked(self, *, bits: int) -> RowCounts:
        """Count the reports with their users as pseudonyms; `bits` is that of a report."""
        names = self.users.astype("<u8").view(np.uint8).reshape(len(self.users), -1)
        return RowCounts.of(np.concatenate([names, self.rows], axis=1), bits=PSEUDONYM_BITS + bits)


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Stream:
    """A population that reports in one window after another.

    Each window's users are the returning ones, whose permanent responses last as long as their records, and new ones,
    drawn with replacement.

    population: value indices, shape (rows, attributes), each below its attribute's size.
    drift: a number for each row, shape (rows,). Over the windows the users move, one by one, from the two fifths of
        the rows with the lowest numbers to those with the highest. None for users of all rows in every window.
    mechanism: the mechanism of exactly these attributes.
    users: number of users in a window, each with one report.
    windows: number of windows, at least 2.
    returning: share of the users who are there in every window.
    among: number of the last attributes whose joint is not estimated, and which only tell of a hidden factor.
    """

    population: NDArray[np.int64]
    drift: NDArray[np.int64] | None
    mechanism: Mechanism
    users: int
    windows: int
    returning: float
    among: int = 0

    @property
    def estimated(self) -> range:
        """Positions of the attributes whose joint is estimated."""
        return range(len(self.mechanism.sizes) - self.among)

    @property
    def reports_per_user(self) -> float:
        """The sum m^2 / sum m over users with m reports each in all windows."""
        return self.returning * self.windows + (1.0 - self.returning)

    def draw(self, seed: np.random.SeedSequence) -> Iterator[Told]:
        """Draw what the users of each window tell."""
        sampling, noise = seed.spawn(2)
        rng, entropy = np.random.default_rng(sampling), SeededEntropy(noise)
        first, last = self._ends(rng)
        mechanism, same = self.mechanism, round(self.returning * self.users)
        before, after = rng.choice(first, same), rng.choice(last, same)
        if self.drift is None:
            after = before
        responses = mechanism.permanent(before, entropy)
        # A record that changes draws new permanent noise; one that stays keeps its own.
        new_responses = responses if self.drift is None else mechanism.permanent(after, entropy)
        moves_at = rng.random(same)
        new_users = self.users - same
        for window, moved in enumerate(np.linspace(0.0, 1.0, self.windows)):
            has_moved = (moves_at < moved)[:, None]
            new = np.where(
                (rng.random(new_users) < moved)[:, None],
                rng.choice(last, new_users),
                rng.choice(first, new_users),
            )
            people = np.concatenate([np.where(has_moved, after, before), new])
            symbols: Symbols = np.concatenate(
                [np.where(has_moved, new_responses, responses), mechanism.permanent(new, entropy)]
            )
            numbers = np.arange(self.users, dtype=np.uint64)
            numbers[same:] += np.uint64(window * new_users)
            yield Told(
                rows=mechanism.packed(mechanism.instantaneous(symbols, entropy)),
                users=numbers,
                truth=joint_of(people[:, self.estimated], tuple(mechanism.sizes[each] for each in self.estimated)),
            )

    def _ends(self, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        rows = self.population.astype(np.intp)
        if self.drift is None:
            return rows, rows
        # Rows with equal numbers come in random order: that of a file may have a meaning.
        order = np.lexsort([rng.random(len(rows)), self.drift])
        number = max(1, round(_END * len(rows)))
        return rows[order[:number]], rows[order[-number:]]


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowTrial:
    """One estimate of one window.

    prior: what it was made of.
    returning: share of the users who are there in every window.
    avd: average variation distance to the joint of the window's own users.
    coverage: that of the standard errors, of the users whose reports the estimate is made of; see `coverage`. For
        pooled reports, they are those of all windows until then, each as often as it has reported.
    seconds: time that the estimate took.
    scored: false in the first quarter of the windows.
    last: whether it is that of the last window.
    """

    prior: MadeOf
    returning: float
    avd: float
    coverage: float
    seconds: float
    scored: bool
    last: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowScore:
    """The means of the scored trials of one prior and one share of returning users; the fields are theirs.

    last_avd, last_coverage: means of the last windows alone.
    """

    prior: MadeOf
    returning: float
    avd: float
    coverage: float
    seconds: float
    last_avd: float
    last_coverage: float

    @classmethod
    def of(cls, trials: Sequence[WindowTrial]) -> Self:
        """Summarise the trials, at least one of them scored, of one prior and share."""
        scored = [each for each in trials if each.scored]
        last = [each for each in scored if each.last]
        return cls(
            prior=scored[0].prior,
            returning=scored[0].returning,
            avd=float(np.mean([each.avd for each in scored])),
            coverage=float(np.mean([each.coverage for each in scored])),
            seconds=float(np.mean([each.seconds for each in scored])),
            last_avd=float(np.mean([each.avd for each in last])),
            last_coverage=float(np.mean([each.coverage for each in last])),
        )


def window_trials(
    stream: Stream,
    *,
    priors: Sequence[MadeOf],
    repeats: int,
    seed: int,
    estimator: Estimator,
    clock: Callable[[], float],
) -> Iterator[WindowTrial]:
    """Estimate every window with every prior, repeat by repeat.

    Each repeat draws users and noise of its own, the same for all priors; the seed determines both.

    priors: reports that are linked tell of no hidden factor, so that "linked" needs a stream without `among`.
    clock: returns seconds, from any origin.

    Raises:
        ValueError: linked reports are asked for of a stream whose attributes are among others.
    """
    if stream.among and "linked" in priors:
        raise ValueError("reports that are linked tell of no hidden factor: leave among out")
    for repeat in np.random.SeedSequence(seed).spawn(repeats):
        before: dict[MadeOf, Solution] = {}
        reported = _Reported(stream, links="linked" in priors)
        everybody = np.zeros([stream.mechanism.sizes[each] for each in stream.estimated])
        for window, told in enumerate(stream.draw(repeat)):
            truth = told.truth
            everybody += (truth - everybody) / (window + 1)
            reported.add(told)
            for prior in priors:
                begun = clock()
                solution = reported.solved(prior, estimator, last=before.get(prior))
                seconds = clock() - begun
                before[prior] = solution
                yield WindowTrial(
                    prior=prior,
                    returning=stream.returning,
                    avd=average_variation_distance(solution.joint, truth),
                    coverage=coverage(solution, everybody if prior == "pooled" else truth),
                    seconds=seconds,
                    scored=window >= _FIRST_SCORED * stream.windows,
                    last=window == stream.windows - 1,
                )


class _Reported:
    """The reports of the latest window of a stream, and of those before it."""

    def __init__(self, stream: Stream, *, links: bool) -> None:
        """Begin without a window; `links` says whether reports are kept with their users."""
        self._stream, self._links = stream, links
        bits = stream.mechanism.bits
        self._window, self._pooled, self._windows = RowCounts.empty(bits), RowCounts.empty(bits), 0
        self._linked: list[RowCounts] = []

    def add(self, told: Told) -> None:
        """Add the next window."""
        bits = self._stream.mechanism.bits
        self._window = RowCounts.of(told.rows, bits=bits)
        self._pooled += self._window
        self._windows += 1
        if self._links:
            self._linked.insert(0, told.linked(bits=bits))

    def solved(self, made_of: MadeOf, estimator: Estimator, *, last: Solution | None) -> Solution:
        """Estimate the joint distribution of the latest window.

        last: the solution of the window before by the same evidence; None if there was none.
        """
        stream, mechanism, own = self._stream, self._stream.mechanism, self._stream.estimated
        used, odds, recurrence = self._window, None, None
        if made_of == "pooled":
            effect = mechanism.design_effect(reports_per_user=replace(stream, windows=self._windows).reports_per_user)
            used = self._pooled.scaled(1.0 / effect)
        elif made_of == "linked":
            users = LinkedUsers.of(self._linked, bits=mechanism.bits)
            odds = mechanism.linked_odds(users.ones, users.reports)
        elif made_of == "temporal":
            recurrence = Recurrence(returning=stream.returning, permanent=mechanism.permanent_share)
        factor = factor_of(used, mechanism, range(len(mechanism.sizes))) if stream.among else None
        return estimator.estimate(
            supported(selected(used, mechanism.columns(own)), mechanism, own),
            sizes=tuple(mechanism.sizes[each] for each in own),
            supports=[mechanism.supports[each] for each in own],
            start=None if last is None else last.joint,
            past=None if last is None or last.temporal is None else last.temporal.past,
            recurrence=recurrence,
            odds=odds,
            factor=factor and factor[: len(own)],
        )


def window_scores(outcomes: Iterable[WindowTrial]) -> list[WindowScore]:
    """Make one score for each share and prior, in the order in which they first appear."""
    together: dict[tuple[float, MadeOf], list[WindowTrial]] = {}
    for each in outcomes:
        together.setdefault((each.returning, each.prior), []).append(each)
    return [WindowScore.of(trials) for trials in together.values()]
