"""The plan of a collection of records: its bits, privacy and memory, before it runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.collection.collection import DAY_MS
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import MECHANISMS, RepeatedResponse
from stream_ldp.mechanisms.hashed_k_rr import BUCKETS, hashes
from stream_ldp.mechanisms.matching import USERS
from stream_ldp.mechanisms.packing import row_width
from stream_ldp.mechanisms.privacy_loss import shown_epsilon, shown_guess
from stream_ldp.pipeline.budgets import BUDGETS, BudgetPlan, affordable, budget_section, times
from stream_ldp.pipeline.changing import ChangingValues, best_buckets
from stream_ldp.pipeline.kind import POPULATIONS, Alternative
from stream_ldp.pipeline.leverage import Leverage
from stream_ldp.pipeline.plan import Plan as AnyPlan
from stream_ldp.pipeline.plan import Section, guess_in_short
from stream_ldp.pipeline.published import published_among
from stream_ldp.pipeline.statistics.row_table import TABLE_BITS
from stream_ldp.quantity import quantity
from stream_ldp.records.collection import JointCollection

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.mechanisms import RepeatedCost, Support
    from stream_ldp.pipeline.answer import Published
    from stream_ldp.records.series import EstimateSpec

#: Numbers of reports for which the privacy loss is stated: once, twice, daily for a week, a month, a year, a
#: lifetime.
REPORTS_PER_USER = (1, 2, 7, 30, 365, math.inf)

_NAMED = 6  # estimates that a line lists
_COUNT_BYTES = 8  # bytes of a counter in memory
_SENT_COUNT_BYTES = 4  # bytes of a counter in a partial


@dataclass(frozen=True, kw_only=True, slots=True)
class LossPlan:
    """The privacy loss of some reports of one user.

    neighbours: number of attributes in which the records that are not distinguished may differ.
    reports: math.inf for the lifetime.
    epsilon: in nats.
    assumption: the records that are not distinguished, and what is assumed of several reports, in words.
    """

    neighbours: int
    reports: float
    epsilon: float
    assumption: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DayPlan:
    """The privacy loss of the reports of a day, in nats, between any two records."""

    reports: int
    epsilon: float


@dataclass(frozen=True, kw_only=True, slots=True)
class EstimatePlan:
    """The plan of one estimate.

    of: its attributes.
    counted: the attributes whose rows are counted for it: its own, or those among which they are.
    cells: number of cells of the joint.
    bits: number of bits of a report that are counted for it.
    state_bytes: memory of one window for each source partition, in bytes; if it grows, that of one report.
    grows: whether the memory is in proportion to the number of reports.
    linked_error: error of the last window of a period, if the same users report in all its windows, as a part of that
        of one window; None where reports are not linked.
    """

    name: str
    of: tuple[str, ...]
    counted: tuple[str, ...]
    cells: int
    bits: int
    state_bytes: int
    grows: bool
    linked_error: float | None

    @property
    def attributes(self) -> str:
        """Its attributes, and how many there are whose rows are counted, in words."""
        own = ", ".join(self.of)
        return own if self.counted == self.of else f"{own}; rows of {len(self.counted)} attributes"


@dataclass(frozen=True, kw_only=True)
class Plan(AnyPlan):
    """The plan of a collection.

    bits, report_bytes: size of one report.
    privacy: privacy losses of one attribute and of any two records, for each of `REPORTS_PER_USER`.
    reports_per_day: number of reports a day of a user who reports whenever asked, once a pane, on average.
    day: privacy loss, between any two records, of the first day of such a user; of one report where it has less.
    budgets: how long each of `BUDGETS` lasts for such a user.
    linked: what the pseudonyms of its reports reveal, in words; None where they have none.
    matched: share of 400 users, who report in all windows, whose reports of two periods can be matched by the
        permanent noise, see `matched_share`; None without pseudonyms.
    """

    bits: int
    report_bytes: int
    privacy: tuple[LossPlan, ...]
    reports_per_day: float
    day: DayPlan
    budgets: tuple[BudgetPlan, ...]
    estimates: tuple[EstimatePlan, ...]
    linked: str | None
    matched: float | None

    def in_short(self) -> Iterator[str]:
        """Iterate over sentences about any two records."""
        lifetime = max(loss.epsilon for loss in self.privacy if math.isinf(loss.reports))
        if math.isinf(lifetime):
            once = max(loss.epsilon for loss in self.privacy if loss.reports == 1)
            yield guess_in_short(once, seen="one report", between="records")
            yield "Each further report of the user costs more, without a bound but the budget of the client."
        else:
            seen = "all reports of a user, whose record does not change,"
            yield guess_in_short(lifetime, seen=seen, between="records")

    def sections(self) -> Iterator[Section]:
        """Iterate over the costs of a report, the privacy of a record, and the estimates."""
        yield self.head(
            ("a report", f"{quantity(self.bits, 'bit')}, {quantity(self.report_bytes, 'byte')} with padding"),
            (
                "a user who always reports",
                f"{times(self.reports_per_day)} times a day, {shown_epsilon(self.day.epsilon)} nats on the first day",
            ),
            *(() if self.linked is None else (("linked", self.linked),)),
            *(
                ()
                if self.matched is None
                else (
                    (
                        "found again in the next period",
                        f"{self.matched:.0%} of {USERS} users who report in all windows, by their permanent noise",
                    ),
                )
            ),
        )
        lasting = [loss.epsilon for loss in self.privacy if math.isinf(loss.reports)]
        yield Section(
            title="Epsilon, as long as the user's record does not change",
            columns=("reports of one user", *(loss.assumption for loss in self.privacy if loss.reports == 1)),
            rows=(
                *(
                    (
                        "lifetime" if math.isinf(reports) else str(reports),
                        *(shown_epsilon(loss.epsilon) for loss in self.privacy if loss.reports == reports),
                    )
                    for reports in dict.fromkeys(loss.reports for loss in self.privacy)
                ),
                ("best guess, from 50:50", *map(shown_guess, lasting)),
            ),
        )
        yield budget_section(self.budgets, of="reports")
        yield Section(
            title="Estimates",
            columns=("estimate", "of", "cells"),
            rows=tuple((each.name, each.attributes, f"{each.cells:,}") for each in self.estimates),
            notes=tuple(
                f"{each.name}: if the same users report in all windows of a period, the error falls to "
                f"{each.linked_error:.2f} of that of one window."
                for each in self.estimates
                if each.linked_error is not None
            ),
        )


def summary(collection: JointCollection) -> str:
    """Describe a collection on one line."""
    names = [estimate.name for estimate in collection.estimates]
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    attribute, record = (
        shown_epsilon(collection.mechanism.privacy_loss(neighbours=neighbours, reports=math.inf).epsilon)
        for neighbours in (1, None)
    )
    return (
        f"{quantity(len(collection.attributes), 'attribute')}, lifetime epsilon {attribute} of each and {record} of "
        f"a record, {quantity(collection.bits, 'bit')} a report, estimates {', '.join(names[:_NAMED])}{more}"
    )


def plan(collection: JointCollection, *, populations: Sequence[int] = POPULATIONS) -> Plan:  # noqa: ARG001
    """Work out the cost of a collection, without the errors, which no formula has; see `Evaluation.assumed`."""
    mechanism = collection.mechanism
    relations = sorted({1, len(collection.attributes)})

    def paid(reports: float) -> float:
        return mechanism.privacy_loss(reports=reports).epsilon

    reports_per_day = DAY_MS / collection.window.pane_ms * collection.asked_share
    day = max(1, math.ceil(reports_per_day))
    return Plan(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        bits=collection.bits,
        report_bytes=row_width(collection.bits),
        privacy=tuple(
            LossPlan(neighbours=neighbours, reports=reports, epsilon=loss.epsilon, assumption=loss.assumption)
            for neighbours in relations
            for reports in REPORTS_PER_USER
            for loss in [mechanism.privacy_loss(neighbours=neighbours, reports=reports)]
        ),
        reports_per_day=reports_per_day,
        day=DayPlan(reports=day, epsilon=paid(day)),
        budgets=tuple(
            BudgetPlan(budget=budget, times=reports, days=reports / reports_per_day)
            for budget, reports in ((budget, affordable(paid, budget=budget)) for budget in BUDGETS)
        ),
        estimates=tuple(_estimate_plan(collection, estimate) for estimate in collection.estimates),
        linked=collection.linking,
        matched=None if collection.linked_ms is None else mechanism.matched_share(reports=collection.most_windows),
    )


def alternatives(collection: JointCollection) -> Iterator[Alternative]:
    """List the other mechanisms for records that can have the lifetime epsilon of a collection's."""
    mechanism = collection.mechanism
    lifetime = mechanism.privacy_loss(reports=math.inf).epsilon
    for kind, spec in MECHANISMS.items():
        if kind == collection.mechanism_spec.kind:
            continue
        try:
            other = spec.for_budget(sizes=collection.sizes, lifetime=lifetime, per_report=None)
            changed = {"mechanism": other.model_dump(exclude_none=True), "linked": None}
            instead = JointCollection.model_validate({**collection.document, **changed})
        except (ParameterError, ValueError):
            continue  # it cannot have this epsilon, or what the file asks for
        yield Alternative(
            kind=kind,
            parameters=other.model_dump(exclude={"kind"}, exclude_none=True),
            per_report=instead.mechanism.privacy_loss(reports=1).epsilon,
            instead_of=mechanism.privacy_loss(reports=1).epsilon,
            collection=instead,
            is_alike=_alike(instead, collection),
        )


