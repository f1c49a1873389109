"""The message that publishes an estimate: self-contained JSON, with the estimate's error and privacy."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from stream_ldp.collection.labels import Labels, labels_of
from stream_ldp.collection.located import suggestion
from stream_ldp.digits import apart, shown_p
from stream_ldp.errors import ParameterError
from stream_ldp.filtering.filtered import FilteredEstimate
from stream_ldp.message_part import Finite, MessagePart, SolverState, StateField
from stream_ldp.pipeline.answer import (
    AllAnswersField,
    Answer,
    Count,
    LiarsField,
    PlausibilityField,
    PrivacyPart,
    Probability,
    PublishedField,
    shown_costs,
)
from stream_ldp.pipeline.cells import LEVEL, Cell
from stream_ldp.pipeline.judgement import Judgement, Look, Measure, previous
from stream_ldp.quantity import quantity
from stream_ldp.records.distribution import Axis, DerivedDistribution, distribution
from stream_ldp.records.effects import Effects
from stream_ldp.records.numbers import Box, NumberAxis

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from stream_ldp.pipeline.cells import CellKey


#: Why an estimate says nothing of ranges.
_NO_NUMBERS = "this answer has no numbers with a `range`: leave out what they lie between"


def _as_list(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else value


#: A number of each cell of a joint, the last axis changing fastest. Text and truth values are no numbers to a page.
Cells = tuple[Annotated[float, Field(strict=True, allow_inf_nan=False)], ...]

Distribution = Annotated[tuple[Probability, ...], BeforeValidator(_as_list)]


class Fit(MessagePart):
    """The way in which the joint was solved, and how far from solved it may be."""

    method: str = Field(description="em, lasso, lremh or views")
    stop: str = Field(description="the stopping rule: certificate or paper; sweeps for views")
    start: str = Field(
        description="what the iteration started from: uniform, independence, pairs, factor, lasso or previous"
    )
    iterations: Count = Field(description="evaluations of the EM map")
    certificate: Finite = Field(
        description="upper bound, in nats, of what the objective could still gain; for views, the last sweep's change"
    )
    certified: bool = Field(description="whether the certificate is within the estimator's tolerance")
    tolerance: Finite | None = Field(
        default=None, description="certificate, in nats, that adds 0.1 % to the expected squared error"
    )
    prior_users: Finite | None = Field(
        default=None, description="weight of the prior, in users who report without noise; 0 for the published forms"
    )
    prior_centre: str | None = Field(
        default=None,
        description="centre of the prior: uniform, independence, pairs, factor or population; null without a prior",
    )


class Independence(MessagePart):
    """The product-of-marginals baseline, and a test of whether the joint differs from it."""

    marginals: tuple[Distribution, ...] = Field(description="one distribution an axis")
    statistic: Finite = Field(description="likelihood-ratio statistic of the joint over the product")
    p_value: Probability = Field(
        description="probability of such a statistic without dependence; 0.001 stands for at most 0.001"
    )
    dependent: bool = Field(
        description="whether independence is rejected; where not, the joint is shrunk towards the product"
    )
    may_be_function: bool = Field(
        default=False,
        description="whether an attribute may be a function of the others: reports show as much, or leave it open",
    )

    def __str__(self) -> str:
        """Say what the test shows, in words."""
        verdict = (
            "the attributes depend on each other"
            if self.dependent
            else "no significant dependence: the attributes may be independent"
        )
        if self.may_be_function:
            also = "" if self.dependent else "as well "
            verdict += f", and one may {also}be a function of the others"
        # The test takes 999 samples, so it can say no less.
        return f"{verdict} ({shown_p(self.p_value, least=0.001)})"


class JointFilter(SolverState):
    """What a final estimate leaves to the next one; see records/estimators/temporal.py."""

    mean: Cells = Field(
        description="the joint as all reports so far give it, without any prior, so that cells may be below 0, "
        "in the order of the joint's"
    )
    variances: Cells = Field(description="expected squared error of each coefficient, in this order")
    permanent: Cells = Field(description="part of the users' permanent noise in each")
    scores: Cells = Field(
        description="how far behind each coefficient has lately been, in standard deviations, summed over the "
        "coefficients' functions times the root of the product of the marginals; 0 if nothing is known"
    )
    evidence: tuple[Finite, ...] = Field(description="log-likelihood of each drift, up to a constant")
    population: Cells | None = Field(
        default=None,
        description="joint of the population with a prior; null where the estimate is as good",
    )
    population_variance: Finite | None = Field(
        default=None,
        gt=0,
        description="variance of each coefficient of the truth about it; null where none is known",
    )
    population_reports: Finite | None = Field(
        default=None,
        gt=0,
        description="number of reports of the last window that was estimated from its own; null where none is known",
    )


class FilteredMarginals(SolverState):
    """What previous windows contribute to attributes and pairs, where users report views."""

    of: tuple[tuple[str, ...], ...] = Field(description="each of them, by the names of its attributes")
    coefficients: FilteredEstimate = Field(
        description="orthonormal contrasts of each in turn (Helmert's), of a pair their products, those of the last "
        "attribute changing fastest"
    )


class Temporal(MessagePart):
    """What previous windows have contributed to an estimate."""

    alone: Cells = Field(description="the probabilities without it")
    users: Finite = Field(
        ge=0,
        description="weight of previous windows, in users who report as those of this window do; 0 if they are not "
        "used",
    )
    drift: Finite | None = Field(
        description="expected squared change of a coefficient from one window to the next; null in a first window"
    )
    jumped: bool = Field(description="whether the population has moved as never before; the past is then not used")
    #: What the next window starts from; None in a provisional estimate, and where users report views.
    filter: StateField[JointFilter] = None
    #: What it starts from where they do.
    views: StateField[FilteredMarginals] = None


class View(MessagePart):
    """A set of attributes whose users' answers an estimate is made of."""

    attributes: tuple[str, ...]
    reports: Count = Field(description="answers in the window about this view")
    withheld: bool = Field(
        default=False, description="whether they are left out, since fewer users than min_reports have answered"
    )


