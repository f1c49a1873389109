"""The message that publishes the marginals of a window: frequencies and means with their errors and privacy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from stream_ldp.collection.labels import Labels, labels_of
from stream_ldp.collection.located import suggestion
from stream_ldp.collection.values import is_bin
from stream_ldp.digits import apart
from stream_ldp.errors import ParameterError
from stream_ldp.filtering.filtered import FilteredEstimate, columns
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.message_part import Finite, MessagePart
from stream_ldp.pipeline.answer import (
    AllAnswersField,
    Answer,
    Count,
    LiarsField,
    PlausibilityField,
    Positive,
    PrivacyPart,
    Probability,
    PublishedField,
    shown_costs,
)
from stream_ldp.pipeline.cells import LEVEL, Cell, normal_quantile, part_of_range
from stream_ldp.pipeline.curve import Curve, components
from stream_ldp.pipeline.judgement import WITHHELD, Judgement, Look, filtered_lines
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from stream_ldp.marginals.distribution import FittedDistribution

#: Digits after the point of the errors of a distribution: an error of 10^-7 takes 10^14 reports.
_ERROR_DIGITS = 7

Error = Annotated[float, Field(ge=0, allow_inf_nan=False)]

#: Estimates, their errors, and the largest variance of each among users; None for frequencies, which say it.
Measured = tuple["NDArray[np.float64]", "NDArray[np.float64]", "NDArray[np.float64] | None"]


def _labels(number: str, value: str = "") -> dict[str, str | int]:
    return {"quantity": number, "value": value}


class Frequencies(MessagePart):
    """The frequencies of the values of an attribute."""

    kind: Literal["frequencies"] = "frequencies"
    values: tuple[str, ...]
    raw: tuple[Finite, ...] = Field(description="unbiased estimates, which may be negative or above 1")
    standard_error: tuple[Error, ...] = Field(description="of each raw estimate: noise, and the sampling of users")
    projected: tuple[Probability, ...] = Field(
        description="the nearest distribution to the raw estimates (norm-sub); of 12 values or more, to what these "
        "suggest of each other"
    )
    others: Probability | None = Field(
        default=None, description="projected share of users with none of these values; null where there are no others"
    )
    learnt: FilteredEstimate | None = Field(
        default=None,
        description="the frequencies with previous windows; null where nothing can be learnt from them",
    )
    dropped: tuple[str, ...] = Field(
        default=(),
        description="candidates without an estimate, which do not stand out: there are more of them than can be "
        "distinguished; they count as others",
    )

    @model_validator(mode="after")
    def _as_many_of_each(self) -> Self:
        learnt = () if self.learnt is None else (self.learnt.estimate,)
        found = self.raw, self.standard_error, self.projected, *learnt
        return self._require_as_many("frequencies, errors and values", self.values, *found)

    def cells(self, attribute: str) -> Iterator[Cell]:
        """Iterate over the frequencies, and that of all other values."""
        learnt = columns(self.learnt, numbers=len(self.values))
        cells = zip(self.values, self.projected, self.standard_error, self.raw, learnt, strict=True)
        in_order = any(map(is_bin, self.values))
        for place, (value, projected, error, raw, more) in enumerate(cells):
            yield Cell(
                labels=_labels("frequency", value),
                estimate=projected,
                standard_error=error,
                raw=raw,
                others=more,
                names=(value,),
                group=attribute,
                place=place if in_order else None,
            )
        if self.others is not None:
            yield Cell(labels=_labels("others"), estimate=self.others, standard_error=None)

    def labelled(self, labels: Labels, attribute: str) -> Self:
        """Return it with labels in place of values."""
        values, dropped = (labels_of(labels, attribute, each) for each in (self.values, self.dropped))
        return self.model_copy(update={"values": values, "dropped": dropped})

    @property
    def notes(self) -> tuple[str, ...]:
        """What a display says of the values that it does not show."""
        return (
            *((f"{len(self.dropped):,} candidates do not stand out, and have no estimate",) if self.dropped else ()),
            *(() if self.others is None else (f"none of these: {self.others:.4f}",)),
        )

    def previous(self, attribute: str) -> tuple[str, ...]:
        """Say what previous windows contribute."""
        return filtered_lines(self.learnt, self.values, about=attribute, unit="answer")

    @property
    def subject(self) -> tuple[str, Any]:
        """What is estimated: two windows with the same have the same numbers."""
        return self.kind, self.values

    @property
    def measured(self) -> Measured | None:
        """The numbers that may be filtered; None where they are only those that stand out in this window."""
        return None if self.dropped else (np.array(self.raw), np.array(self.standard_error), None)

    def with_past(self, learnt: FilteredEstimate | None) -> Self:
        """Return it with the estimate of it and previous windows."""
        return self.model_copy(update={"learnt": learnt})


class Outputs(MessagePart):
    """The shares of the outputs of a channel, where the frequencies of the values do not follow from them."""

    kind: Literal["outputs"] = "outputs"
    values: tuple[str, ...] = Field(description="of the attribute, whose frequencies are not estimated")
    rank: Positive = Field(description="of the channel; less than the number of values")
    share: tuple[Probability, ...] = Field(description="of each output in the answers")
    standard_error: tuple[Error, ...] = Field(description="of each share: noise, and the sampling of users")

    @model_validator(mode="after")
    def _as_many_of_each(self) -> Self:
        return self._require_as_many("shares and errors", self.share, self.standard_error)

    def cells(self, attribute: str) -> Iterator[Cell]:
        """Iterate over the shares of the outputs, for which no value of the attribute is the truth."""
        for number, (share, error) in enumerate(zip(self.share, self.standard_error, strict=True)):
            yield Cell(
                labels=_labels("output", str(number)),
                estimate=share,
                standard_error=error,
                names=(str(number),),
                group=f"outputs of {attribute}",
            )

    def labelled(self, labels: Labels, attribute: str) -> Self:
        """Return it with labels in place of values."""
        return self.model_copy(update={"values": labels_of(labels, attribute, self.values)})

    @property
    def notes(self) -> tuple[str, ...]:
        """What a display says of the values."""
        return ("its frequencies do not follow from the outputs",)

    def previous(self, attribute: str) -> tuple[str, ...]:  # noqa: ARG002
        """Say that previous windows contribute nothing."""
        return ()

    @property
    def learnt(self) -> None:
        """The estimate of it and previous windows: none."""
        return

    @property
    def subject(self) -> tuple[str, Any]:
        return self.kind, self.values

    @property
    def measured(self) -> None:
        """See `Frequencies.measured`: nothing is filtered."""
        return

    def with_past(self, learnt: FilteredEstimate | None) -> Self:  # noqa: ARG002
        """See `Frequencies.with_past`: as it is."""
        return self


class Mean(MessagePart):
    """The mean of a number."""

    raw: Finite = Field(description="unbiased estimate, which may lie outside the range")
    standard_error: Error = Field(description="of the raw estimate: noise, and the sampling of users")
    projected: Finite = Field(description="the nearest number in the range")


class Distribution(MessagePart):
    """The distribution of a number over points, at which or around which users are."""

    points: tuple[Finite, ...] = Field(
        description="ascending from the least to the largest number: evenly spaced ones, and peaks, which may be at "
        "one of these"
    )
    exact: tuple[bool, ...] = Field(
        default=(),
        description="whether the users of a point have this very number, as at a peak; those of others spread evenly "
        "up to the middles between it and the next others",
    )
    probability: tuple[Probability, ...] = Field(description="of each point; sums to 1")
    standard_error: tuple[Error, ...] = Field(
        default=(), description="of each probability: noise, and the sampling of users"
    )
    deviations: tuple[tuple[Finite, ...], ...] = Field(
        default=(),
        description="components of the covariance of the shares of users up to each point but the last: that of two "
        "of these shares is the sum over the components of the products of their entries. The error of any range and "
        "quantile follows",
    )

    @model_validator(mode="after")
    def _as_many_of_each(self) -> Self:
        self._require_as_many("all points but the last and their deviations", self.points[1:], *self.deviations)
        found = self.probability, self.standard_error or self.points, self.exact or self.points
        return self._require_as_many("points and what belongs to them", self.points, *found)

    @classmethod
    def of(cls, fitted: FittedDistribution, bounds: tuple[float, float]) -> Self:
        """Make the message of a distribution over a range."""
        errors = np.sqrt(np.maximum(np.diag(fitted.covariance), 0.0))
        return cls(
            points=tuple(fitted.numbers(*bounds).tolist()),
            exact=tuple(fitted.exact.tolist()) if fitted.exact.any() else (),
            probability=tuple(fitted.probability.tolist()),
            standard_error=tuple(errors.round(_ERROR_DIGITS).tolist()),
            deviations=tuple(tuple(each) for each in components(fitted.covariance).round(_ERROR_DIGITS).tolist()),
        )

    def by_number(self) -> Iterator[tuple[float, float, float | None]]:
        """Iterate over the different numbers, with the share of users at or around each, and its standard error.

        A peak at a point of the grid is one number with it: of two cells with the same labels the log keeps one.
        """
        errors = self.standard_error or (None,) * len(self.points)
        up_to = np.pad(np.reshape(self.deviations, (len(self.deviations), -1)), ((0, 0), (1, 1)))
        for number, places in groupby(range(len(self.points)), key=self.points.__getitem__):
            first, *others = places
            if not others:
                yield number, self.probability[first], errors[first]
                continue
            moved = up_to[:, others[-1] + 1] - up_to[:, first]
            error = float(np.linalg.norm(moved)) if self.deviations else None
            yield number, sum(self.probability[first : others[-1] + 1]), error

    @cached_property
    def curve(self) -> Curve:
        """The share of users below each number."""
        return Curve.of(self.points, self.probability, self.deviations, exact=self.exact)


class Quantile(MessagePart):
    """The number that a share of the users is below."""

    share: Probability
    value: Finite
    standard_error: Error = Field(description="half the width of the interval, over 1.96")
    interval: tuple[Finite, Finite] = Field(
        description="where the 0.95 intervals of the shares below cease to hold the share, within the range"
    )

    @classmethod
    def of(cls, curve: Curve, share: float) -> Self:
        """Read a quantile off a curve."""
        low, high = curve.quantile_interval(share, LEVEL)
        return cls(
            share=share,
            value=curve.quantile(share),
            standard_error=(high - low) / (2 * normal_quantile(LEVEL)),
            interval=(low, high),
        )


class Numbers(MessagePart):
    """The mean and, where the answers show more than a mean, the distribution of an attribute that is a number."""

    kind: Literal["numbers"] = "numbers"
    range: tuple[Finite, Finite]
    mean: Mean
    distribution: Distribution | None = None
    quantiles: tuple[Quantile, ...] = ()
    learnt: FilteredEstimate | None = Field(
        default=None, description="the mean with previous windows; null where nothing can be learnt from them"
    )

    @model_validator(mode="after")
    def _one_mean(self) -> Self:
        if self.learnt is not None and len(self.learnt.estimate) != 1:
            raise ValueError(f"{len(self.learnt.estimate)} numbers are learnt of one mean")
        return self

    def cells(self, attribute: str) -> Iterator[Cell]:
        """Iterate over the mean and the distribution, whose points a display leaves out."""
        (more,) = columns(self.learnt, numbers=1)
        yield Cell(
            labels=_labels("mean"),
            estimate=self.mean.projected,
            standard_error=self.mean.standard_error,
            raw=self.mean.raw,
            range=self.range,
            others=more,
            names=("mean",),
            group=attribute,
        )
        if self.distribution is None:
            return
        for place, each in enumerate(self.quantiles):
            name = f"quantile {each.share:g}"
            yield Cell(
                labels=_labels("quantile", f"{each.share:g}"),
                estimate=each.value,
                standard_error=each.standard_error,
                range=self.range,
                ends=partial(self.distribution.curve.quantile_interval, each.share),
                names=(name,),
                group=f"quantiles of {attribute}",
                place=place,
            )
        numbers, shares, of_shares = zip(*self.distribution.by_number(), strict=True)
        for text, part, error in zip(apart(numbers), shares, of_shares, strict=True):
            yield Cell(labels=_labels("share", text), estimate=part, standard_error=error)

    def labelled(self, labels: Labels, attribute: str) -> Self:  # noqa: ARG002
        """Return it as it is: numbers have no labels."""
        return self

    def between(self, attribute: str, low: float, high: float, *, below: bool = False) -> Iterator[Cell]:
        """Iterate over the share of users from one number to another, and their mean.

        One number is a range where it has a `step`, and then there is no mean.

        below: whether users at the second number are left out; the mean is then left out, too.

        Raises:
            ParameterError: the answers show a mean only, or the numbers bound no part of the range.
        """
        if self.distribution is None:
            raise ParameterError(f"the answers about {attribute!r} show its mean only: no range follows from them")
        stepped = bool(self.distribution.exact) and all(self.distribution.exact)
        low, high = within = part_of_range(attribute, self.range, low, high, stepped=stepped)
        curve, name = self.distribution.curve, " to ".join(dict.fromkeys(apart(within)))
        share, error = curve.share(low, high, side="left" if below else "right")
        yield Cell(
            labels=_labels("share", name), estimate=share, standard_error=error, names=(name,), group=attribute
        )
        if below or low == high:
            return
        found = curve.mean(low, high)
        if found is not None:
            mean, error = found
            yield Cell(
                labels=_labels("mean", name),
                estimate=mean,
                standard_error=error,
                range=(low, high),
                names=(f"mean of {name}",),
                group=attribute,
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a display says besides: nothing."""
        return ()

    def previous(self, attribute: str) -> tuple[str, ...]:
        """Say what previous windows contribute."""
        return filtered_lines(self.learnt, ("mean",), about=attribute, unit="answer")

    @property
    def subject(self) -> tuple[str, Any]:
        return self.kind, self.range

    @property
    def measured(self) -> Measured | None:
        """See `Frequencies.measured`: the mean, whose variance among users is at most that of the two ends."""
        least, largest = self.range
        return (
            np.array([self.mean.raw]),
            np.array([self.mean.standard_error]),
            np.array([((largest - least) / 2) ** 2]),
        )

    def with_past(self, learnt: FilteredEstimate | None) -> Self:
        return self.model_copy(update={"learnt": learnt})


