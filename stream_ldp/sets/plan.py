"""The plan of a collection of item sets: its bits, privacy, memory, time and expected error, before it runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.collection import shown_duration
from stream_ldp.collection.collection import DAY_MS
from stream_ldp.mechanisms.packing import row_width
from stream_ldp.mechanisms.privacy_loss import UNCHANGED_SET, shown_epsilon
from stream_ldp.mechanisms.shuffling import DELTA, composed_epsilon, shuffled_epsilon
from stream_ldp.pipeline.answer import Published
from stream_ldp.pipeline.budgets import BUDGETS, BudgetPlan, affordable, budget_section, times
from stream_ldp.pipeline.kind import POPULATIONS
from stream_ldp.pipeline.leverage import Leverage
from stream_ldp.pipeline.plan import Plan as AnyPlan
from stream_ldp.pipeline.plan import Section, errors_in_short, guess_in_short
from stream_ldp.pipeline.published import anew
from stream_ldp.pipeline.solve_time import SolveTime, Timer
from stream_ldp.pipeline.statistics import SUM_BYTES
from stream_ldp.quantity import memory, quantity
from stream_ldp.sets.methods.itemsets import few_held
from stream_ldp.sets.methods.spec import ASK
from stream_ldp.sets.methods.svim import usual_doubt
from stream_ldp.sets.phases import (
    Inquiry,
    Method,
    Phase,
    RankingEstimate,
    Target,
    epoch_epsilon,
    epochs_epsilon,
    most_spent,
    phase_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.mechanisms import FrequencyOracle
    from stream_ldp.sets.collection import ItemCollection

#: Numbers of epochs for which the privacy loss is stated: once, daily for a week, a month and a year.
EPOCHS_PER_USER = (1, 7, 30, 365)

#: Chance that the estimate of any item that nobody holds exceeds the smallest frequency that counts as above 0.
FALSE_ALARM = 0.05

#: Shares of the users who hold an itemset, to show its standard error for.
_HELD_BY = (0.1, 0.3)

#: Users of the epoch for which errors are computed; for others they are in proportion to 1 / sqrt(users). There are
#: so many that rounding to whole reports changes nothing.
_MANY = 10**12


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorPlan:
    """The expected error of an item, or itemset, that hardly anybody holds.

    users: number of users who report in the epoch.
    standard_error: standard error of its frequency.
    smallest: frequency above which no item that nobody holds is estimated, but in 1 of 20 epochs.
    doubt: the error of an itemset that larger sets add, as a share of its frequency. Sets are taken to hold
        `few_held` of the itemsets asked about on average, with numbers that fall geometrically; None of an item.
    """

    users: int
    standard_error: float
    smallest: float
    doubt: float | None = None

    @property
    def shown(self) -> str:
        """Both numbers as text; there is no frequency above 1."""
        return f"{self.standard_error:.4f} / {f'{self.smallest:.4f}' if self.smallest < 1 else 'above 1'}"

    def of_frequency(self, frequency: float) -> float:
        """Compute the standard error that answers are expected to state for such a frequency."""
        return math.hypot(self.standard_error, frequency * (self.doubt or 0.0))


@dataclass(frozen=True, kw_only=True, slots=True)
class PhasePlan:
    """The plan of one phase.

    number: 1 for the first.
    part: share of the users who are asked.
    asked: the property of a set that it asks for: item, count or size.
    items: number of items, or itemsets, asked about.
    sizes: numbers of items of the itemsets; empty where it asks about items.
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
    sizes: tuple[int, ...]
    padding: int
    epsilon: float
    oracle: str
    bits: int
    report_bytes: int
    counters: int
    state_bytes: int
    errors: tuple[ErrorPlan, ...]

    @property
    def question(self) -> str:
        """What it asks of a set, in words."""
        if self.asked is Target.SIZE:
            return "how large a set is, as a power of two"
        if self.asked is Target.COUNT:
            return f"how many of {self.items:,} {'itemsets' if self.sizes else 'candidates'}"
        if self.sizes:
            return f"itemsets of {' or '.join(map(str, self.sizes))}: {self.items:,}, l = {self.padding}"
        return f"items of {self.items:,}, l = {self.padding}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SpentPlan:
    """The cost of a number of epochs to a user who reports in all of them, epsilon in nats."""

    epochs: int
    epsilon: float


