"""What a collection of item sets will cost before it runs: bits, privacy, memory, time, and the error to expect."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from stream_ldp.pipeline.kind import POPULATIONS
from stream_ldp.pipeline.statistics import row_width
from stream_ldp.sets.phases import Target, epoch_epsilon

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.phases import Inquiry, Method, Phase, RankingEstimate

__all__ = ["ErrorPlan", "PhasePlan", "Plan", "SpentPlan", "plan"]

#: Numbers of epochs that privacy is told for: once, daily for a week, a month and a year.
EPOCHS_ANSWERED = (1, 7, 30, 365)

#: Chance that any of the items that nobody holds comes out above the smallest frequency that is told from 0.
FALSE_ALARM = 0.05

_SUM_BYTES = 8  # of a counter in memory

#: Users of the epoch that errors are worked out for; those of others are in proportion to 1 / sqrt(users). So many
#: that whole numbers of reports are nearly as they are expected.
_MANY = 10**12


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorPlan:
    """The error of an item that hardly anybody holds.

    users: who answer the epoch.
    standard_error: of its frequency.
    smallest: frequency that tells an item from all those that nobody holds, but for once in 20.
    """

    users: int
    standard_error: float
    smallest: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PhasePlan:
    """What one phase asks, costs and tells.

    number: 1 for the first.
    part: of the users who are asked.
    asked: what it wants to know of a set, item or count.
    items: number of items asked about.
    padding: l, number of slots or items of a set.
    epsilon: of an answer, in nats.
    oracle: how it is perturbed.
    bits, report_bytes: of a report.
    counters, state_bytes: of the phase's window, for each source partition.
    errors: after the phase, for each number of users; none where it tells no frequencies.
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
    """What so many epochs cost a user who answers them, epsilon in nats."""

    epochs: int
    epsilon: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What a collection asks, costs and tells.

    items, k: of the domain, and wanted.
    epoch_ms: from the beginning of an epoch to the end of its last phase.
    result_every_ms: from one result to the next.
    """

    collection: str
    fingerprint: str
    method: str
    items: int
    k: int
    epochs: str
    epoch_ms: int
    result_every_ms: int
    privacy: tuple[SpentPlan, ...]
    phases: tuple[PhasePlan, ...]


def plan(collection: ItemCollection, *, populations: Sequence[int] = POPULATIONS) -> Plan:
    """Work out the cost of a collection.

    populations: numbers of users who answer an epoch, to tell the error for.
    """
    method, schedule = collection.method, collection.schedule
    epsilon = epoch_epsilon(method)
    return Plan(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        method=method.name,
        items=method.domain,
        k=method.k,
        epochs=collection.epochs.value,
        epoch_ms=schedule.phases * schedule.size_ms,
        result_every_ms=schedule.stride * schedule.size_ms,
        privacy=tuple(SpentPlan(epochs=epochs, epsilon=epochs * epsilon) for epochs in EPOCHS_ANSWERED),
        phases=tuple(_phases(method, populations)),
    )


def _phases(method: Method, users: Sequence[int]) -> Iterator[PhasePlan]:
    for phase, inquiry, estimate in _epoch_of_noise(method):
        oracle = method.oracle(inquiry)
        items = method.domain if inquiry.candidates is None else len(inquiry.candidates)
        tells = phase.asked is Target.ITEM
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
            state_bytes=oracle.counters * _SUM_BYTES,
            errors=tuple(_error(estimate, items=items, users=count) for count in users) if tells else (),
        )


def _epoch_of_noise(method: Method) -> Iterator[tuple[Phase, Inquiry, RankingEstimate]]:
    """Each phase of an epoch of `_MANY` users whose answers say nothing, as the method itself solves it.

    How many candidates a set holds is not told at all: the method then takes it that sets may hold them all, which is
    the most that its last phase can cost.
    """
    asked: Inquiry | None = method.first()
    estimate: RankingEstimate | None = None
    while asked is not None:
        phase, oracle = method.phases[asked.phase - 1], method.oracle(asked)
        reports = round(_MANY * phase.part) if phase.asked is Target.ITEM else 0
        sums = oracle.neutral_sums(reports)
        estimate, following = method.solve(asked, sums=sums, reports=reports, before=estimate)
        yield phase, asked, estimate
        asked = following


def _error(estimate: RankingEstimate, *, items: int, users: int) -> ErrorPlan:
    error = float(estimate.standard_error.max()) * math.sqrt(_MANY / users)
    alarm = NormalDist().inv_cdf(1 - FALSE_ALARM / items)
    return ErrorPlan(users=users, standard_error=error, smallest=alarm * error)
