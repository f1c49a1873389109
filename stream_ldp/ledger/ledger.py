"""The privacy ledger of one user as a value, without a file or a clock: what was spent, and what more may be.

A report of a record shows, of each attribute, one permanent response through fresh noise. Permanent responses are
independent of each other, so a user's loss is the loss of the set of responses that were shown, each as often as it
was. The ledger counts just that: how many different responses, and how often each. Values themselves never enter it.
Neither does the loss by which a user whose record changes is distinguished from one whose record does not; see
`Assumption`.

A report to a phase that memoises shows a permanent response too, to the sign of the user's set, and is counted in the
same way. Any other report to a phase of an epoch of an item collection is perturbed by fresh noise alone. Given what
was seen before it, whatever the phase asks and whatever set the user holds by then, it loses at most the phase's
epsilon. So all such reports of a user lose at most the sum of their phases' epsilons, although what a later phase
asks depends on earlier reports (adaptive sequential composition; Dwork and Roth, 2014, theorem 3.14 and section
3.5.1). Which phases ask a user is decided by the user's partition word, which is independent of the set. Each phase
is charged once an epoch, and gets one report: the ledger refuses an epoch in which the user has reported to the
phase.

Reports of records and reports to phases are independent of each other, given what the user holds, so their losses
add up.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import Annotated, Any, ClassVar, Self

from pydantic import ConfigDict, Field, PlainValidator, TypeAdapter

from stream_ldp.collection.collection import DAY_MS
from stream_ldp.collection.turns import Turn
from stream_ldp.ledger.reports import AttributeReport, PhaseReport
from stream_ldp.ledger.sharing import worst_sharing
from stream_ldp.ledger.terms import (
    Assumption,
    BudgetExceeded,
    DayBudgetExceeded,
    ReportRefused,
    SpanBudgetExceeded,
    Terms,
    TooManyValues,
)
from stream_ldp.mechanisms.privacy_loss import round_up
from stream_ldp.mechanisms.report_cost import ReportCost, cost_of

#: Most days whose spending is remembered. The budget of a day that is forgotten would begin anew if a clock went back
#: to it; a clock that is wrong in turns by so many different days is not to be expected.
MAX_DAYS = 8

#: Parts of the days that have a budget of their own: a charge counts for longer than them by one part, 1.6 %.
SPAN_PARTS = 64

#: Most ranges of epochs that an account of a phase remembers; beyond it, the two that are nearest become one.
MAX_RANGES = 64


#: Losses that are remembered: the users of a backend have much the same ones, and each takes logarithms of 50 digits.
MOST_LOSSES = 4_096

#: Costs that are remembered, more than the attributes of a collection.
MOST_COSTS = 1_024


class AlreadyReported(ReportRefused):
    """The user has reported to the phase in this epoch already, or it is so old that this is not known any more."""

    def __init__(self, report: PhaseReport) -> None:
        super().__init__(
            f"phase {report.phase} of epoch {report.epoch} of collection {report.collection!r} has had this user's "
            "report, or may have had it: nothing was sent"
        )


class TurnTaken(ReportRefused):
    """The user has had a turn in previous windows, or may have: the clock may have been ahead, or be behind.

    next_number: of the first window, or epoch, in which the user may report again.
    """

    def __init__(self, turn: Turn, *, next_number: int) -> None:
        super().__init__(
            f"a user reports once in {turn.every} windows, or epochs, and the ledger has a report in one of those "
            f"around number {turn.number}: nothing was sent; the next may be in number {next_number}"
        )
        self.next_number = next_number


@lru_cache(maxsize=MOST_LOSSES)
def _loss(mechanism: ReportCost, responses: int, reports: float) -> Fraction:
    """Return what so many permanent responses lose, each shown in so many reports."""
    return Fraction(mechanism.responses_loss(responses=responses, reports=reports))


@lru_cache(maxsize=MOST_LOSSES)
def _epsilon(
    records: tuple[tuple[ReportCost, int, int, int, int], ...], phases: tuple[tuple[float, int], ...]
) -> float:
    """Return the epsilon of a spending; see `Spending.epsilon`.

    records: the cost of a response, how many are memoised, in how many reports those and others were shown, and to
        how many attributes that applies.
    phases: of each account of a phase, its price and its reports.
    """
    # For each setting of the noise and number of reports, the permanent responses shown in so many of them.
    shown: Counter[tuple[ReportCost, int]] = Counter()
    apart = Fraction()
    for mechanism, tags, memoised, fresh, accounts in records:
        shown[mechanism, 1] += accounts * fresh
        if distinct := min(tags, memoised):
            if distinct > 1 and not mechanism.is_concave:
                # Which response was shown how often is not known, and to share reports out evenly may lose less.
                apart += accounts * Fraction(worst_sharing(mechanism, responses=distinct, reports=memoised))
                continue
            times, more = divmod(memoised, distinct)
            shown[mechanism, times + 1] += accounts * more
            shown[mechanism, times] += accounts * (distinct - more)
    losses = (_loss(mechanism, count, times) for (mechanism, times), count in shown.items() if count)
    return round_up(sum((*losses, *(Fraction(price) * reports for price, reports in phases)), apart))


@lru_cache(maxsize=MOST_LOSSES)
def _with_cost(spent: float, after: float, before: float) -> float:
    """Add to what was spent what an epsilon has grown by; never rounded down."""
    return round_up(Fraction(spent) + Fraction(after) - Fraction(before))


def day_of(time_ms: int) -> int:
    """Return the number of the day, UTC, at a time in milliseconds since 1970-01-01 UTC; that day is day 0.

    Raises:
        TypeError: the time is no whole number.
    """
    # A float such as NaN would be written into the ledger, which nobody could read again.
    return operator.index(time_ms) // DAY_MS


class _Part:
    """A part of a book, whose JSON has its fields and no others.

    Dataclasses: to copy a model of pydantic takes as long as all else that is done to it.
    """

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", ser_json_inf_nan="strings")


_Count = Annotated[int, Field(ge=0)]
_Positive = Annotated[int, Field(ge=1)]
#: Nats, as they are in a file.
_Nats = Annotated[float, Field(ge=0, allow_inf_nan=False)]

#: What a spending computes of its accounts, once.
_COMPUTED = ("epsilon", "_values")


@lru_cache(maxsize=MOST_COSTS)
def _cost_of(parameters: tuple[tuple[str, Any], ...]) -> ReportCost:
    return cost_of(dict(parameters))


def _shared_cost(given: Any) -> Any:
    """Make each cost once for all accounts that have it: to check its parameters takes longer than all the rest."""
    return _cost_of(tuple(given.items())) if isinstance(given, dict) else given


@dataclass(frozen=True, kw_only=True, slots=True)
class Account(_Part):
    """The account of some attributes of a collection that are always reported together, or of its sets.

    responses, mechanisms: see `AttributeReport`; accounts share permanent responses where p and q differ, or where
        one collection has more attributes.
    tags: of each attribute, those of the permanent responses that were memoised, sorted, or their order would show
        which came first.
    memoised: number of reports that showed one of them.
    fresh: number of reports that showed permanent responses drawn for them alone.
    """

    collection: str
    attributes: tuple[str, ...]
    responses: tuple[str, ...]
    mechanisms: tuple[Annotated[ReportCost, PlainValidator(_shared_cost)], ...]
    tags: tuple[tuple[str, ...], ...]
    memoised: _Count = 0
    fresh: _Count = 0

    @classmethod
    def of(cls, report: AttributeReport) -> Self:
        """Return an account without reports of what such a report shows."""
        return cls(
            collection=report.collection,
            attributes=report.attributes,
            responses=report.responses,
            mechanisms=report.mechanisms,
            tags=((),) * len(report.attributes),
        )

    def is_of(self, report: AttributeReport) -> bool:
        """Decide whether a report is charged to this account."""
        return self.responses == report.responses and (
            self.mechanisms is report.mechanisms or self.mechanisms == report.mechanisms
        )

    def after(self, report: AttributeReport) -> Account:
        """Return the account with one more report."""
        memoised, fresh, tags = self.memoised, self.fresh, self.tags
        if report.tags is None:
            fresh += report.times
        else:
            memoised += report.times
            shown = zip(tags, report.tags, strict=True)
            tags = tuple(known if tag in known else tuple(sorted((*known, tag))) for known, tag in shown)
        return replace(
            self,
            responses=report.responses,  # these and the costs are equal: the next report has the same objects
            mechanisms=report.mechanisms,
            tags=tags,
            memoised=memoised,
            fresh=fresh,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseAccount(_Part):
    """The account of the reports to one phase of an item collection, at one price.

    The price is stored, not asked of the method again: a release may change how a method divides its epsilon by
    default, and must not change what was spent.

    epochs: the epochs with a report, as ranges (first, last), ascending. One wrong clock must not end a user's
        reports for decades, so there is no newest epoch behind which all others are over; where there are more than
        `MAX_RANGES`, the epochs between the two nearest ranges are over too.
    reports: their number.
    """

    collection: str
    fingerprint: str
    phase: _Positive
    epsilon: _Nats
    epochs: tuple[tuple[int, int], ...]
    reports: _Positive

    def is_over(self, epoch: int) -> bool:
        """Decide whether the user may have reported in the epoch."""
        return any(first <= epoch <= last for first, last in self.epochs)

    def after(self, epoch: int) -> PhaseAccount:
        """Return the account with one more report, in an epoch that is not over."""
        ranges = sorted((*self.epochs, (epoch, epoch)))
        gaps = [begin - end for (_, end), (begin, _) in itertools.pairwise(ranges)]
        while gaps and (min(gaps) <= 1 or len(ranges) > MAX_RANGES):
            place = gaps.index(min(gaps))
            ranges[place : place + 2] = [(ranges[place][0], ranges[place + 1][1])]
            del gaps[place]
        return replace(self, epochs=tuple(ranges), reports=self.reports + 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Recent(_Part):
    """What was spent in a part of the days that have a budget of their own.

    end_ms: time at which the part ends, in milliseconds since 1970-01-01 UTC; all of it counts as spent then.
    spent: nats, never rounded down.
    """

    end_ms: int
    spent: _Nats


@dataclass(frozen=True, kw_only=True, slots=True)
class LastTurn(_Part):
    """The last turn of the user in a collection; see `stream_ldp.collection.turns.Turn`."""

    fingerprint: str
    number: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Day(_Part):
    """The spending of one day.

    day: its number, as `day_of` counts.
    spent: nats, never rounded down.
    """

    day: int
    spent: _Nats


@dataclass(frozen=True, kw_only=True)
class Spending(_Part):
    """All that one user's reports to all collections have shown, and what it has cost.

    What reports of records have cost is computed by their mechanisms.

    days: what the last `MAX_DAYS` days on which anything was spent have cost, the latest last.
    turns: the last turn in each collection whose users take turns.
    recent: what the days have cost that have a budget of their own, the latest last; nothing if the terms have none.
    """

    accounts: tuple[Account, ...] = ()
    phases: tuple[PhaseAccount, ...] = ()
    days: tuple[Day, ...] = ()
    turns: tuple[LastTurn, ...] = ()
    recent: tuple[Recent, ...] = ()

    def after(self, reports: Iterable[AttributeReport | PhaseReport]) -> Spending:
        """Return the spending with more reports.

        Raises:
            AlreadyReported: one of them is to a phase whose epoch is over for the user.
        """
        reports = tuple(reports)
        changed = self
        for phase in (phase for report in reports for phase in report.phases):
            changed = changed._after_phase(phase)
        return changed._after_shown(shown for report in reports for shown in report.shown)

    def _after_shown(self, reports: Iterable[AttributeReport]) -> Spending:
        """Return the spending with more permanent responses that were shown."""
        accounts = list(self.accounts)
        for report in reports:
            place = next((place for place, each in enumerate(accounts) if each.is_of(report)), len(accounts))
            accounts[place : place + 1] = [
                (accounts[place] if place < len(accounts) else Account.of(report)).after(report)
            ]
        return self._changed(accounts=tuple(accounts))

    def after_turn(self, turn: Turn | None, *, again: bool) -> Spending:
        """Return the spending with a turn taken, from which on the user has no other for `turn.every` windows.

        Turns only go forward: a clock that was ahead costs the turns until then, and one that is behind gives none.

        turn: None where users take no turns.
        again: whether more may be reported in the last turn, as to another phase of an epoch.

        Raises:
            TurnTaken: the user has had one.
        """
        if turn is None:
            return self
        last = next((each.number for each in self.turns if each.fingerprint == turn.fingerprint), None)
        if last is not None and turn.number < last + turn.every and not (again and turn.number == last):
            raise TurnTaken(turn, next_number=last + turn.every)
        others = [each for each in self.turns if each.fingerprint != turn.fingerprint]
        taken = LastTurn(fingerprint=turn.fingerprint, number=turn.number)
        return self._changed(turns=(*others, taken))

    def _changed(self, **parts: Any) -> Spending:
        changed = replace(self, **parts)
        if not parts.keys() & {"accounts", "phases"}:  # else what follows from them would be that of the original
            changed.__dict__.update((name, self.__dict__[name]) for name in _COMPUTED if name in self.__dict__)
        return changed

    def _after_phase(self, report: PhaseReport) -> Spending:
        """Return the spending with one more report to a phase, without what it shows."""
        phase = (report.fingerprint, report.phase)
        if any(each.is_over(report.epoch) for each in self.phases if (each.fingerprint, each.phase) == phase):
            raise AlreadyReported(report)
        accounts = {(each.fingerprint, each.phase, each.epsilon): each for each in self.phases}
        key = (*phase, report.epsilon)
        accounts[key] = (
            accounts[key].after(report.epoch)
            if key in accounts
            else PhaseAccount(
                collection=report.collection,
                fingerprint=report.fingerprint,
                phase=report.phase,
                epsilon=report.epsilon,
                epochs=((report.epoch, report.epoch),),
                reports=1,
            )
        )
        return self._changed(phases=tuple(accounts.values()))

    def values_of(self, responses: str) -> int:
        """Return the number of different values that are memoised among these permanent responses."""
        return self._values.get(responses, 0)

    @cached_property
    def _values(self) -> dict[str, int]:
        """The number of different values that are memoised among each set of permanent responses."""
        tags: dict[str, tuple[str, ...]] = {}
        for account in self.accounts:
            for responses, shown in zip(account.responses, account.tags, strict=True):
                others = tags.get(responses)
                tags[responses] = shown if others is None else tuple({*others, *shown})
        return {responses: len(of_them) for responses, of_them in tags.items()}

    @property
    def most_values(self) -> int:
        """The largest number of different values that are memoised of one attribute; 0 if there are none."""
        return max(self._values.values(), default=0)

    @cached_property
    def epsilon(self) -> float:
        """Epsilon of all reports, in nats, with the whole record or set protected; never rounded down.

        Reports to phases cost the sum of their prices.

        The costs of reports of records add up over all permanent responses, of one collection and of several, because
        the responses are independent. Where p and q of a collection have changed, the same responses were shown
        through two settings of the noise, and the losses of both are added: the loss as a function of the
        log-likelihood ratio of the instantaneous responses is ln[((2-f) e^x + f) / (f e^x + 2-f)]. It is concave and
        0 at 0, so the loss of a sum is at most the sum.
        """
        values = self._values
        costs = {id(cost): cost for account in self.accounts for cost in account.mechanisms}
        shown_of = self._shown(costs)
        alike = Counter([(cost, values[responses], *shown) for (responses, cost), shown in shown_of.items()])
        return _epsilon(
            tuple((costs[cost], *shown, count) for (cost, *shown), count in alike.items()),
            tuple((each.epsilon, each.reports) for each in self.phases),
        )

    def _shown(self, costs: Mapping[int, ReportCost]) -> dict[tuple[str, int], tuple[int, int]]:
        """Return in how many reports each set of responses was shown, of those memoised and of others.

        They are by name and by the identity of what a response costs, one for all costs that are equal: a cost takes
        long to hash.

        costs: those of all accounts, by their identities.
        """
        same: dict[ReportCost, int] = {}
        first = {number: same.setdefault(cost, number) for number, cost in costs.items()}
        found: dict[tuple[str, int], tuple[int, int]] = {}
        for account in self.accounts:
            for responses, cost in zip(account.responses, account.mechanisms, strict=True):
                key = responses, first[id(cost)]
                memoised, fresh = found.get(key, (0, 0))
                found[key] = memoised + account.memoised, fresh + account.fresh
        return found

    def on_day(self, day: int, *, since: Spending) -> Spending:
        """Return this spending, with all that was spent since another one charged to a day, too."""
        spent = Day(day=day, spent=_with_cost(since.spent_on(day), self.epsilon, since.epsilon))
        others = [each for each in since.days if each.day != day]
        return self._changed(days=(*others, spent)[-MAX_DAYS:])

    def spent_on(self, day: int) -> float:
        """Return the nats spent on a day."""
        return next((each.spent for each in self.days if each.day == day), 0.0)

    def in_span(self, span_ms: int, *, time_ms: int, since: Spending) -> Spending:
        """Return this spending, with all that was spent since another one charged to the time, too.

        Times are rounded up to the end of one of `SPAN_PARTS` parts of the span, so that few are remembered. A charge
        counts for longer than the span, by a part at most. What has counted for twice the span is forgotten: so a
        clock that was ahead by less than the span has renewed nothing.

        span_ms: length of the days that have a budget of their own; 0 if none have, and nothing is remembered.
        """
        if not span_ms:
            return self._changed(recent=()) if self.recent else self
        part_ms = span_ms // SPAN_PARTS
        end_ms = (time_ms // part_ms + 1) * part_ms
        kept = {each.end_ms: each.spent for each in since.recent if each.end_ms > time_ms - 2 * span_ms}
        if self.epsilon != since.epsilon:
            kept[end_ms] = _with_cost(kept.get(end_ms, 0.0), self.epsilon, since.epsilon)
        recent = tuple(Recent(end_ms=each, spent=spent) for each, spent in sorted(kept.items()))
        return self._changed(recent=recent)

    def spent_in(self, span_ms: int, *, time_ms: int) -> float:
        """Return the nats spent in a span that ends at a time, and after it, never rounded down."""
        return round_up(
            sum((Fraction(each.spent) for each in self.recent if each.end_ms > time_ms - span_ms), Fraction())
        )

    @property
    def assumption(self) -> Assumption:
        """The assumption about memoised values on which `epsilon` rests; FRESH if there are none."""
        if self.most_values > 1:
            return Assumption.VALUES
        return Assumption.CONSTANT if self.most_values else Assumption.FRESH

    @property
    def promise(self) -> str:
        """The users whom the reports do not distinguish by more than `epsilon`, in words.

        Reports with fresh permanent noise are charged each by itself, so that nothing is assumed of what they are
        about; the assumption is about the other reports alone.
        """
        if self.assumption is not Assumption.FRESH and any(account.fresh for account in self.accounts):
            return f"{self.assumption.promise}; in reports with fresh permanent noise, anything may change"
        return self.assumption.promise


def charged(cost: ReportCost, *, values: int, reports: int) -> float:
    """Return what a ledger charges for reports that show so many permanent responses, in nats.

    cost: of one of them; a `ReportCost`.
    """
    shown = [
        AttributeReport(
            collection="",
            attributes=("",),
            responses=("",),
            mechanisms=(cost,),
            tags=(str(min(place, values - 1)),),
            times=1,
        )
        for place in range(reports)
    ]
    return Spending().after(shown).epsilon


@dataclass(frozen=True, kw_only=True, slots=True)
class Book(_Part):
    """All that a ledger stores.

    terms: those to which the user has agreed.
    updates: how often a ledger in a file was changed, by which an older copy of it is noticed.
    """

    terms: Terms
    spending: Spending = field(default_factory=Spending)
    updates: _Count = 0


@cache
def _books() -> TypeAdapter[Book]:
    """Return what reads and writes books; made when it is first needed."""
    return TypeAdapter(Book)


def book_of(content: bytes) -> Book:
    """Read a book from its JSON.

    Raises:
        ValidationError: it is no book of this release.
    """
    return _books().validate_json(content)


def json_of(book: Book) -> bytes:
    """Return the JSON of a book."""
    return _books().dump_json(book)


def check_terms(terms: Terms, before: Spending, after: Spending, *, time_ms: int) -> None:
    """Require that the user has agreed to the reports which take the spending from one state to another.

    time_ms: at which they are made, in milliseconds since 1970-01-01 UTC.

    Raises:
        TooManyValues: an attribute would have a new value, and more of them than are agreed to.
        BudgetExceeded: they cost more than is left. What costs nothing more, as a repeated answer does, may be sent
            where stricter terms leave nothing of a budget.
        DayBudgetExceeded: they cost more than is left of the day.
        SpanBudgetExceeded: they cost more than is left of the days that have a budget of their own.
    """
    for account in after.accounts if after.most_values > terms.most_values else ():
        for attribute, responses in zip(account.attributes, account.responses, strict=True):
            values, most = after.values_of(responses), terms.most_values
            if values > most and values > (most := max(most, before.values_of(responses))):
                raise TooManyValues(attribute=attribute, most=most)
    spent, would_be = before.epsilon, after.epsilon
    if would_be > max(terms.budget, spent):
        raise BudgetExceeded(cost=would_be - spent, left=max(0.0, terms.budget - spent), budget=terms.budget)
    day = day_of(time_ms)
    today = before.spent_on(day)
    if after.spent_on(day) > max(terms.per_day, today):
        raise DayBudgetExceeded(cost=would_be - spent, left=max(0.0, terms.per_day - today), budget=terms.per_day)
    if terms.span_days is None:
        return
    lately = before.spent_in(terms.span_ms, time_ms=time_ms)
    if after.spent_in(terms.span_ms, time_ms=time_ms) > max(terms.per_span, lately):
        left = max(0.0, terms.per_span - lately)
        raise SpanBudgetExceeded(cost=would_be - spent, left=left, budget=terms.per_span, days=terms.span_days)