@dataclass(frozen=True, kw_only=True)
class Plan(AnyPlan):
    """The plan of a collection.

    set_size: what is known of the size of sets beforehand, in words.
    items, k: number of items of the domain, and of heavy hitters.
    epoch_ms: time from the beginning of an epoch to the end of its last phase, in milliseconds.
    result_every_ms: time from one result to the next, in milliseconds.
    sample: share of the users whom an epoch asks.
    privacy: cost to a user, for each of `EPOCHS_PER_USER` in which they are asked.
    lifetime: cost of all epochs to a user whose set does not change, where reports show a permanent response; None
        where another epoch costs as much again.
    nats_per_day: cost of a day to a user, on average over users; of the first day where reports show a permanent
        response.
    budgets: how long each of `BUDGETS` lasts.
    """

    method: str
    set_size: str
    items: int
    k: int
    epochs: str
    epoch_ms: int
    result_every_ms: int
    sample: float
    privacy: tuple[SpentPlan, ...]
    lifetime: float | None
    nats_per_day: float
    budgets: tuple[BudgetPlan, ...]
    phases: tuple[PhasePlan, ...]

    def in_short(self) -> Iterator[str]:
        """Iterate over sentences about any two sets, and the frequency of a rare item."""
        if self.lifetime is None:
            once = self.privacy[0]
            yield guess_in_short(once.epsilon, seen="the reports of a user in one epoch", between="sets")
            yield "Each further epoch costs as much again, up to the budget of the client."
        else:
            yield guess_in_short(
                self.lifetime, seen="all reports of a user, whose set does not change,", between="sets"
            )
        result = [phase for phase in self.phases if phase.errors and not phase.sizes][-1]
        errors = [(error.users, error.standard_error) for error in result.errors]
        yield errors_in_short("The standard error of the frequency of a rare item", errors, of="an epoch")

    def sections(self) -> Iterator[Section]:
        """Iterate over the method and its epochs, the privacy of a set, the phases, and their errors."""
        sampled = ("each epoch asks", f"{self.sample:.2%} of the users, others at every time")
        yield self.head(
            ("method", f"{self.method}, for the top {self.k} of {quantity(self.items, 'item')}"),
            ("set size", self.set_size),
            ("an epoch", f"{quantity(len(self.phases), 'phase')}, {shown_duration(self.epoch_ms)}"),
            ("epochs", f"{self.epochs}, with a result every {shown_duration(self.result_every_ms)}"),
            *((sampled,) if self.sample < 1.0 else ()),
            (
                "a user who always reports",
                f"{times(self.nats_per_day)} nats "
                + ("a day on average" if self.lifetime is None else "on the first day, and then less"),
            ),
        )
        memoised = () if self.lifetime is None else (("all, unchanged", shown_epsilon(self.lifetime)),)
        yield Section(
            title="Privacy of a whole set",
            columns=("epochs that a user reports in", "epsilon at most"),
            rows=(*((str(each.epochs), shown_epsilon(each.epsilon)) for each in self.privacy), *memoised),
            notes=(f"For more than one epoch: {UNCHANGED_SET}.",) if memoised else (),
        )
        yield budget_section(self.budgets, of="epochs")
        yield Section(
            title="Each phase; the state is that of a window and source partition",
            columns=("phase", "users", "reports on", "epsilon", "response", "report", "state"),
            rows=tuple(
                (
                    str(phase.number),
                    f"{phase.part:.2g}" if self.sample < 1.0 else f"{phase.part:.0%}",
                    phase.question,
                    shown_epsilon(phase.epsilon),
                    phase.oracle,
                    quantity(phase.bits, "bit"),
                    memory(phase.state_bytes),
                )
                for phase in self.phases
            ),
        )
        measured = [phase for phase in self.phases if phase.errors and not phase.sizes]
        first = next(phase for phase in self.phases if phase.asked is Target.ITEM)
        yield Section(
            title="Standard error of a rare item's frequency / smallest frequency that differs clearly from 0",
            columns=("users", *(f"after phase {phase.number}" for phase in measured)),
            rows=tuple(
                (f"{errors[0].users:,}", *(error.shown for error in errors))
                for errors in zip(*(phase.errors for phase in measured), strict=True)
            ),
            notes=()
            if first is measured[-1]
            else (
                f"Phase {first.number} decides what becomes a candidate; phase {measured[-1].number} gives the "
                "result."
                + ("" if first.errors else f" Of a set of unknown size, phase {first.number} shows the order alone."),
            ),
        )
        yield from (_itemsets_section(phase) for phase in self.phases if phase.errors and phase.sizes)


