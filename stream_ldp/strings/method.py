"""The interface of the methods that find strings, and how sure they are of what they have found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from stream_ldp.filtering.shrinkage import FrequencyPrior
from stream_ldp.filtering.weighted_reports import WeightedReports

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from stream_ldp.strings.attribute import StringAttribute
    from stream_ldp.strings.questions import StringAnswers, StringQuestion, StringQuestions

    #: Answers of each window, with the weight of the window.
    Windows = Sequence[tuple[float, StringAnswers]]

#: The most strings nobody has that may be expected to look as frequent as one that is reported. An expected share of
#: those reported in its place finds no more: with a fifth, 3 more strings are reported at epsilon 2 and 4 at epsilon
#: 1, all of them nobody's (10^6 users, k 32, strings by Zipf's law). What is not found is lost among the beginnings.
MAX_FALSE = 1.0

#: The fewest standard errors above 0 of a string that is reported, however few candidates there are.
MIN_SCORE = 2.0

#: The fewest standard errors above 0, shrunk towards what all candidates suggest, of a string that windows before
#: have found. One that noise has put there is tried again in each of them: of 100,000 users, half of whom return, 3
#: to 4 false strings were reported in place of 1.
_MIN_AGAIN = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Supports:
    """Counts of the reports that support some candidates.

    reports: their number, or that of the reports about each candidate; with memory or several of a user, the
        effective one.
    counts: those that support each candidate, float64.
    one, zero: probabilities that a report supports the string it was made from, and any other.
    """

    reports: float | NDArray[np.float64]
    counts: NDArray[np.float64]
    one: float
    zero: float

    @classmethod
    def of(
        cls,
        parts: Iterable[tuple[float, int, NDArray[np.int64]]],
        *,
        one: float,
        zero: float,
        reports_per_user: float = 1.0,
    ) -> Supports:
        """Add up windows, given as (weight, reports, counts), scaled to the effective number of reports.

        reports_per_user: see `WeightedReports.of`.
        """
        given = list(parts)
        weighted = WeightedReports.of(
            ((weight, reports) for weight, reports, _ in given), reports_per_user=reports_per_user
        )
        counts = np.sum([weight * counts.astype(np.float64) for weight, _, counts in given], axis=0)
        return cls(reports=weighted.effective, counts=weighted.scale * counts, one=one, zero=zero)

    @classmethod
    def joined(cls, parts: Sequence[Supports]) -> Supports:
        """Put candidates of several groups, which have the same probabilities, one after the other."""
        return cls(
            reports=np.concatenate([np.broadcast_to(each.reports, each.counts.shape) for each in parts]),
            counts=np.concatenate([each.counts for each in parts]),
            one=parts[0].one,
            zero=parts[0].zero,
        )

    def known(self, which: NDArray[np.intp], frequency: NDArray[np.float64], error: NDArray[np.float64]) -> Supports:
        """Return what as many reports of this window would say as it takes for other estimates of some candidates.

        which: numbers of the candidates.
        frequency, error: their frequencies and standard errors.
        """
        supported = np.clip(frequency, 0.0, 1.0) * (self.one - self.zero) + self.zero
        reports = np.array(np.broadcast_to(self.reports, self.counts.shape), dtype=np.float64)
        counts = self.counts.copy()
        reports[which] = supported * (1.0 - supported) / (error * (self.one - self.zero)) ** 2
        counts[which] = reports[which] * (frequency * (self.one - self.zero) + self.zero)
        return Supports(reports=reports, counts=counts, one=self.one, zero=self.zero)

    def taken(self, which: NDArray[np.intp]) -> Supports:
        """Return those of some candidates, given by their numbers."""
        reports = np.broadcast_to(self.reports, self.counts.shape)[which]
        return Supports(reports=reports, counts=self.counts[which], one=self.one, zero=self.zero)

    @property
    def frequency(self) -> NDArray[np.float64]:
        """FrequencyPrior of the candidates, without bias; there must be reports (Wang et al., 2017, eq. 2)."""
        return (self.counts / self.reports - self.zero) / (self.one - self.zero)

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """Standard errors of the frequencies, with the sampling of users."""
        supported = np.clip(self.frequency, 0.0, 1.0) * (self.one - self.zero) + self.zero
        return np.sqrt(supported * (1 - supported) / self.reports) / (self.one - self.zero)

    @property
    def absent_error(self) -> NDArray[np.float64]:
        """Standard error of the frequency of a string that nobody has, of the shape of `reports`."""
        return np.sqrt(self.zero * (1 - self.zero) / np.asarray(self.reports)) / (self.one - self.zero)

    @property
    def chance(self) -> NDArray[np.float64]:
        """The probability that a string nobody has is supported by at least as many reports: a binomial tail."""
        # Not imported above: a program that only reads a collection solves nothing, and need not wait for SciPy.
        from scipy.special import betainc  # noqa: PLC0415

        # With memory or several reports of a user, neither number is whole. Where no report supports a string, the
        # chance is 1.
        counts = np.clip(self.counts, 1e-9, self.reports)
        return np.asarray(betainc(counts, self.reports - counts + 1, self.zero))


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundStrings:
    """Strings that stand out of the noise, most frequent first.

    candidates: number of whole strings that were tried.
    symbols: shape (n, length).
    frequency: shape (n,).
    standard_error: shape (n,).
    expected_false: number of strings nobody has that are expected to look at least as frequent, shape (n,).
    """

    candidates: int
    symbols: NDArray[np.integer]
    frequency: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    expected_false: NDArray[np.float64]


@dataclass(frozen=True)
class TriedStrings:
    """Strings that may be frequent.

    symbols: shape (n, length).
    supports: counts of the reports that support each of them.
    every: for each of the whole strings from which they were chosen, the count of supporting reports, of answers that
        did not take part in the choice; none if there are no such strings.
    """

    symbols: NDArray[np.integer]
    supports: Supports
    every: Supports

    @property
    def tried(self) -> int:
        """Number of whole strings out of which they were chosen."""
        return len(self.every.counts)

    @cached_property
    def prior(self) -> FrequencyPrior:
        """The distribution of the frequencies of all strings that were tried.

        What is reported is chosen because it looks frequent, and what is known of it by this does not depend on that.
        """
        error = np.broadcast_to(self.every.absent_error, self.every.counts.shape)
        return FrequencyPrior.learn(self.every.frequency, error)


@dataclass(frozen=True, kw_only=True)
class StringMethod(ABC):
    """A method that finds the most frequent strings.

    attribute: what the strings consist of.
    questions: each user answers one.
    reports_per_user: sum m^2 / sum m over users with m reports each, who repeat their answer in all of them.
    """

    name: ClassVar[str]

    attribute: StringAttribute
    questions: StringQuestions[StringQuestion]
    reports_per_user: float = 1.0

    @classmethod
    @abstractmethod
    def of(cls, attribute: StringAttribute, *, epsilon: float) -> StringMethod:
        """Make the method for strings.

        epsilon: of a report, in nats.

        Raises:
            ParameterError: the epsilon is beyond the resolution, or the method is not for such strings.
        """

    @abstractmethod
    def candidates(self, windows: Windows, *, k: int) -> TriedStrings | None:
        """Find strings that may be among the k most frequent; None if a question that this takes has no answers.

        windows: the answers of each window, and its weight.
        """

    @abstractmethod
    def supports(self, windows: Windows, symbols: NDArray[np.integer]) -> Supports:
        """Count the answers that support each string, whatever strings they are.

        windows: as for `candidates`, which must have found some.
        symbols: shape (n, length).
        """

    def find(self, windows: Windows, *, k: int) -> FoundStrings | None:
        """Find the k most frequent strings; None if nobody has answered one of the questions that this takes.

        windows: the answers of each window, and its weight.
        """
        found = self.candidates(windows, k=k)
        if found is None:
            return None
        return select_reported(found.symbols, found.supports, prior=found.prior, candidates=found.tried, k=k)

    @property
    @abstractmethod
    def whole_support(self) -> tuple[float, float, float]:
        """The least share of the users who report a whole string, and the support of it and of another."""

    @abstractmethod
    def error(self, users: int) -> float:
        """Return the standard error of the frequency of a string that nobody has, with so many users."""


def select_reported(
    symbols: NDArray[np.integer],
    supports: Supports,
    *,
    prior: FrequencyPrior,
    candidates: int,
    k: int,
    again: NDArray[np.bool_] | None = None,
) -> FoundStrings:
    """Return the k most frequent strings of those that stand out of the noise.

    A string is reported if it is `MIN_SCORE` standard errors above 0, and if at most `MAX_FALSE` of the candidates
    that nobody has are expected to look as frequent (Bonferroni's bound on the number of false ones). Of those that
    are tried again, what is left after they are shrunk towards others has to stand out too.

    symbols: of the strings, shape (n, length).
    supports: of the strings.
    prior: the distribution of the frequencies of all candidates, to which those of the strings are drawn.
    candidates: number of strings out of which these were chosen.
    again: whether each string is tried again, since windows before have found it, shape (n,); none by default.
    """
    expected = candidates * supports.chance
    drawn = prior.drawn(supports.frequency, supports.standard_error)
    out = (supports.frequency >= MIN_SCORE * supports.absent_error) & (expected <= MAX_FALSE)
    if again is not None:
        out &= ~again | (drawn.mean >= _MIN_AGAIN * drawn.standard_error)
    order = np.argsort(-drawn.mean, kind="stable")
    order = order[out[order]][:k]
    return FoundStrings(
        candidates=candidates,
        symbols=symbols[order],
        frequency=drawn.mean[order],
        standard_error=drawn.standard_error[order],
        expected_false=expected[order],
    )
