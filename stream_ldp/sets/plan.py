"""The plan of a collection of item sets: its bits, privacy, memory, time and expected error, before it runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from stream_ldp.pipeline.budgets import BUDGETS, BudgetPlan, affordable
from stream_ldp.pipeline.kind import DAY_MS, POPULATIONS
from stream_ldp.pipeline.statistics import SUM_BYTES, row_width
from stream_ldp.sets.methods.usual import usual_kind
from stream_ldp.sets.phases import Target, epochs_epsilon

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.phases import Inquiry, Method, Phase, RankingEstimate

__all__ = ["ErrorPlan", "PhasePlan", "Plan", "SpentPlan", "epoch_of_noise", "plan"]

#: Numbers of epochs for which the privacy loss is stated: once, daily for a week, a month and a year.
EPOCHS_PER_USER = (1, 7, 30, 365)

#: Chance that the estimate of any item that nobody holds exceeds the smallest frequency that counts as above 0.
FALSE_ALARM = 0.05

#: Users of the epoch for which errors are computed; for others they are in proportion to 1 / sqrt(users). There are
#: so many that rounding to whole reports changes nothing.
_MANY = 10**12


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorPlan:
    """The expected error of an item that hardly anybody holds.

    users: number of users who report in the epoch.
    standard_error: standard error of its frequency.
    smallest: frequency above which no item that nobody holds is estimated, but in 1 of 20 epochs.
    """

    users: int
    standard_error: float
    smallest: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PhasePlan:
    """The plan of one phase.

    number: 1 for the first.
    part: share of the users who are asked.
    asked: the property of a set that it asks for, item or count.
    items: number of items asked about.
    padding: l, number of slots or items of a set.
    epsilon: cost of a report, in nats.
    oracle: title of the oracle that perturbs it.
    bits, report_bytes: size of a report.
    counters, state_bytes: memory of the phase's window, for each source partition.
    errors: expected errors after the phase, one for each number of users; none if it estimates no frequencies.
    """

    number: int
    part: float
    asked: Target
    items: int
    padding: int
    epsilon: float
    oracle: str
    bits: int
    report_bytes: int
    counters: int
    state_bytes: int
    errors: tuple[ErrorPlan, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SpentPlan:
    """The cost of a number of epochs to a user who reports in all of them, epsilon in nats."""

    epochs: int
    epsilon: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The plan of a collection.

    usual: kind of the method that a file without one has at this epsilon; None where reports show a permanent
        response, which no other method has.
    items, k: number of items of the domain, and of heavy hitters.
    epoch_ms: time from the beginning of an epoch to the end of its last phase, in milliseconds.
    result_every_ms: time from one result to the next, in milliseconds.
    sample: share of the users whom an epoch asks.
    privacy: cost to a user, for each of `EPOCHS_PER_USER` in which they are asked.
    for_ever: cost of all epochs to a user whose set does not change, where reports show a permanent response; None
        where another epoch costs as much again.
    nats_per_day: cost of a day to a user, on average over users; of the first day where reports show a permanent
        response.
    budgets: how long each of `BUDGETS` lasts.
    """

    collection: str
    fingerprint: str
    method: str
    usual: str | None
    items: int
    k: int
    epochs: str
    epoch_ms: int
    result_every_ms: int
    sample: float
    privacy: tuple[SpentPlan, ...]
    for_ever: float | None
    nats_per_day: float
    budgets: tuple[BudgetPlan, ...]
    phases: tuple[PhasePlan, ...]


def plan(collection: ItemCollection, *, populations: Sequence[int] = POPULATIONS) -> Plan:
    """Work out the cost of a collection.

    populations: numbers of users who report in an epoch, for which to state the error.
    """
    method, schedule = collection.method, collection.schedule
    for_ever = epochs_epsilon(method, epochs=math.inf)
    memoises = for_ever < math.inf
    sample = collection.sample or 1.0
    epochs_per_day = DAY_MS / (schedule.stride * schedule.size_ms)
    return Plan(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        method=method.name,
        usual=None if memoises else usual_kind(collection.method_spec.epsilon),
        items=method.domain,
        k=method.k,
        epochs=collection.epochs.value,
        epoch_ms=schedule.phases * schedule.size_ms,
        result_every_ms=schedule.stride * schedule.size_ms,
        sample=sample,
        privacy=tuple(
            SpentPlan(epochs=epochs, epsilon=epochs_epsilon(method, epochs=epochs)) for epochs in EPOCHS_PER_USER
        ),
        for_ever=for_ever if memoises else None,
        nats_per_day=epochs_epsilon(method, epochs=max(1, math.ceil(sample * epochs_per_day)))
        if memoises
        else epochs_per_day * math.fsum(phase.part * phase.epsilon for phase in method.phases),
        budgets=tuple(
            BudgetPlan(budget=budget, times=epochs, days=epochs / sample / epochs_per_day)
            for budget, epochs in (
                (budget, affordable(lambda epochs: epochs_epsilon(method, epochs=epochs), budget=budget))
                for budget in BUDGETS
            )
        ),
        phases=tuple(_phases(method, populations)),
    )


def _phases(method: Method, users: Sequence[int]) -> Iterator[PhasePlan]:
    for phase, inquiry, estimate in epoch_of_noise(method):
        oracle = method.oracle(inquiry)
        items = method.domain if inquiry.candidates is None else len(inquiry.candidates)
        has_frequencies = phase.asked is Target.ITEM
        yield PhasePlan(
            number=phase.number,
            part=phase.part,
            asked=phase.asked,
            items=items,
            padding=inquiry.padding,
            epsilon=phase.epsilon,
            oracle=oracle.title,
            bits=oracle.bits,
            report_bytes=row_width(oracle.bits),
            counters=oracle.counters,
            state_bytes=oracle.counters * SUM_BYTES,
            errors=tuple(_error(estimate, items=items, users=count) for count in users) if has_frequencies else (),
        )


def epoch_of_noise(method: Method) -> Iterator[tuple[Phase, Inquiry, RankingEstimate]]:
    """Solve an epoch of `_MANY` users whose reports are noise alone, and iterate over its phases.

    Nobody reports how many candidates a set holds: the method then assumes that sets may hold all of them, for which
    the error of its last phase is largest.
    """
    inquiry: Inquiry | None = method.first()
    estimate: RankingEstimate | None = None
    while inquiry is not None:
        phase, oracle = method.phases[inquiry.phase - 1], method.oracle(inquiry)
        reports = round(_MANY * phase.part) if phase.asked is Target.ITEM else 0
        sums = oracle.neutral_sums(reports)
        estimate, following = method.solve(inquiry, sums=sums, reports=reports, before=estimate)
        yield phase, inquiry, estimate
        inquiry = following


def _error(estimate: RankingEstimate, *, items: int, users: int) -> ErrorPlan:
    noise = estimate.standard_error if estimate.noise is None else estimate.noise
    error = float(noise.max()) * math.sqrt(_MANY / users)
    alarm = NormalDist().inv_cdf(1 - FALSE_ALARM / items)
    return ErrorPlan(users=users, standard_error=error, smallest=alarm * error)