def _itemsets_section(phase: PhasePlan) -> Section:
    held = few_held(phase.epsilon)
    return Section(
        title="Standard error of an itemset's frequency",
        columns=("users", "nobody holds it / clearly above 0", *(f"{share:.0%} hold it" for share in _HELD_BY)),
        rows=tuple(
            (f"{error.users:,}", error.shown, *(f"{error.of_frequency(share):.4f}" for share in _HELD_BY))
            for error in phase.errors
        ),
        notes=(
            f"Sets may hold more itemsets than phase {phase.number} counts. This adds a doubt, a share of the "
            "frequency: "
            + ", ".join(f"{error.doubt:.0%} with {quantity(error.users, 'user')}" for error in phase.errors)
            + f". It is stated for sets that hold {held:g} of the itemsets on average, and their numbers fall "
            "geometrically; answers state that of their own sets.",
        ),
    )


def summary(collection: ItemCollection) -> str:
    """Describe a collection on one line."""
    method = collection.method
    lifetime = epochs_epsilon(method, epochs=math.inf)
    memoised = "" if lifetime == math.inf else f", {shown_epsilon(lifetime)} a lifetime if a set does not change"
    return (
        f"{quantity(collection.items.count, 'item')}, {method.name} for the top {method.k}, {collection.epochs} "
        f"epochs of {quantity(len(method.phases), 'phase')} at epsilon {shown_epsilon(epoch_epsilon(method))}"
        f"{memoised}"
    )


def plan(collection: ItemCollection, *, populations: Sequence[int] = POPULATIONS) -> Plan:
    """Work out the cost of a collection.

    populations: numbers of users who report in an epoch, for which to state the error.
    """
    method, schedule = collection.method, collection.schedule
    lifetime = epochs_epsilon(method, epochs=math.inf)
    memoises = lifetime < math.inf
    sample = collection.asked_share
    epochs_per_day = DAY_MS / (schedule.stride * schedule.size_ms)
    return Plan(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        method=method.name,
        set_size=_set_size(collection),
        items=method.domain,
        k=method.k,
        epochs=collection.epochs.value,
        epoch_ms=schedule.phases * schedule.size_ms,
        result_every_ms=schedule.stride * schedule.size_ms,
        sample=sample,
        privacy=tuple(
            SpentPlan(epochs=epochs, epsilon=epochs_epsilon(method, epochs=epochs)) for epochs in EPOCHS_PER_USER
        ),
        lifetime=lifetime if memoises else None,
        nats_per_day=epochs_epsilon(method, epochs=max(1, math.ceil(sample * epochs_per_day)))
        if memoises
        else epochs_per_day
        / (collection.rotate or 1)
        * math.fsum(phase.part * phase.epsilon for phase in method.phases),
        budgets=tuple(
            BudgetPlan(budget=budget, times=epochs, days=epochs / sample / epochs_per_day)
            for budget, epochs in (
                (budget, affordable(lambda epochs: epochs_epsilon(method, epochs=epochs), budget=budget))
                for budget in BUDGETS
            )
        ),
        phases=tuple(_phases(method, populations)),
    )


def _set_size(collection: ItemCollection) -> str:
    given, first = collection.method_spec.set_size, collection.method.phases[0]
    if given is None:
        return f"not known: with `set_size: {ASK}`, a tenth of the users are asked for it, which finds more"
    if given != ASK:
        return f"at most {quantity(int(given), 'item')}, or nearly so"
    assumed = next(asked.padding for phase, asked, _ in epoch_of_noise(collection.method) if phase.number > 1)
    return (
        f"{first.part / (collection.sample or 1.0):.0%} of the users are asked for it, in phase 1 and for nothing "
        f"else; errors are stated for {assumed}, and are about twice as large for four times as many"
    )


def _phases(method: Method, users: Sequence[int]) -> Iterator[PhasePlan]:
    doubts: list[float | None] = [None] * len(users)
    for phase, inquiry, estimate in epoch_of_noise(method):
        oracle = method.oracle(inquiry)
        if phase.sizes and phase.asked is Target.COUNT:
            doubts = [_doubt(phase, oracle, users=count) for count in users]
        items = method.domain if inquiry.candidates is None else len(inquiry.candidates)
        has_frequencies = phase.asked is Target.ITEM and not estimate.drawn
        yield PhasePlan(
            number=phase.number,
            part=phase.part,
            asked=phase.asked,
            items=items,
            sizes=phase.sizes,
            padding=inquiry.padding,
            epsilon=phase.epsilon,
            oracle=oracle.title,
            bits=oracle.bits,
            report_bytes=row_width(oracle.bits),
            counters=oracle.counters,
            state_bytes=oracle.counters * SUM_BYTES,
            errors=tuple(
                _error(estimate, items=items, users=count, doubt=doubt)
                for count, doubt in zip(users, doubts, strict=True)
            )
            if has_frequencies
            else (),
        )