class Privacy(PrivacyPart):
    """Epsilon, in nats, of any two records, and the assumption that it rests on."""

    per_report: float
    lifetime: float
    all_answers: AllAnswersField = None
    assumption: str
    published: PublishedField = None


class Linked(MessagePart):
    """The users of a window of a collection that links reports, distinguished by their pseudonyms."""

    users: Count = Field(description="users who reported in the window")
    reports: Count = Field(description="reports that they have sent in the period until the window's end")
    reports_per_user: Finite = Field(
        ge=1, description="sum m^2 / sum m over the users with m reports each in the window"
    )
    returning: Probability | None = Field(
        description="share of the users who reported in the previous window; null in the first window of a "
        "period, and where fewer than min_reports of them did, or did not"
    )
    privacy: str = Field(description="what the pseudonyms of the reports reveal")

    def __str__(self) -> str:
        """Say whose reports an estimate is made of, in words."""
        share = self.returning
        returned = "" if share is None else f", of whom {share:.0%} reported in the previous window"
        return f"{quantity(self.reports, 'report')} of the period, of {quantity(self.users, 'user')}{returned}"


class Estimate(Answer):
    """A joint distribution over one window; the message of an estimates topic."""

    estimate: str
    effective_reports: Finite = Field(
        ge=0,
        description="number of reports of different users, all of one window, that would carry the same information: "
        "with memory, Kish's effective number over the windows remembered; with reports_per_user, less for their "
        "permanent noise; where reports are linked, of all that the window's users have sent in the period",
    )
    axes: tuple[Axis, ...]
    probability: Cells = Field(
        description="of each cell, a combination of a value of each axis, the last axis changing fastest; sums to 1"
    )
    standard_error: Cells = Field(description="of each probability")
    effects: Effects | None = Field(
        default=None,
        description="how these errors go together; null where that is not known, and sums of cells have upper bounds",
    )
    numbers: tuple[NumberAxis, ...] = Field(default=(), description="the axes that are cells of numbers")
    deviations: tuple[Cells, ...] = Field(
        default=(),
        description="components of the covariance of the probabilities, where axes are numbers: that of two is the "
        "sum over the components of the products of their entries. What this lacks of the squared standard errors is "
        "independent",
    )
    fit: Fit
    independence: Independence
    plausibility: PlausibilityField = None
    liars: LiarsField = ()
    privacy: Privacy
    linked: Linked | None = Field(default=None, description="null where reports have no pseudonyms")
    temporal: Temporal | None = Field(default=None, description="null with `prior: window`")
    views: tuple[View, ...] | None = Field(
        default=None, description="the views that the estimate is made of; null where users report all attributes"
    )

    @property
    def series(self) -> str:
        """Name of the series of estimates, one a window, that it belongs to."""
        return self.estimate

    @property
    def look(self) -> Look:
        return Look(title=self.estimate, names=tuple(axis.attribute for axis in self.axes), number="probability")

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each axis."""
        return tuple(len(axis.values) for axis in self.axes)

    @model_validator(mode="after")
    def _cells_have_the_announced_shape(self) -> Self:
        found = [self.probability, self.standard_error, *self.deviations]
        if self.temporal is not None:
            found.append(self.temporal.alone)
            left = self.temporal.filter
            if left is not None:
                found += [left.mean, left.variances, left.permanent, left.scores]
                found += [] if left.population is None else [left.population]
        announced = math.prod(self.shape)
        for cells in found:
            if len(cells) != announced:
                raise ValueError(f"the axes announce {announced} cells, there are {len(cells)}")
        sizes = tuple(map(len, self.independence.marginals))
        if sizes != self.shape:
            raise ValueError(f"the axes announce marginals of {self.shape} values, there are {sizes}")
        if self.effects is not None and self.effects.shape != self.shape:
            raise ValueError(f"the axes announce effects of {self.shape} values, there are {self.effects.shape}")
        return self

    def joint(self) -> NDArray[np.float64]:
        """Return the probabilities as an array of `shape`."""
        return np.array(self.probability, dtype=np.float64).reshape(self.shape)

    def standard_errors(self) -> NDArray[np.float64]:
        """Return the standard errors of the probabilities as an array of `shape`."""
        return np.array(self.standard_error, dtype=np.float64).reshape(self.shape)

    def marginal(self, *of: str) -> DerivedDistribution:
        """Return the distribution of some of the attributes alone.

        of: their names, in the order of the result's axes.

        Raises:
            ParameterError: one is not an attribute of the estimate, or is named twice.
        """
        return self._distribution(of)

    def conditional(self, *of: str, given: str | Sequence[str]) -> DerivedDistribution:
        """Return the distribution of some of the attributes for each combination of values of given others.

        of: their names, in the order of the result's last axes.
        given: names of the given attributes, in the order of its first axes.

        Raises:
            ParameterError: one is not an attribute of the estimate, or is named twice.
        """
        return self._distribution(of, given=[given] if isinstance(given, str) else given)

    def standard_error_of(self, weights: ArrayLike) -> float | None:
        """Return the standard error of a weighted sum of cells, such as of some together, or of one less another.

        weights: of each cell, of `shape`, or of one that broadcasts to it.

        Returns:
            None where the answer does not say how errors go together.

        Raises:
            ValueError: the weights have another shape.
        """
        if self.effects is None:
            return None
        whole = np.broadcast_to(np.asarray(weights, dtype=np.float64), self.shape)
        return math.sqrt(self.effects.of_sum(whole, self.standard_errors(), self.independence.marginals))

    def interval(self, level: float = LEVEL) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the least and the largest probability of each cell's interval, both of `shape`.

        level: probability with which an interval holds the true number.

        Raises:
            ParameterError: the level is not between 0 and 1.
        """
        return self.marginal(*(axis.attribute for axis in self.axes)).interval(level)

    def labelled(self, labels: Labels) -> Self:
        axes = (
            each.model_copy(update={"values": labels_of(labels, each.attribute, each.values)}) for each in self.axes
        )
        return self.model_copy(update={"axes": tuple(axes)})

    def cells(self) -> Iterator[Cell]:
        return self.marginal(*(axis.attribute for axis in self.axes)).cells()

    def narrowed_to(self, of: Sequence[str], *, given: Sequence[str] = ()) -> Iterator[Cell]:
        return self._distribution(of, given=given).cells()

    def _distribution(self, of: Sequence[str], *, given: Sequence[str] = ()) -> DerivedDistribution:
        effects = None if self.effects is None else (self.effects, self.independence.marginals)
        return distribution(self.axes, self.joint(), self.standard_errors(), of=of, given=given, effects=effects)

    def between(
        self,
        low: float,
        high: float,
        *,
        of: Sequence[str] = (),
        below: bool = False,
    ) -> Iterator[Cell]:
        for name in of or [number.attribute for number in self.numbers]:
            yield from self._in_ranges({name: (low, high)}, below=below)
        if not self.numbers:
            raise ParameterError(_NO_NUMBERS)

    def within(self, ranges: Mapping[str, tuple[float, float]], *, of: Sequence[str] = ()) -> Iterator[Cell]:
        return self._in_ranges(ranges, of=of)

    def _in_ranges(
        self, ranges: Mapping[str, tuple[float, float]], *, of: Sequence[str] = (), below: bool = False
    ) -> Iterator[Cell]:
        names = [axis.attribute for axis in self.axes]
        numbers = {number.attribute: number for number in self.numbers}
        if not numbers:
            raise ParameterError(_NO_NUMBERS)
        for name in (*ranges, *of):
            if name not in names:
                raise ParameterError(f"{name!r} is not an attribute of this estimate{suggestion(name, names)}")
        for name in ranges:
            if name not in numbers:
                raise ParameterError(
                    f"{name!r} has no `range`: the numbers of this estimate are {', '.join(numbers)}; name it in `of`"
                )
        if len({*ranges, *of}) < len(ranges) + len(of):
            raise ParameterError("an attribute is named twice")
        ends = {name: numbers[name].within(*given, below=below) for name, given in ranges.items()}
        shares, errors = Box(
            joint=self.joint(),
            errors=self.standard_errors(),
            deviations=np.reshape(self.deviations, (-1, *self.shape)),
            numbers={
                names.index(name): (numbers[name], *given)
                for name, given in ends.items()
                # All users are in the whole range.
                if given != (numbers[name].cells[0], numbers[name].cells[-1])
            },
            kept=[names.index(name) for name in of],
        ).shares()
        texts = {name: " to ".join(apart(given)) for name, given in ends.items()}
        values = product(*(self.axes[names.index(name)].values for name in of))
        for value, share, error in zip(values, shares.ravel().tolist(), errors.ravel().tolist(), strict=True):
            yield Cell(
                labels=texts | dict(zip(of, value, strict=True)),
                estimate=share,
                standard_error=error,
                names=(*texts.values(), *value),
            )

    def judgement(self) -> Judgement:
        linked, privacy, temporal = self.linked, self.privacy, self.temporal
        facts = {
            "certified": "yes" if self.fit.certified else "no",
            "dependent": "yes" if self.independence.dependent else "no",
        }
        evidence = [f"{quantity(self.reports, 'report')}{self._worth}", self._solved]
        costs = shown_costs(per_report=privacy.per_report, lifetime=privacy.lifetime, all_answers=privacy.all_answers)
        return Judgement(
            facts=facts if linked is None else {"users": f"{linked.users}"} | facts,
            evidence=(
                *evidence,
                *((str(self.independence),) if len(self.axes) > 1 else ()),
                *(() if linked is None else (str(linked),)),
            ),
            previous=() if temporal is None or not temporal.users else (self._previous(temporal),),
            privacy=(
                f"{costs}: {privacy.assumption}",
                *(() if linked is None else (linked.privacy,)),
                *privacy.sentences,
            ),
        )

    def _previous(self, temporal: Temporal) -> str:
        moved = self.distance(np.array(temporal.alone).reshape(self.shape))
        return previous(quantity(temporal.users, "user"), more=f" and move the answer by {moved:.4f}")

    @property
    def _worth(self) -> str:
        """The reports of different users that would say as much, in words; nothing where these are its own."""
        if self.effective_reports == self.reports:
            return ""
        return f", worth {self.effective_reports:,.0f} of different users in one window"

    @property
    def _solved(self) -> str:
        """The way in which it was solved, in words."""
        fit, within = self.fit, "within" if self.fit.certified else "NOT within"
        if self.views is None:
            return (
                f"{fit.method} from {fit.start}, {fit.iterations} iterations; at most {fit.certificate:.2g} nats "
                f"below the maximum likelihood, {within} tolerance"
            )
        asked = sum(1 for view in self.views if view.reports)
        return (
            f"fitted to {asked} of {len(self.views)} views in {fit.iterations} sweeps; the last one changed it by "
            f"{fit.certificate:.2g}, {within} tolerance"
        )

    def score(self, truth: Mapping[CellKey, float]) -> dict[str, Measure]:
        true = [truth.get(("", names), 0.0) for names in product(*(axis.values for axis in self.axes))]
        return {"distance": Measure(value=self.distance(np.array(true).reshape(self.shape)))}

    def distance(self, truth: NDArray[np.float64]) -> float:
        """Compute the average variation distance to another distribution (Chu, Long and Liu, 2022, eq. 12).

        truth: the other distribution, of the same shape.
        """
        return float(0.5 * math.fsum(np.abs(self.joint() - truth).ravel()))