def _alike(one: JointCollection, other: JointCollection) -> bool:
    both = zip(one.mechanism.supports, other.mechanism.supports, strict=True)
    return all(
        math.isclose(mine, theirs, rel_tol=1e-6)
        for of_one, of_other in both
        for mine, theirs in ((of_one.one, of_other.one), (of_one.zero, of_other.zero))
    )


def for_budget(collection: JointCollection, *, lifetime: float, per_report: float | None = None) -> JointCollection:
    """Give a collection the mechanism that spends at most these epsilons, in nats, on any two records.

    lifetime, per_report: see `MechanismSpec.for_budget`.

    Raises:
        ParameterError: no parameters of the mechanism keep within them.
    """
    spec = type(collection.mechanism_spec).for_budget(
        sizes=collection.sizes, lifetime=lifetime, per_report=per_report
    )
    return JointCollection.model_validate({**collection.document, "mechanism": spec.model_dump()})


def cell_error(
    supports: Sequence[Support],
    sizes: Sequence[int],
    *,
    reports: int,
    averaged: int = 1,
    permanent_share: float = 0.0,
) -> float:
    """Compute the expected standard error of one cell of a joint of attributes of these sizes, by linear estimation.

    The unbiased estimate of a cell's share is a mean over reports. Of each report it takes the product over the
    attributes of (T - p*) / (q* - p*), with T = 1 if the report supports the cell's value and 0 otherwise. With s(pi)
    the second moment of that factor for a bit that is 1 with probability pi,

        s(pi) = pi (q* - 2 p* q* + p*^2) / (q* - p*)^2 + (1 - pi) p* (1 - p*) / (q* - p*)^2,

    its variance is (prod s(1 / r) - c^2) / N for a cell, with c = 1 / cells, of N reports with evenly spread values
    (Wang et al., 2017, have the case of one attribute). Estimators constrained to shares that are not negative and
    add up to one do better where this error is large: use it to see whether any signal is to be expected.

    Where each user's reports are averaged first, T is a mean, whose variance is that of the permanent response and a
    part of the rest; N is then the number of users.

    averaged: number of reports of each user.
    permanent_share: that of the mechanism, whose symbols are bits; it matters where there are several reports.
    """
    moment = 1.0
    for support, size in zip(supports, sizes, strict=True):
        one, zero = support.one, support.zero
        # The permanent response of either bit varies as much; the share is the larger one of the two.
        permanent = permanent_share * min(one * (1 - one), zero * (1 - zero))

        def second(rate: float, *, zero: float = zero, permanent: float = permanent) -> float:
            """Return the second moment of T - p* of a bit that is sent as 1 with this rate."""
            return permanent + (rate * (1 - rate) - permanent) / averaged + (rate - zero) ** 2

        moment *= (second(one) / size + second(zero) * (1 - 1 / size)) / (one - zero) ** 2
    cells = math.prod(sizes)
    return math.sqrt((moment - 1.0 / cells**2) / reports)