def epoch_of_noise(method: Method) -> Iterator[tuple[Phase, Inquiry, RankingEstimate]]:
    """Solve an epoch of `_MANY` users whose reports are noise alone, and iterate over its phases.

    Nobody reports how large a set is, or how many candidates it holds: the method then assumes sets as usual, and
    that they may hold all candidates, for which the error of its last phase is largest.
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


def _doubt(phase: Phase, oracle: FrequencyOracle, *, users: int) -> float:
    """Compute the usual doubt about itemsets after a phase that asks how many of them a set holds."""
    reports = max(1, round(users * phase.part))
    error = float(oracle.standard_errors(np.zeros(1), reports=reports)[0])
    return usual_doubt(oracle.size - 1, held=few_held(phase.epsilon), error=error)


def _error(estimate: RankingEstimate, *, items: int, users: int, doubt: float | None) -> ErrorPlan:
    noise = estimate.standard_error if estimate.noise is None else estimate.noise
    error = float(noise.max()) * math.sqrt(_MANY / users)
    alarm = NormalDist().inv_cdf(1 - FALSE_ALARM / items)
    return ErrorPlan(users=users, standard_error=error, smallest=alarm * error, doubt=doubt)


def leverages(collection: ItemCollection) -> tuple[Leverage, ...]:
    """Return what one crafted report can do to a published frequency, after each phase; see `Kind.leverages`.

    A report is made of one of l items or dummies, so that its frequency is l times that of the reports.
    """
    method = collection.method
    return tuple(
        Leverage(
            series=phase_name(phase.number),
            of_one=oracle.scale(padding=inquiry.padding) * oracle.leverage,
            asked=phase.part / (collection.sample or 1.0),
        )
        for phase, inquiry, _ in epoch_of_noise(method)
        if phase.asked is not Target.COUNT
        for oracle in [method.oracle(inquiry)]
    )


AS_MUCH = "another epoch costs as much again"


def published(collection: ItemCollection, reports: int, *, windows: int = 1) -> Published | None:
    """See `PublishedBound`; each phase has its share of the users, and somebody who reports."""
    of_phases = [max(1, round(reports * phase.part)) for phase in collection.method.phases]
    return published_of_phases(collection, of_phases, epochs=windows)


def published_of_phases(
    collection: ItemCollection, reports_per_phase: Sequence[int], *, epochs: int = 1
) -> Published | None:
    """State what readers of an epoch's final answers so far could learn of a user: that of each phase, added up.

    The sums of a phase do not depend on the order of its reports, and what the next phase asks follows from them. As
    in `published_among`, no other report hides permanent noise where users return.

    reports_per_phase: of each phase that has been answered.
    epochs: how many, each with so many reports.
    """
    phases, delta = collection.method.phases, collection.delta or DELTA
    memoised = any(phase.memoised for phase in phases)
    if epochs == 1 and memoised and collection.window.returning != 0.0:
        return None
    of_each = delta / len(phases)
    # A phase that nobody has reported to shows nothing.
    hidden = [
        replace(phase, epsilon=_epsilon(phase.epsilon, reports, delta=of_each, epochs=epochs) if reports else 0.0)
        for phase, reports in zip(phases, reports_per_phase, strict=False)
    ]
    what = "any two sets of items"
    return Published.among(
        " + ".join(f"{reports:,}" for reports in reports_per_phase),
        epsilon=most_spent(hidden),
        delta=delta,
        once="once to each phase" if epochs == 1 else anew(epochs, what="epochs", each="once to each phase"),
        hidden=what if memoised or epochs > 1 else f"{what}; {AS_MUCH}",
    )


def _epsilon(local: float, reports: int, *, delta: float, epochs: int) -> float:
    if epochs == 1:
        return shuffled_epsilon(local, reports=reports, delta=delta)
    return composed_epsilon(local, reports=reports, delta=delta, times=epochs)


def solve_times(collection: ItemCollection, *, populations: Sequence[int], timer: Timer) -> Iterator[SolveTime]:
    """Measure the time to solve each phase.

    populations: numbers of reports in a window.
    """
    epoch = epoch_of_noise(collection.method)
    for series in collection.series:
        seconds = timer(lambda: next(epoch))
        for reports in populations:
            yield SolveTime(series=series.name, reports=reports, first_s=seconds, later_s=seconds)
