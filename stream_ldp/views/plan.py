"""The plan of a collection of views: its design, privacy, memory and expected error, before it runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.pipeline.kind import POPULATIONS
from stream_ldp.pipeline.leverage import LIARS, Leverage
from stream_ldp.pipeline.plan import Section, guess_in_short
from stream_ldp.quantity import quantity
from stream_ldp.questions.plan import AskingPlan
from stream_ldp.views.design import Design, ranked
from stream_ldp.views.expected import DEPENDENCE, expected_avd, rr_information
from stream_ldp.views.spec import numbers_among

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.views.collection import ViewsCollection

#: Designs that a plan shows beside the one in use.
_RUNNERS_UP = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedAVD:
    """The mean AVD of the joint distribution of two attributes that so many users let expect."""

    users: int
    avd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedError:
    """The standard error of a share that so many users let expect."""

    users: int
    error: float


@dataclass(frozen=True, kw_only=True, slots=True)
class DesignPlan:
    """The plan of one design.

    views: number of views.
    largest: cells of the largest of them.
    mechanisms: what perturbs the cells of views.
    """

    name: str
    views: int
    largest: int
    mechanisms: tuple[str, ...]
    avd: tuple[ExpectedAVD, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """The privacy of one mechanism by both neighbour relations, and what it gives.

    mechanism: `views`, or `rr-ldp`, by which every user reports all attributes.
    equal: the relation by which its epsilon is that of the views: `record`, any two, or `attribute`, of records that
        differ in one.
    record_epsilon, attribute_epsilon: in nats, of all reports of a user's lifetime.
    """

    mechanism: str
    equal: str
    record_epsilon: float
    attribute_epsilon: float
    avd: tuple[ExpectedAVD, ...]


@dataclass(frozen=True, kw_only=True)
class Plan(AskingPlan):
    """The plan of a collection.

    epsilon: in nats, of all reports of a user's lifetime, for any two users.
    per_report: in nats, of one report; as much as `epsilon` where every report repeats the same answer.
    attribute_epsilon: in nats, of all reports of a user's lifetime, for two users who differ in one attribute: as
        much as `epsilon`.
    changed: in nats, for each further cell of the view that the user is asked about.
    cells: parts of each number that views of several attributes report; None where no attribute is a number.
    ranges: for numbers of users, the standard error of the share of a range of half of two numbers, by the noise of
        its cells, before it is shrunk; empty where no two numbers are asked together.
    dependence: expected mean AVD between joint distributions of two attributes and the products of their margins.
    design: the design in use.
    others: the best of the other designs, for the number of users that the design is chosen for.
    relations: what RR-LDP would give that hides a record, or an attribute, as well as the views do.
    """

    epsilon: float
    per_report: float
    attribute_epsilon: float
    changed: float
    cells: int | None
    ranges: tuple[ExpectedError, ...]
    dependence: float
    design: DesignPlan
    others: tuple[DesignPlan, ...]
    relations: tuple[Relation, ...]

    def in_short(self) -> Iterator[str]:
        """Iterate over sentences about any two records; what is estimated has its errors below."""
        seen = "all reports of a user, whose record does not change,"
        yield guess_in_short(self.epsilon, seen=seen, between="records")

    def sections(self) -> Iterator[Section]:
        """Iterate over the costs of a report, the designs, and RR-LDP in their place."""
        fresh = ("one report", f"epsilon {shown_epsilon(self.per_report)}, whose noise is partly fresh")
        users = tuple(quantity(each.users, "user") for each in self.design.avd)
        yield self.head(
            ("all reports of a user's lifetime", f"epsilon {shown_epsilon(self.epsilon)}, between any two records"),
            (
                "of records that differ in one attribute",
                f"epsilon {shown_epsilon(self.attribute_epsilon)}: each user is asked about one view",
            ),
            ("each other answer to what is asked", f"epsilon {shown_epsilon(self.changed)} more"),
            *((fresh,) if self.per_report < self.epsilon else ()),
            *(() if self.cells is None else (("a number in views", f"{self.cells} parts of its range"),)),
        )
        yield Section(
            title="Designs, compared by the mean AVD of all pairs of attributes, by a formula",
            columns=("design", "views", "cells", *users),
            rows=tuple(
                (each.name, f"{each.views}", f"{each.largest}", *_shown(each.avd))
                for each in (self.design, *self.others)
            ),
            notes=(
                f"The first is in use. Expected where pairs are {self.dependence:g} from independent, on average. "
                "What is estimated has its own errors below.",
            ),
        )
        own = ("views", "", shown_epsilon(self.epsilon), shown_epsilon(self.attribute_epsilon))
        if self.ranges:
            yield Section(
                title="Standard error of the share of users in a range of half of two numbers, at most",
                columns=("", *users),
                rows=(("the noise of its cells", *(f"{each.error:.4f}" for each in self.ranges)),),
                notes=("It is shrunk as far as the reports show it to be noise.",),
            )
        yield Section(
            title="What RR-LDP, by which users report all attributes, would give in place of views",
            columns=("mechanism", "equal epsilon", "of any two records", "of one attribute", *users),
            rows=(
                (*own, *_shown(self.design.avd)),
                *(
                    (
                        relation.mechanism,
                        f"of {'any two records' if relation.equal == 'record' else 'one attribute'}",
                        shown_epsilon(relation.record_epsilon),
                        shown_epsilon(relation.attribute_epsilon),
                        *_shown(relation.avd),
                    )
                    for relation in self.relations
                ),
            ),
            notes=(
                "Where whole records are to be hidden, compare the first two rows; where single attributes are, the "
                "first and the last. See `kind: rr-ldp`.",
                self._verdict(),
            ),
        )

    def _verdict(self) -> str:
        """Say which of both is expected to be better for each relation, with the most users of the plan."""
        views = self.design.avd[-1]
        record, attribute = (relation.avd[-1].avd for relation in self.relations)
        return (
            f"With {quantity(views.users, 'user')}: to hide whole records, "
            f"{'views' if views.avd <= record else 'rr-ldp'}; to hide single attributes, "
            f"{'views' if views.avd <= attribute else 'rr-ldp'}."
        )


def _shown(expected: Sequence[ExpectedAVD]) -> Iterator[str]:
    return (f"{each.avd:.4f}" for each in expected)


def summary(collection: ViewsCollection) -> str:
    """Describe a collection on one line."""
    questions = collection.questions
    return (
        f"{quantity(len(collection.attributes), 'attribute')} in {quantity(len(questions.questions), 'view')}, each "
        f"user asked about one at epsilon {shown_epsilon(questions.epsilon)}, {quantity(questions.bits, 'bit')} a "
        f"report, {quantity(len(collection.estimates), 'estimate')}"
    )


def plan(collection: ViewsCollection, *, populations: Sequence[int] = POPULATIONS) -> Plan:
    """Work out the cost of a collection.

    populations: numbers of users who report in a window, for which to state the error.
    """
    spec, questions = collection.mechanism_spec, collection.questions
    numbers = numbers_among(collection.attributes)
    design, dependence = spec.design(collection.attributes), spec.dependence or DEPENDENCE
    others = [
        each
        for each in ranked(
            design.sizes,
            epsilon=spec.epsilon,
            users=spec.for_users,
            dependence=spec.dependence,
            oracle=spec.oracle,
            per_report=spec.per_report,
            alone=numbers,
        )
        if set(each.views) != set(design.views) or each.weights != design.weights
    ]
    return Plan.of(
        collection,
        epsilon=questions.lifetime,
        per_report=questions.epsilon,
        attribute_epsilon=questions.lifetime,
        changed=questions.lifetime,
        cells=design.sizes[numbers[0]] if numbers else None,
        ranges=_ranges(design, numbers, populations),
        dependence=dependence,
        design=_planned(design, populations, dependence),
        others=tuple(_planned(other, populations, dependence) for other in others[:_RUNNERS_UP]),
        relations=tuple(
            _perturbed(equal, design.sizes, epsilon=questions.lifetime, users=populations, dependence=dependence)
            for equal in ("record", "attribute")
        ),
    )


def _ranges(design: Design, numbers: Sequence[int], populations: Sequence[int]) -> tuple[ExpectedError, ...]:
    """Work out the error of ranges of half of two numbers, each a quarter of the cells of their view."""
    together = [of for of in combinations(numbers, 2) if of in design.information]
    if not together:
        return ()
    variance = max(design.cells(of) / 4 * (3 / 4) / design.information[of] for of in together)
    return tuple(ExpectedError(users=users, error=math.sqrt(variance / users)) for users in populations)


def _perturbed(
    equal: str, sizes: tuple[int, ...], *, epsilon: float, users: Sequence[int], dependence: float
) -> Relation:
    """Work out RR-LDP, which shares the epsilon of a record out among its attributes."""
    whole = epsilon if equal == "record" else epsilon * len(sizes)
    try:
        information = rr_information(sizes, epsilon=whole)
    except ParameterError:
        information = {}  # Shared out, it is so little that reports would say nothing.
    return Relation(
        mechanism="rr-ldp",
        equal=equal,
        record_epsilon=whole,
        attribute_epsilon=whole / len(sizes),
        avd=tuple(
            ExpectedAVD(users=count, avd=expected_avd(sizes, information, users=count, dependence=dependence))
            for count in users
        ),
    )


def _planned(design: Design, populations: Sequence[int], dependence: float) -> DesignPlan:
    return DesignPlan(
        name=design.name,
        views=len(design.views),
        largest=max(design.cells(view) for view in design.views),
        mechanisms=tuple(dict.fromkeys(design.oracle_of(view).title for view in design.views)),
        avd=tuple(
            ExpectedAVD(users=users, avd=design.expected_avd(users, dependence=dependence)) for users in populations
        ),
    )


def leverages(collection: ViewsCollection) -> tuple[Leverage, ...]:
    """Return what one crafted answer can do to the cells of the view that liars move most; see `Kind.leverages`.

    An estimate fits all views that have some of its attributes, so that it moves no further than one of them.
    """
    questions = collection.questions
    found = []
    for estimate in collection.estimates:
        of = set(collection.positions_of(estimate.of))
        used = [
            Leverage(series=estimate.name, of_one=view.cell_leverage, asked=float(share))
            for view, share in zip(questions.questions, questions.shares, strict=True)
            if of.intersection(view.of)
        ]
        found.append(max(used, key=lambda each: each.moved(liars=LIARS)))
    return tuple(found)