class Marginal(MessagePart):
    """What is known of one attribute."""

    attribute: str
    mechanism: str = Field(description="the randomizers of the answers")
    reports: Count = Field(description="answers in the window about this attribute")
    effective_reports: Error = Field(
        description="number of answers of different users, all of one window, that would say as much: equal to "
        "reports, but for memory (Kish's effective number over the windows remembered) and reports_per_user"
    )
    estimate: Annotated[Frequencies | Numbers | Outputs, Field(discriminator="kind")] | None = Field(
        description="null where nobody has answered, or the numbers are withheld"
    )
    withheld: bool = Field(
        default=False,
        description="whether its numbers are withheld, since fewer users than min_reports have answered",
    )

    def cells(self) -> Iterator[Cell]:
        """Iterate over its frequencies, or its mean and distribution; where nobody has answered, there are none."""
        for cell in () if self.estimate is None else self.estimate.cells(self.attribute):
            labels, others = {"attribute": self.attribute, **cell.labels}, {"answers": self.reports, **cell.others}
            yield replace(cell, labels=labels, others=others)

    @property
    def notes(self) -> tuple[str, ...]:
        """What its cells do not say, in words."""
        nothing = WITHHELD if self.withheld else "nobody has answered"
        said = (nothing,) if self.estimate is None else self.estimate.notes
        return tuple(f"{self.attribute}: {note}" for note in said)

    @property
    def previous(self) -> tuple[str, ...]:
        """What previous windows contribute to it, in words."""
        return () if self.estimate is None else self.estimate.previous(self.attribute)