def _estimate_plan(collection: JointCollection, estimate: EstimateSpec) -> EstimatePlan:
    sizes = collection.sizes_of(estimate)
    bits = collection.pseudonym_bits + len(collection.bits_of(estimate.counted))
    supports = [collection.mechanism.supports[position] for position in collection.positions_of(estimate.of)]
    grows = bits > TABLE_BITS
    return EstimatePlan(
        name=estimate.name,
        of=estimate.of,
        counted=estimate.counted,
        cells=math.prod(sizes),
        bits=bits,
        state_bytes=row_width(bits) + _SENT_COUNT_BYTES if grows else 2**bits * _COUNT_BYTES,
        grows=grows,
        linked_error=None
        if collection.linked_ms is None
        else cell_error(
            supports,
            sizes,
            reports=1,
            averaged=collection.most_windows,
            permanent_share=collection.mechanism.permanent_share,
        )
        / cell_error(supports, sizes, reports=1),
    )


def changing(collection: JointCollection) -> tuple[ChangingValues, ...]:
    """List the attributes of three values and more, which can be hashed; see `Kind.changing`."""
    mechanism = collection.mechanism
    lifetime, per_report = (
        mechanism.privacy_loss(neighbours=1, reports=reports).epsilon for reports in (math.inf, 1)
    )
    costs: Sequence[RepeatedCost | None] = mechanism.bucket_costs or [None] * len(collection.sizes)
    found = []
    for attribute, size, cost, support in zip(
        collection.attributes, collection.sizes, costs, mechanism.supports, strict=True
    ):
        choices = {
            buckets: [np.bincount(cohort, minlength=buckets).tolist() for cohort in hashes(size, buckets)]
            for buckets in BUCKETS
            if buckets < size
        }
        if not choices:
            continue
        hashed = cost is not None and cost.size < size
        if hashed:
            own, other = RepeatedResponse(size=size, epsilon=per_report, lifetime=lifetime).support
        else:
            own, other = support.one, support.zero
        of = ChangingValues(
            about=attribute.name,
            values=size,
            lifetime=lifetime,
            per_report=per_report,
            variance=(own * (1 - own) / size + (1 - 1 / size) * other * (1 - other)) / (own - other) ** 2,
            buckets=cost.size if cost is not None else 0,
            hashed=hashed,
            choices=choices,
        )
        found.append(of if hashed else replace(of, buckets=best_buckets(of)))
    return tuple(found)


def leverages(collection: JointCollection) -> tuple[Leverage, ...]:
    """Return what one crafted report can do to the unbiased estimate of a cell; see `Kind.leverages`.

    It adds the product of what it adds to the frequency of a value of each attribute.
    """
    supports = collection.mechanism.supports
    return tuple(
        Leverage(
            series=estimate.name,
            of_one=math.prod(supports[position].leverage for position in collection.positions_of(estimate.of)),
        )
        for estimate in collection.estimates
    )


def published(collection: JointCollection, reports: int, *, windows: int = 1) -> Published | None:
    """See `PublishedBound`; None where pseudonyms link reports, which then are not in random order."""
    if collection.linked_ms is not None:
        return None
    mechanism = collection.mechanism
    one, lifetime = mechanism.privacy_loss(reports=1), mechanism.privacy_loss(reports=math.inf)
    return published_among(
        collection,
        reports,
        windows=windows,
        epsilon=one.epsilon,
        lifetime=lifetime.epsilon,
        hidden=one.assumption,
        blanket=mechanism.blanket,
    )
