"""The privacy ledger of one user as a value, without a file or a clock: what was spent, and what more may be.

A report of a record shows, of each attribute, one permanent response through fresh noise. Permanent responses are
independent of each other, so a user's loss is the loss of the set of responses that were shown, each as often as it
was. The ledger counts just that: how many different responses, and how often each. Values themselves never enter it.

A report to a phase of an epoch of an item collection is perturbed by fresh noise alone. Given what was seen before
it, whatever the phase asks and whatever set the user holds by then, it loses at most the phase's epsilon. So all such
reports of a user lose at most the sum of their phases' epsilons, although what a later phase asks depends on earlier
reports (adaptive sequential composition; Dwork and Roth, 2014, theorem 3.14 and section 3.5.1). Which phases ask a
user is decided by the user's partition word, which is independent of the set. Each phase is charged once an epoch,
and gets one report: the ledger refuses an epoch that is not newer than the last one in which the user reported to the
phase.

Reports of records and reports to phases are independent of each other, given what the user holds, so their losses
add up.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict, Field

from stream_ldp.errors import ParameterError, StreamLDPError
from stream_ldp.mechanisms import SECRET_BYTES, AnyMechanismSpec
from stream_ldp.mechanisms.privacy_loss import round_up, shown_epsilon

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stream_ldp.records.collection import JointCollection
    from stream_ldp.sets.collection import ItemCollection

__all__ = [
    "CONSTANT_RECORD",
    "Account",
    "AlreadyReported",
    "Assumption",
    "AttributeReport",
    "BudgetExceeded",
    "PhaseAccount",
    "PhaseReport",
    "ReportRefused",
    "Spending",
    "Terms",
    "TooManyValues",
    "attribute_reports",
]

#: Words of an attribute in a tag. By these 64 bits, any two of 1,000 values share a tag with probability 3e-14.
_TAG_WORDS = 2
_PUBLIC_KEY = bytes(SECRET_BYTES)


class Assumption(StrEnum):
    """An assumption about a user's values, on which the promise of a ledger's epsilon rests.

    Notation: eps(t) is the mechanism's epsilon of t reports of one attribute that does not change, and eps(inf) its
    epsilon of all reports for ever.
    """

    CONSTANT = "constant"
    """The user's record never changes. T reports lose eps(T) in each attribute, and never more than eps(inf).

    No reports distinguish two records by more than that.
    """

    VALUES = "values"
    """Each attribute of the user has at most v values over all reports.

    Let one user have the attribute values x_1, ..., x_T and another y_1, ..., y_T, with changes at the same times:
    x_s = x_t exactly if y_s = y_t. Then the reports fall into k <= v blocks of equal values. The blocks of each user
    show different permanent responses, which are independent, and both records are constant within a block b of t_b
    reports. So the loss is at most eps(t_1) + ... + eps(t_k), and it is that much where all values differ. As eps(t)
    is concave, it is largest when the T reports are shared out evenly over the k values. This largest loss is what
    the ledger charges, and it is never more than v eps(inf).

    When a value changes, and when it returns, is NOT protected: a permanent response that comes again shows it. The
    loss that distinguishes a user who changes from one who does not grows with every report, beyond any multiple of
    eps(inf). `Enumeration.changing_epsilon` finds it for a few reports; `FRESH` bounds it.
    """

    FRESH = "fresh"
    """Nothing is assumed: values may change in any way. Every report shows permanent responses that are drawn anew.

    The reports are then independent, and T of them lose T eps(1) in each attribute (sequential composition; Dwork
    and Roth, 2014, theorem 3.14). This does not hold for a client that memoises: what two reports share reveals more.
    """

    @property
    def promise(self) -> str:
        """The users whom the reports do not distinguish by more than epsilon, in words."""
        match self:
            case Assumption.CONSTANT:
                return "any two records; a user's record does not change"
            case Assumption.VALUES:
                return "any two users whose values change at the same times; when they change is not hidden"
            case Assumption.FRESH:
                return "any two users, however their values change"


class ReportRefused(StreamLDPError, RuntimeError):
    """A report would reveal more than its user has agreed to. It has been neither counted nor sent."""


class BudgetExceeded(ReportRefused):
    """A report would cost more than is left of the budget.

    cost, left: in nats.
    """

    def __init__(self, *, cost: float, left: float, budget: float) -> None:
        # The cost is rounded up and the rest down, or a report that exceeds it by little would look as if it fitted.
        left_shown = math.floor(left * 1_000) / 1_000
        super().__init__(
            f"to report this would cost {shown_epsilon(cost)} nats of privacy, and {left_shown:.3f} are left of a "
            f"budget of {budget}: nothing was sent"
        )
        self.cost = cost
        self.left = left


class TooManyValues(ReportRefused):
    """A report has one more value of an attribute than is assumed of its user. The message does not say which.

    That a report is missing reveals that the value has changed.
    """

    def __init__(self, *, attribute: str, most: int) -> None:
        had = "another value" if most == 1 else f"{most} other values"
        super().__init__(
            f"attribute {attribute!r} has had {had} in earlier reports, and no more are assumed of this user: "
            "nothing was sent"
        )
        self.attribute = attribute


class AlreadyReported(ReportRefused):
    """The user has reported to the phase in this epoch already, or in a later one."""

    def __init__(self, report: PhaseReport, *, last_epoch: int) -> None:
        super().__init__(
            f"the last report to phase {report.phase} of collection {report.collection!r} was in epoch {last_epoch}, "
            f"so its epoch {report.epoch} is over for this user: nothing was sent"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """The terms to which a user has agreed.

    budget: nats that all reports to all collections may cost; with math.inf, they are only counted.
    assumption: what is assumed of the user's values from now on.
    max_values: v, the number of values that an attribute may have under `Assumption.VALUES`, and only there.

    Raises:
        ParameterError: the budget is not positive, or max_values is missing, not positive or does not belong there.
    """

    budget: float = math.inf
    assumption: Assumption = Assumption.CONSTANT
    max_values: int | None = None

    def __post_init__(self) -> None:
        if not self.budget > 0:
            raise ParameterError(f"a budget is a positive number of nats, got {self.budget}")
        if (self.max_values is not None) != (self.assumption is Assumption.VALUES):
            raise ParameterError("the number of values that an attribute may have belongs to the assumption `values`")
        if self.max_values is not None and self.max_values < 1:
            raise ParameterError(f"an attribute has at least one value, got max_values={self.max_values}")

    @property
    def most_values(self) -> int:
        """Number of different values of one attribute that are memoised."""
        match self.assumption:
            case Assumption.CONSTANT:
                return 1
            case Assumption.VALUES:
                return self.max_values or 1
            case Assumption.FRESH:
                return 0

    def check(self, before: Spending, after: Spending) -> None:
        """Require that the user has agreed to the reports which take the spending from one state to another.

        Raises:
            TooManyValues: an attribute would have a new value, and more of them than are agreed to.
            BudgetExceeded: they cost more than is left.
        """
        for account in after.accounts:
            most = max(self.most_values, before.values_of(account.responses))
            if after.values_of(account.responses) > most:
                raise TooManyValues(attribute=account.attribute, most=most)
        spent, would_be = before.epsilon, after.epsilon
        if would_be > self.budget:
            raise BudgetExceeded(cost=would_be - spent, left=max(0.0, self.budget - spent), budget=self.budget)


#: No budget, and a record that does not change: all reports are counted, and one of a changed record is refused.
CONSTANT_RECORD = Terms()


@dataclass(frozen=True, kw_only=True, slots=True)
class AttributeReport:
    """The part of a report that shows one attribute, without the attribute's value.

    responses: names a set of permanent responses: equal where, and only where, equal values of one user have the
        same permanent response.
    tag: names the permanent response that is shown; None where it was drawn for this report alone.
    times: number of reports that show it.
    """

    collection: str
    attribute: str
    responses: str
    mechanism: AnyMechanismSpec
    tag: str | None
    times: int


def attribute_reports(
    collection: JointCollection, values: Iterable[Sequence[int]], *, tag_key: bytes | None
) -> tuple[AttributeReport, ...]:
    """Describe what reports of these records of one user show of each attribute.

    values: value indices as `JointCollection.encode` gives them, shape (n, attributes).
    tag_key: 32 bytes that only the user has; None where the permanent responses are drawn afresh.
    """
    words = collection.permanent_words(least=_TAG_WORDS)
    counts = [max(_TAG_WORDS, count) for count in collection.mechanism.words]
    starts = [sum(counts[:position]) for position in range(len(counts))]

    def tags(key: bytes, record: Sequence[int]) -> list[str]:
        # A tag is made as a permanent response is, with another key. So it depends on exactly what the response
        # depends on, and shows nothing without its key.
        made = words.words(key, record)
        return [made[start : start + _TAG_WORDS].tobytes().hex() for start in starts]

    responses = tags(_PUBLIC_KEY, [0] * len(starts))
    return tuple(
        AttributeReport(
            collection=collection.name,
            attribute=attribute.name,
            responses=response,
            mechanism=collection.mechanism_spec,
            tag=tag,
            times=times,
        )
        for record, times in Counter(map(tuple, values)).items()
        for attribute, response, tag in zip(
            collection.attributes,
            responses,
            [None] * len(starts) if tag_key is None else tags(tag_key, record),
            strict=True,
        )
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseReport:
    """A report to one phase of one epoch of an item collection, without its content.

    fingerprint: of the collection, hexadecimal; epochs are counted anew for each fingerprint.
    epsilon: what the collection's method allows the report to cost, in nats.
    """

    collection: str
    fingerprint: str
    phase: int
    epoch: int
    epsilon: float

    @classmethod
    def to(cls, collection: ItemCollection, *, phase: int, epoch: int) -> Self:
        """Describe a report to this phase."""
        return cls(
            collection=collection.name,
            fingerprint=collection.fingerprint.hex(),
            phase=phase,
            epoch=epoch,
            epsilon=collection.method.phases[phase - 1].epsilon,
        )


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Account(_Part):
    """The account of one attribute of a collection under one setting of its noise.

    responses: see `AttributeReport`; accounts share permanent responses where only p and q differ.
    tags: of the permanent responses that were memoised, sorted, or their order would show which came first.
    memoised: number of reports that showed one of them.
    fresh: number of reports that showed a permanent response drawn for them alone.
    """

    collection: str
    attribute: str
    responses: str
    mechanism: AnyMechanismSpec
    tags: tuple[str, ...] = ()
    memoised: int = Field(default=0, ge=0)
    fresh: int = Field(default=0, ge=0)

    def after(self, report: AttributeReport) -> Account:
        """Return the account with one more report."""
        if report.tag is None:
            return self.model_copy(update={"fresh": self.fresh + report.times})
        tags = tuple(sorted({*self.tags, report.tag}))
        return self.model_copy(update={"tags": tags, "memoised": self.memoised + report.times})


class PhaseAccount(_Part):
    """The account of the reports to one phase of an item collection, at one price.

    The price is stored, not asked of the method again: a release may change how a method divides its epsilon by
    default, and must not change what was spent.

    last_epoch: the newest epoch with a report.
    reports: their number; `answers` in the file, whose keys stay as earlier releases wrote them.
    """

    model_config = ConfigDict(populate_by_name=True)

    collection: str
    fingerprint: str
    phase: int = Field(ge=1)
    epsilon: float = Field(gt=0, allow_inf_nan=False)
    last_epoch: int
    reports: int = Field(alias="answers", ge=1)


class Spending(_Part):
    """All that one user's reports to all collections have shown, and what it has cost.

    What reports of records have cost is computed by their mechanisms.
    """

    accounts: tuple[Account, ...] = ()
    phases: tuple[PhaseAccount, ...] = ()

    def after(self, reports: Iterable[AttributeReport]) -> Spending:
        """Return the spending with more reports of records."""
        accounts = {(account.responses, account.mechanism): account for account in self.accounts}
        for report in reports:
            key = (report.responses, report.mechanism)
            account = accounts.get(key) or Account(
                collection=report.collection,
                attribute=report.attribute,
                responses=report.responses,
                mechanism=report.mechanism,
            )
            accounts[key] = account.after(report)
        return self.model_copy(update={"accounts": tuple(accounts.values())})

    def after_phase(self, report: PhaseReport) -> Spending:
        """Return the spending with one more report to a phase.

        Raises:
            AlreadyReported: there is a report to the phase in an epoch that is not older.
        """
        phase = (report.fingerprint, report.phase)
        epochs = [each.last_epoch for each in self.phases if (each.fingerprint, each.phase) == phase]
        if epochs and report.epoch <= max(epochs):
            raise AlreadyReported(report, last_epoch=max(epochs))
        accounts = {(each.fingerprint, each.phase, each.epsilon): each for each in self.phases}
        key = (*phase, report.epsilon)
        accounts[key] = PhaseAccount(
            collection=report.collection,
            fingerprint=report.fingerprint,
            phase=report.phase,
            epsilon=report.epsilon,
            last_epoch=report.epoch,
            reports=1 + (accounts[key].reports if key in accounts else 0),
        )
        return self.model_copy(update={"phases": tuple(accounts.values())})

    def values_of(self, responses: str) -> int:
        """Return the number of different values that are memoised among these permanent responses."""
        return len({tag for account in self.accounts if account.responses == responses for tag in account.tags})

    @property
    def epsilon(self) -> float:
        """Epsilon of all reports, in nats, with the whole record or set protected; never rounded down.

        Reports to phases cost the sum of their prices.

        The costs of reports of records add up over all permanent responses, of one collection and of several, because
        the responses are independent. Where p and q of a collection have changed, the same responses were shown
        through two settings of the noise, and the losses of both are added: the loss as a function of the
        log-likelihood ratio of the instantaneous responses, ln[((2-f) e^x + f) / (f e^x + 2-f)], is concave and 0 at
        0, so that the loss of a sum is at most the sum.
        """
        # For each setting of the noise and number of reports, the permanent responses shown in so many of them.
        shown: Counter[tuple[AnyMechanismSpec, int]] = Counter()
        for account in self.accounts:
            shown[account.mechanism, 1] += account.fresh
            if distinct := min(self.values_of(account.responses), account.memoised):
                times, more = divmod(account.memoised, distinct)
                shown[account.mechanism, times + 1] += more
                shown[account.mechanism, times] += distinct - more
        records = (
            Fraction(mechanism.responses_loss(responses=count, reports=times))
            for (mechanism, times), count in shown.items()
            if count
        )
        phases = (Fraction(each.epsilon) * each.reports for each in self.phases)
        return round_up(sum((*records, *phases), Fraction()))

    @property
    def assumption(self) -> Assumption:
        """The weakest assumption under which all of it was spent, and under which `epsilon` is a promise."""
        most = max((self.values_of(account.responses) for account in self.accounts), default=0)
        if most > 1:
            return Assumption.VALUES
        return Assumption.CONSTANT if most else Assumption.FRESH