class AnswerPrivacy(PrivacyPart):
    """Epsilon, in nats, of any two users, and the assumption that it rests on."""

    per_report: float
    lifetime: float
    all_answers: AllAnswersField = None
    assumption: str
    published: PublishedField = None


class Marginals(Answer):
    """The marginals of all attributes over one window; the message of a marginals topic."""

    series: ClassVar[str] = "marginals"

    attributes: tuple[Marginal, ...]
    plausibility: PlausibilityField
    liars: LiarsField = ()
    privacy: AnswerPrivacy

    @property
    def look(self) -> Look:
        return Look(title="marginals", names=("value",), number="estimate", group="attribute")

    def judgement(self) -> Judgement:
        asked = ", ".join(
            f"{attribute.attribute} {attribute.reports:,} ({attribute.mechanism})" for attribute in self.attributes
        )
        privacy = self.privacy
        costs = f"epsilon {shown_epsilon(privacy.lifetime)} a lifetime"
        if privacy.all_answers is not None or privacy.per_report < privacy.lifetime:
            costs = shown_costs(
                per_report=privacy.per_report, lifetime=privacy.lifetime, all_answers=privacy.all_answers
            )
        return Judgement(
            facts={f"{each.attribute}:reports": f"{each.reports}" for each in self.attributes},
            evidence=(
                f"{quantity(self.reports, 'report')}: {asked}",
                *(note for each in self.attributes for note in each.notes),
            ),
            previous=tuple(sentence for each in self.attributes for sentence in each.previous),
            privacy=(
                f"{costs}: {privacy.assumption}",
                *privacy.sentences,
            ),
        )

    def of(self, attribute: str) -> Marginal:
        """Return what is known of an attribute, given by name.

        Raises:
            KeyError: there is no such attribute.
        """
        for each in self.attributes:
            if each.attribute == attribute:
                return each
        raise KeyError(attribute)

    def labelled(self, labels: Labels) -> Self:
        attributes = (
            each.model_copy(update={"estimate": each.estimate and each.estimate.labelled(labels, each.attribute)})
            for each in self.attributes
        )
        return self.model_copy(update={"attributes": tuple(attributes)})

    def cells(self) -> Iterator[Cell]:
        """Iterate over the numbers of all attributes."""
        for attribute in self.attributes:
            yield from attribute.cells()

    def narrowed_to(self, of: Sequence[str], *, given: Sequence[str] = ()) -> Iterator[Cell]:
        """Iterate over the numbers of some attributes; see `Answer`."""
        if given:
            raise ParameterError(
                "each user of a sampled collection reports one attribute: nothing is known of one, given another"
            )
        known = [attribute.attribute for attribute in self.attributes]
        for name in of:
            if name not in known:
                raise ParameterError(f"{name!r} is not an attribute of this collection{suggestion(name, known)}")
            yield from self.of(name).cells()

    def between(self, low: float, high: float, *, of: Sequence[str] = (), below: bool = False) -> Iterator[Cell]:
        """Iterate over the shares of users from one number to another; see `Answer`."""
        numbers = {
            each.attribute: each.estimate
            for each in self.attributes
            if each.estimate is not None and each.estimate.kind == "numbers"
        }
        for name in of or numbers:
            if name not in numbers:
                raise ParameterError(
                    f"{name!r} is no number of this answer, whose numbers are {', '.join(numbers) or 'none'}"
                )
        if not numbers:
            raise ParameterError("this answer has no attribute with a `range`")
        for name in of or numbers:
            for cell in numbers[name].between(name, low, high, below=below):
                yield replace(cell, labels={"attribute": name, **cell.labels})

    def within(self, ranges: Mapping[str, tuple[float, float]], *, of: Sequence[str] = ()) -> Iterator[Cell]:
        """Iterate over the share of users in the range of one attribute, and their mean; see `Answer`."""
        if len(ranges) > 1 or of:
            raise ParameterError(
                "each user of a sampled collection reports one attribute: ask about one range at a time, or have "
                "`estimates` of the attributes in the collection file, whose users report several together"
            )
        for name, (low, high) in ranges.items():
            yield from self.between(low, high, of=[name])
