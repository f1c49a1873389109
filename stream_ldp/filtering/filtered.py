"""The part of an answer with the contribution of previous windows to its numbers; see `local_level`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from stream_ldp.filtering.local_level import DRIFTS, Level, Noise, Updated, filter_known, filter_step
from stream_ldp.message_part import Finite, MessagePart, SolverState, StateField

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from stream_ldp.collection import Collection, Prior
    from stream_ldp.filtering.shrinkage import FrequencyPrior

Variance = Annotated[float, Field(ge=0, allow_inf_nan=False)]

#: Share of a number's variance among users below which a variance of its noise is taken for it: without any noise,
#: the likelihood of a drift would have no end.
_LEAST = 1e-12


class Filter(SolverState):
    """What a final answer leaves to the next one, beside its estimates."""

    variances: tuple[Variance, ...] = Field(description="expected squared error of each, without permanent noise")
    permanent: tuple[Finite, ...] = Field(description="part of the users' permanent noise in each")
    scores: tuple[Finite, ...] = Field(
        description="how far behind each has lately been, in standard deviations; 0 if nothing is known"
    )
    evidence: tuple[Finite, ...] = Field(
        description="log-likelihood of each drift, up to a constant", min_length=len(DRIFTS), max_length=len(DRIFTS)
    )


class FilteredEstimate(MessagePart):
    """Numbers that are estimated from a window and from those before it."""

    estimate: tuple[Finite, ...] = Field(
        description="of each number; not held to its range, so that noise averages out"
    )
    standard_error: tuple[Variance, ...] = Field(description="of each estimate, with the doubt about the drift")
    weight: Finite = Field(ge=0, description="weight of previous windows, in reports; 0 if they are not used")
    drift: Finite | None = Field(
        description="expected squared change of a number between windows, as a share of its variance among "
        "users; null in a first window"
    )
    jumped: bool = Field(description="whether the population has moved as never before; the past is then not used")
    #: What the next window starts from; None in a provisional answer.
    filter: StateField[Filter] = None

    @model_validator(mode="after")
    def _as_many_of_each(self) -> Self:
        left = self.filter
        others = () if left is None else (left.variances, left.permanent, left.scores)
        return self._require_as_many("estimates, errors and variances", self.estimate, self.standard_error, *others)

    @classmethod
    def of(cls, updated: Updated, *, final: bool) -> Self:
        """Convert what was learnt to its part of a message."""
        level = updated.level
        return cls(
            estimate=tuple(updated.mean.tolist()),
            standard_error=tuple(updated.standard_error.tolist()),
            weight=updated.reports,
            drift=updated.drift,
            jumped=updated.jumped,
            filter=Filter(
                variances=tuple(level.variances.tolist()),
                permanent=tuple(level.permanent.tolist()),
                scores=tuple(level.scores.tolist()),
                evidence=tuple(level.evidence.tolist()),
            )
            if final
            else None,
        )

    def taken(self, places: NDArray[np.intp]) -> Self:
        """Return what is known of the numbers at these places, in their order."""

        def some(numbers: tuple[float, ...]) -> tuple[float, ...]:
            return tuple(numbers[place] for place in places.tolist())

        left = self.filter
        return self.model_copy(
            update={
                "estimate": some(self.estimate),
                "standard_error": some(self.standard_error),
                "filter": None
                if left is None
                else left.model_copy(
                    update={
                        "variances": some(left.variances),
                        "permanent": some(left.permanent),
                        "scores": some(left.scores),
                    }
                ),
            }
        )

    @property
    def level(self) -> Level | None:
        """What the next window takes from it; None in a provisional answer."""
        if self.filter is None:
            return None
        left = self.filter
        return Level.of(
            mean=self.estimate,
            variances=left.variances,
            permanent=left.permanent,
            scores=left.scores,
            evidence=left.evidence,
        )


def columns(learnt: FilteredEstimate | None, *, numbers: int) -> list[dict[str, float]]:
    """Return what a table has of each number with previous windows, by the names of its columns.

    learnt: None where nothing can be learnt; the table then has no such column.
    numbers: how many there are.
    """
    if learnt is None:
        return [{}] * numbers
    found = zip(learnt.estimate, learnt.standard_error, strict=True)
    return [{"learnt": estimate, "learnt_error": error} for estimate, error in found]


def returning_share(collection: Collection, prior: Prior | None) -> float | None:
    """Return the share of users who repeat one answer in every window, if windows are combined with previous ones.

    Returns:
        None where nothing can be learnt: windows share reports, the file wants a window by itself, or all users
        return, who say nothing new. As long as the file does not say how many return, all may.
    """
    if not collection.window.can_learn(prior) or collection.returning == 1.0:
        return None
    return collection.returning


def filter_window(
    before: FilteredEstimate | None,
    found: NDArray[np.float64],
    errors: NDArray[np.float64],
    *,
    returning: float,
    reports: float,
    elapsed: int,
    final: bool,
    forgotten: int = 1,
    spread: NDArray[np.float64] | None = None,
    places: NDArray[np.intp] | None = None,
    prior: FrequencyPrior | None = None,
) -> FilteredEstimate:
    """Estimate numbers of a window whose users always repeat what they have once reported.

    All of the noise of a user who returns is then permanent, and only new users say anything new.

    before: what the previous final has learnt; None if there was none.
    returning: share of the users who report in every window, see `returning_share`.
    final: whether this window is the prior of the next.

    The others are those of `filter_numbers`.
    """
    after = filter_numbers(
        None if before is None else before.level,
        found,
        errors,
        permanent=returning,
        reports=reports,
        elapsed=elapsed,
        forgotten=forgotten,
        spread=spread,
        places=places,
        prior=prior,
    )
    return FilteredEstimate.of(after, final=final)


def filter_numbers(
    past: Level | None,
    found: NDArray[np.float64],
    errors: NDArray[np.float64],
    *,
    permanent: NDArray[np.float64] | float,
    reports: float,
    elapsed: int = 1,
    forgotten: int = 1,
    spread: NDArray[np.float64] | None = None,
    places: NDArray[np.intp] | None = None,
    prior: FrequencyPrior | None = None,
) -> Updated:
    """Estimate numbers of a window with those before it, where a share of each number's error is permanent.

    past: what the previous window leaves; None if there was none.
    found: unbiased estimates of the window alone, shape (numbers,).
    errors: their standard errors, of noise and of the sampling of users.
    permanent: the share of their squares that is the same in every window, of each number or of all.
    reports: number of reports that the estimates are made of, positive.
    elapsed: number of windows since the one before, at least 1.
    spread: variance of each number among users; None for shares of them.
    places: the place of each number in the past, -1 for one that has none; None if it has the same numbers.
    prior: the distribution of the numbers, if those here were chosen by their estimates.
    """
    if places is None:
        places = np.full(len(found), -1) if past is None else np.arange(len(found))
    if spread is None:
        share = np.array(found, dtype=np.float64)
        if past is not None:
            share[places >= 0] = past.mean[places[places >= 0]]
        share = np.clip(share, 0.0, 1.0)
        spread = np.maximum(share * (1.0 - share), 1.0 / reports)
    variance = np.maximum(errors**2, _LEAST * spread)
    noise = Noise(
        sampling=np.zeros(len(variance)), fresh=(1.0 - permanent) * variance, permanent=permanent * variance
    )
    if past is None:
        return filter_step(None, found, noise, scale=spread, reports=reports)
    return filter_known(
        past, places, found, noise, scale=spread, reports=reports, elapsed=elapsed, forgotten=forgotten, prior=prior
    )


def places_among(names: Sequence[Hashable], past: Sequence[Hashable]) -> NDArray[np.intp]:
    """Find the place of each number among those of the past, by their names; -1 for one that has no past."""
    places = {name: place for place, name in enumerate(past)}
    return np.array([places.get(name, -1) for name in names], dtype=np.intp)
