"""The plan of a sampled collection: its bits, privacy, memory and expected error, before it runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.mechanisms import DirectResponse, FrequencyOracle, RepeatedResponse
from stream_ldp.mechanisms.local_hashing import cohort_oracle, loloha_oracle
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.pipeline.cells import LEVEL, normal_quantile
from stream_ldp.pipeline.changing import ChangingValues
from stream_ldp.pipeline.kind import POPULATIONS
from stream_ldp.pipeline.leverage import Leverage
from stream_ldp.pipeline.plan import ErrorPlan, Section, errors_in_short, guess_in_short
from stream_ldp.quantity import quantity
from stream_ldp.questions.plan import AskingPlan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.marginals.collection import SampledCollection
    from stream_ldp.questions.attributes import AskedAttribute

#: Quantiles that are planned for where a file asks for none.
_QUANTILES = (0.5, 0.95)

_DIGITS = 10  # after the point, of a probability: as many distinguish all multiples of 2^-32


@dataclass(frozen=True, kw_only=True, slots=True)
class AttributePlan:
    """The plan of one attribute.

    name: of the attribute.
    estimated: what is estimated: `frequencies`, `mean`, or `outputs` of a channel from which no frequencies follow.
    mechanism: the randomizers of the answers.
    share: the share of users who are asked.
    epsilon: in nats, of a report.
    table: of oracle channel, P(output | value) with the digits that a collection file needs; None for others.
    errors: standard error of a value with frequency 1 / k, including the sampling of users; of a mean, the largest,
        for the number at which noise is largest, in units of the attribute.
    distribution: errors for bell-shaped numbers, by name: of shares of users in parts of the range, and of quantiles
        in units of the attribute; empty where no distribution is estimated.
    """

    name: str
    estimated: str
    mechanism: str
    share: float
    epsilon: float
    table: tuple[tuple[float, ...], ...] | None
    errors: tuple[ErrorPlan, ...]
    distribution: tuple[tuple[str, tuple[ErrorPlan, ...]], ...] = ()

    def channel(self) -> Iterator[Section]:
        """Write its channel for a collection file; nothing where it has none."""
        if self.table is None:
            return
        unknown = (
            f"The frequencies of {self.name} do not follow from the outputs: the shares of these are published, and "
            "no frequencies."
        )
        yield Section(
            title=f"Channel of {self.name}, as `table` in a collection file writes it, so that no other solver can "
            "find another one",
            notes=(
                *(f"  - [{', '.join(f'{chance:.10f}' for chance in row)}]" for row in self.table),
                *((unknown,) if self.estimated == "outputs" else ()),
            ),
        )


@dataclass(frozen=True, kw_only=True)
class Plan(AskingPlan):
    """The plan of a collection.

    epsilon: in nats, of all reports of a user's lifetime, for any two users.
    per_report: in nats, of one report; as much as `epsilon` where every report repeats the same answer.
    changed: in nats, for each further value of what the user is asked about.
    """

    epsilon: float
    per_report: float
    changed: float
    attributes: tuple[AttributePlan, ...]

    def in_short(self) -> Iterator[str]:
        """Iterate over sentences about any two users, and the first attribute."""
        seen = "all reports of a user, whose answer does not change,"
        yield guess_in_short(self.epsilon, seen=seen, between="records")
        first = self.attributes[0]
        what = f"The standard error of {'the mean' if first.estimated == 'mean' else 'a share'} of {first.name}"
        yield errors_in_short(what, [(error.users, error.standard_error) for error in first.errors])

    def sections(self) -> Iterator[Section]:
        """Iterate over the costs of a report, the attributes, and their channels."""
        fresh = ("one report", f"epsilon {shown_epsilon(self.per_report)}, whose noise is partly fresh")
        yield self.head(
            ("all reports of a user's lifetime", f"epsilon {shown_epsilon(self.epsilon)}, about one question"),
            ("each other value of it", f"epsilon {shown_epsilon(self.changed)} more"),
            *((fresh,) if self.per_report < self.epsilon else ()),
        )
        yield Section(
            title="Attributes, with the standard error to expect",
            columns=(
                "attribute",
                "estimated",
                "response",
                "asked",
                *(quantity(error.users, "user") for error in self.attributes[0].errors),
            ),
            rows=tuple(
                (
                    each.name,
                    each.estimated,
                    each.mechanism,
                    f"{each.share:.1%}",
                    *(f"{error.standard_error:.4g}" for error in each.errors),
                )
                for each in self.attributes
            ),
            notes=("Of a value or output with mean frequency, or the largest of a mean, in units of the attribute.",),
        )
        if any(each.distribution for each in self.attributes):
            yield Section(
                title="Distributions, with the standard error to expect",
                columns=(
                    "attribute",
                    "of",
                    *(quantity(error.users, "user") for error in self.attributes[0].errors),
                ),
                rows=tuple(
                    (
                        each.name,
                        about,
                        # Nearly all such samples have the same quantile, of numbers on whole steps.
                        *(
                            f"{error.standard_error:.4g}" if error.standard_error else "below a step"
                            for error in errors
                        ),
                    )
                    for each in self.attributes
                    for about, errors in each.distribution
                ),
                notes=(
                    "Of numbers spread as a bell in the middle of the range, with a sixth of it for a standard "
                    "deviation; quantiles are in units of the attribute.",
                ),
            )
        for attribute in self.attributes:
            yield from attribute.channel()


def summary(collection: SampledCollection) -> str:
    """Describe a collection on one line."""
    questions = collection.questions
    return (
        f"{quantity(len(collection.attributes), 'attribute')}, each user asked about one at epsilon "
        f"{shown_epsilon(questions.lifetime)}, {quantity(questions.bits, 'bit')} a report"
    )


def plan(collection: SampledCollection, *, populations: Sequence[int] = POPULATIONS) -> Plan:
    """Work out the cost of a collection.

    populations: numbers of users who report in a window, for which to state the error.
    """
    questions = collection.questions
    return Plan.of(
        collection,
        epsilon=questions.lifetime,
        per_report=questions.epsilon,
        changed=questions.lifetime,
        attributes=tuple(_attribute(collection, place, populations) for place in range(len(collection.attributes))),
    )


def _attribute(collection: SampledCollection, place: int, populations: Sequence[int]) -> AttributePlan:
    attribute, about = collection.attributes[place], _about(collection, place)
    _, first = about[0]
    share, variance, unit = sum(each for each, _ in about), first.variance(about), _unit(attribute)
    table = first.randomizer.chances_to_print
    return AttributePlan(
        name=attribute.name,
        estimated=first.estimated,
        mechanism=" and ".join(dict.fromkeys(each.title for _, each in about)),
        share=share,
        epsilon=max(each.randomizer.epsilon for _, each in about),
        table=None if table is None else tuple(tuple(np.round(row, _DIGITS).tolist()) for row in table),
        errors=tuple(
            ErrorPlan(users=users, standard_error=unit * math.sqrt(variance / (users * share)))
            for users in populations
        ),
        distribution=_distribution(attribute, about, populations),
    )


def _distribution(
    attribute: AskedAttribute, about: Sequence[tuple[float, Any]], populations: Sequence[int]
) -> tuple[tuple[str, tuple[ErrorPlan, ...]], ...]:
    """Work out the errors of a distribution: of the shares in a tenth and in half of the range, and of quantiles."""
    share, (_, first) = sum(each for each, _ in about), about[0]
    curves = [(users, first.expected_curve(about, reports=users * share)) for users in populations]
    found: dict[str, list[ErrorPlan]] = {}
    for users, curve in curves:
        if curve is None:
            return ()
        errors = {"share in a tenth of the range": curve.share(-0.4, -0.2)[1], "share in half": curve.share(-1, 0)[1]}
        for quantile in attribute.quantiles or _QUANTILES:
            low, high = curve.quantile_interval(quantile, LEVEL)
            errors[f"quantile {quantile:g}"] = _unit(attribute) * (high - low) / (2 * normal_quantile(LEVEL))
        for about_what, error in errors.items():
            found.setdefault(about_what, []).append(ErrorPlan(users=users, standard_error=error))
    return tuple((about_what, tuple(errors)) for about_what, errors in found.items())


def leverages(collection: SampledCollection) -> tuple[Leverage, ...]:
    """Return what one crafted answer can do to the numbers of each attribute; see `Kind.leverages`."""
    return tuple(_leverage(collection, place) for place in range(len(collection.attributes)))


def changing(collection: SampledCollection) -> tuple[ChangingValues, ...]:
    """List the attributes with values; see `Kind.changing`."""
    return tuple(
        _changing(collection, place)
        for place, attribute in enumerate(collection.attributes)
        if attribute.values is not None and _about(collection, place)[0][1].estimated == "frequencies"
    )


def _changing(collection: SampledCollection, place: int) -> ChangingValues:
    attribute, (_, first) = collection.attributes[place], _about(collection, place)[0]
    randomizer, size = first.randomizer, len(attribute.labels)
    lifetime, per_report = randomizer.memoised.epsilon, randomizer.epsilon
    flipping = collection.mechanism_spec.flipped(size)
    tells_itself = collection.mechanism_spec.value_randomizer(size, of=attribute.name) is not None
    hashes = flipping is None and not tells_itself
    direct: FrequencyOracle
    hashing: FrequencyOracle
    if per_report < lifetime:
        direct = RepeatedResponse(size=size, epsilon=per_report, lifetime=lifetime)
        hashing = loloha_oracle(epsilon=lifetime, per_report=per_report, buckets=None)
    else:
        direct, hashing = DirectResponse(size=size, epsilon=lifetime), cohort_oracle("o-rr", epsilon=lifetime)
    return ChangingValues(
        about=attribute.name,
        values=size,
        lifetime=lifetime,
        per_report=per_report,
        variance=(randomizer if tells_itself else direct).mean_variance,
        bits=None if flipping is None else flipping.size,
        buckets=(randomizer if hashes else hashing).size,
        hashed=hashes and randomizer.kind in (DirectResponse.kind, RepeatedResponse.kind),
    )


def _leverage(collection: SampledCollection, place: int) -> Leverage:
    attribute, about = collection.attributes[place], _about(collection, place)
    _, first = about[0]
    return Leverage(
        series="marginals",
        about=attribute.name,
        of_one=_unit(attribute) * first.leverage(about),
        asked=min(1.0, sum(share for share, _ in about)),
    )


def _about(collection: SampledCollection, place: int) -> list[tuple[float, Any]]:
    """Return the questions about an attribute, and the share of the users who are asked each."""
    questions = collection.questions
    return [
        (float(share), each)
        for share, each in zip(questions.shares, questions.questions, strict=True)
        if place in each.of
    ]


def _unit(attribute: AskedAttribute) -> float:
    """Return half of the range of an attribute that is a number, and 1 of another."""
    if attribute.range is None:
        return 1.0
    least, largest = attribute.bounds
    return (largest - least) / 2
