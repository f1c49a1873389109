"""The message that publishes the marginals of a window: frequencies and means with their errors and privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from stream_ldp.collection.located import suggestion
from stream_ldp.errors import ParameterError
from stream_ldp.filtering.learnt import Learnt, columns
from stream_ldp.message_part import Finite, MessagePart
from stream_ldp.pipeline.answer import (
    AnswerMessage,
    Count,
    PlausibilityField,
    Positive,
    Probability,
    PublishedField,
    Status,
    StatusField,
    WindowBounds,
    answer_key,
)
from stream_ldp.pipeline.cells import Cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["AnswerPrivacy", "Distribution", "Frequencies", "Marginal", "Marginals", "Mean", "Numbers", "Outputs"]

Error = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Frequencies(MessagePart):
    """The frequencies of the values of an attribute."""

    kind: Literal["frequencies"] = "frequencies"
    values: tuple[str, ...]
    raw: tuple[Finite, ...] = Field(description="unbiased estimates, which may be negative or above 1")
    standard_error: tuple[Error, ...] = Field(description="of each raw estimate: noise, and the sampling of users")
    projected: tuple[Probability, ...] = Field(description="the nearest distribution to the raw estimates (norm-sub)")
    others: Probability | None = Field(
        default=None, description="projected share of users with none of these values; null where there are no others"
    )
    learnt: Learnt | None = Field(
        default=None,
        description="the frequencies with the windows before; null where nothing can be learnt from them",
    )
    dropped: tuple[str, ...] = Field(
        default=(),
        description="candidates without an estimate, which do not stand out: there are more of them than can be told "
        "apart; they count as others",
    )

    @model_validator(mode="after")
    def _as_many_of_each(self) -> Self:
        learnt = () if self.learnt is None else (self.learnt.estimate,)
        lengths = {len(each) for each in (self.values, self.raw, self.standard_error, self.projected, *learnt)}
        if len(lengths) > 1:
            raise ValueError(f"frequencies, errors and values differ in number: {sorted(lengths)}")
        return self


class Outputs(MessagePart):
    """The shares of the outputs of a channel, where the frequencies of the values do not follow from them."""

    kind: Literal["outputs"] = "outputs"
    values: tuple[str, ...] = Field(description="of the attribute, whose frequencies are not estimated")
    rank: Positive = Field(description="of the channel; less than the number of values")
    share: tuple[Probability, ...] = Field(description="of each output in the answers")
    standard_error: tuple[Error, ...] = Field(description="of each share: noise, and the sampling of users")

    @model_validator(mode="after")
    def _as_many_of_each(self) -> Self:
        if len(self.share) != len(self.standard_error):
            raise ValueError(f"{len(self.share)} shares and {len(self.standard_error)} errors")
        return self


class Mean(MessagePart):
    """The mean of a number."""

    raw: Finite = Field(description="unbiased estimate, which may lie outside the range")
    standard_error: Error = Field(description="of the raw estimate: noise, and the sampling of users")
    projected: Finite = Field(description="the nearest number in the range")


class Distribution(MessagePart):
    """The distribution of a number, rounded at random to one of two neighbouring points, which keeps the mean."""

    points: tuple[Finite, ...] = Field(description="evenly spaced from the least to the largest number")
    probability: tuple[Probability, ...] = Field(description="of each point; sums to 1")

    @model_validator(mode="after")
    def _as_many_of_each(self) -> Self:
        if len(self.points) != len(self.probability):
            raise ValueError(f"{len(self.points)} points and {len(self.probability)} probabilities")
        return self


class Numbers(MessagePart):
    """The mean and, where the answers show more than a mean, the distribution of an attribute that is a number."""

    kind: Literal["numbers"] = "numbers"
    range: tuple[Finite, Finite]
    mean: Mean
    distribution: Distribution | None = None
    learnt: Learnt | None = Field(
        default=None, description="the mean with the windows before; null where nothing can be learnt from them"
    )

    @model_validator(mode="after")
    def _one_mean(self) -> Self:
        if self.learnt is not None and len(self.learnt.estimate) != 1:
            raise ValueError(f"{len(self.learnt.estimate)} numbers are learnt of one mean")
        return self


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
        description="null where nobody has answered"
    )

    def cells(self) -> Iterator[Cell]:
        """Iterate over its frequencies, or its mean and distribution; where nobody has answered, there are none."""

        def labels(quantity: str, value: str) -> dict[str, str]:
            return {"attribute": self.attribute, "quantity": quantity, "value": value}

        answers = {"answers": self.reports}
        match self.estimate:
            case Frequencies() as found:
                learnt = columns(found.learnt, numbers=len(found.values))
                cells = zip(found.values, found.projected, found.standard_error, found.raw, learnt, strict=True)
                for value, projected, error, raw, more in cells:
                    yield Cell(
                        labels=labels("frequency", value),
                        estimate=projected,
                        standard_error=error,
                        raw=raw,
                        others=answers | more,
                    )
                if found.others is not None:
                    yield Cell(
                        labels=labels("others", ""), estimate=found.others, standard_error=None, others=answers
                    )
            case Outputs() as found:
                for number, (share, error) in enumerate(zip(found.share, found.standard_error, strict=True)):
                    yield Cell(
                        labels=labels("output", str(number)), estimate=share, standard_error=error, others=answers
                    )
            case Numbers() as found:
                (more,) = columns(found.learnt, numbers=1)
                yield Cell(
                    labels=labels("mean", ""),
                    estimate=found.mean.projected,
                    standard_error=found.mean.standard_error,
                    raw=found.mean.raw,
                    range=found.range,
                    others=answers | more,
                )
                if found.distribution is not None:
                    for point, part in zip(found.distribution.points, found.distribution.probability, strict=True):
                        yield Cell(
                            labels=labels("probability", f"{point:g}"),
                            estimate=part,
                            standard_error=None,
                            others=answers,
                        )


class AnswerPrivacy(MessagePart):
    """Epsilon, in nats, of any two users, and the assumption that it rests on."""

    per_report: float
    for_ever: float
    assumption: str
    published: PublishedField = None


class Marginals(AnswerMessage):
    """The marginals of all attributes over one window; the message of a marginals topic."""

    #: It rises when a field changes its meaning or is removed, but not when an optional field is added.
    schema_version: Literal[1] = 1
    collection: str
    fingerprint: str = Field(description="of the collection, hexadecimal", pattern="^[0-9a-f]{32}$")
    window: WindowBounds
    status: StatusField = Status.ANSWERED
    final: bool = Field(description="false while the window is open; final marginals never change")
    reports: Count = Field(description="reports counted in the window, each once")
    attributes: tuple[Marginal, ...]
    plausibility: PlausibilityField
    privacy: AnswerPrivacy

    @property
    def series(self) -> str:
        """Name of the only series."""
        return "marginals"

    @property
    def key(self) -> bytes:
        """Record key, as `answer_key` makes it."""
        return answer_key(self.series, self.window, final=self.final)

    def of(self, attribute: str) -> Marginal:
        """Return what is known of an attribute, given by name.

        Raises:
            KeyError: there is no such attribute.
        """
        for each in self.attributes:
            if each.attribute == attribute:
                return each
        raise KeyError(attribute)

    def cells(self) -> Iterator[Cell]:
        """Iterate over the numbers of all attributes."""
        for each in self.attributes:
            yield from each.cells()

    def about(self, of: Sequence[str], *, given: Sequence[str] = ()) -> Iterator[Cell]:
        """Iterate over the numbers of some attributes; see `AnswerMessage`."""
        if given:
            raise ParameterError(
                "each user of a sampled collection reports one attribute: nothing is known of one, given another"
            )
        known = [each.attribute for each in self.attributes]
        for name in of:
            if name not in known:
                raise ParameterError(f"{name!r} is not an attribute of this collection{suggestion(name, known)}")
            yield from self.of(name).cells()
