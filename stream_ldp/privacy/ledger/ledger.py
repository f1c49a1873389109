"""What one user's reports have told so far, and what more they may: the ledger as a value, without a file or a clock.

A report of a record shows, of each attribute, one permanent response through fresh noise. Permanent responses are
independent of each other, so a user's loss is that of the set of responses that were shown, each as often as it was,
and the ledger counts just that: how often, and how many different ones. Values themselves never enter it.

An answer to a phase of an epoch of an item collection is perturbed by fresh noise alone. Given what was seen before
it, whatever a phase asks and whatever set the user holds by then, it loses at most the phase's epsilon; so all of a
user's answers lose at most the sum of theirs, although later phases ask what earlier answers made them ask (adaptive
sequential composition; Dwork and Roth, 2014, theorem 3.14 and section 3.5.1). Which phases ask a user is decided by
his group word, which is independent of his set. An answer to one phase is thereby charged once, and there is one: the
ledger refuses an epoch that is not newer than the last one in which the phase was answered.

Answers and reports are independent of each other, given what the user holds, so their losses add up.
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
from stream_ldp.mechanisms.privacy_loss import shown_epsilon

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stream_ldp.records.collection import JointCollection
    from stream_ldp.sets.collection import ItemCollection

__all__ = [
    "COUNT_ONLY",
    "Account",
    "AlreadyAnswered",
    "Answer",
    "Assumption",
    "BudgetExceeded",
    "PhaseAccount",
    "PhaseAnswer",
    "ReportRefused",
    "Spending",
    "Terms",
    "TooManyValues",
    "answers_of",
]

#: Of an attribute's words in a tag, 64 bits: two of an attribute's 1,000 values share one with probability 3e-14.
_TAG_WORDS = 2
_PUBLIC_KEY = bytes(SECRET_BYTES)


class Assumption(StrEnum):
    """What is assumed of a user's values, and so what the epsilon of a ledger is a promise of.

    Notation: eps(t) is the mechanism's epsilon of t reports of one attribute that does not change, and eps(inf) that
    of all reports for ever.
    """

    CONSTANT = "constant"
    """The user's record never changes. T reports lose eps(T) in each attribute, and never more than eps(inf).

    Any two records are told apart by no more than that.
    """

    VALUES = "values"
    """Each attribute of the user has at most v values over all reports.

    Where attribute values are x_1, ..., x_T of one user and y_1, ..., y_T of the other, and both have changes at the
    same times, x_s = x_t exactly if y_s = y_t, the reports fall into k <= v blocks of equal values. The blocks of one
    user show different permanent responses, which are independent, and so do those of the other; within the block b
    of t_b reports both records are constant. So the loss is at most eps(t_1) + ... + eps(t_k), and it is that much
    where all values differ. As eps(t) is concave, it is largest when the T reports are shared out evenly over the k
    values: this is what the ledger charges, and it is never more than v eps(inf).

    When a value changes, and when it returns, is NOT protected: a permanent response that comes again shows it, and
    a user who changes is told from one who does not with a loss that grows with every report, beyond any multiple of
    eps(inf). `Enumeration.changing_epsilon` finds it for a few reports; `FRESH` bounds it.
    """

    FRESH = "fresh"
    """Nothing: values may change in any way. Every report shows permanent responses that are drawn anew.

    The reports are then independent, and T of them lose T eps(1) in each attribute (sequential composition; Dwork
    and Roth, 2014, theorem 3.14). It is not true of a client that memoises: what two reports share tells more.
    """

    @property
    def promise(self) -> str:
        """Which users the reports do not tell apart by more than epsilon."""
        match self:
            case Assumption.CONSTANT:
                return "any two records; a user's record does not change"
            case Assumption.VALUES:
                return "any two users whose values change at the same times; when they change is not hidden"
            case Assumption.FRESH:
                return "any two users, however their values change"


class ReportRefused(StreamLDPError, RuntimeError):
    """A report that would tell more than its user has agreed to. It has neither been counted nor sent."""


class BudgetExceeded(ReportRefused):
    """A report that would cost more than is left.

    cost, left: in nats.
    """

    def __init__(self, *, cost: float, left: float, budget: float) -> None:
        # Rounded apart: what is too much by little must not look as if it fitted.
        left_shown = math.floor(left * 1_000) / 1_000
        super().__init__(
            f"to report this would cost {shown_epsilon(cost)} nats of privacy, and {left_shown:.3f} are left of a "
            f"budget of {budget:g}: nothing was sent"
        )
        self.cost = cost
        self.left = left


class TooManyValues(ReportRefused):
    """A report with one value more of an attribute than is assumed of its user. The value is not told.

    The report that is missing tells that the value has changed.
    """

    def __init__(self, *, attribute: str, most: int) -> None:
        had = "another value" if most == 1 else f"{most} other values"
        super().__init__(
            f"attribute {attribute!r} has had {had} in earlier reports, and no more are assumed of this user: "
            "nothing was sent"
        )
        self.attribute = attribute


class AlreadyAnswered(ReportRefused):
    """An answer to a phase that has been answered in this epoch, or in a later one."""

    def __init__(self, answer: PhaseAnswer, *, last_epoch: int) -> None:
        super().__init__(
            f"phase {answer.phase} of collection {answer.collection!r} was last answered in epoch {last_epoch}, so "
            f"its epoch {answer.epoch} is over for this user: nothing was sent"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What a user has agreed to.

    budget: nats that all reports to all collections may cost; math.inf only counts them.
    assumption: under which the user reports from now on.
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
        """Different values of one attribute that are memoised."""
        match self.assumption:
            case Assumption.CONSTANT:
                return 1
            case Assumption.VALUES:
                return self.max_values or 1
            case Assumption.FRESH:
                return 0

    def check(self, before: Spending, after: Spending) -> None:
        """Let reports pass that take a user from one state to another.

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


#: Of a record that does not change, which is refused if it does.
COUNT_ONLY = Terms()


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What reports show of one attribute, without its value.

    responses: the same where, and only where, equal values of one user have the same permanent response.
    tag: the same where the permanent response is; None where it was drawn for this report alone.
    times: reports that show it.
    """

    collection: str
    attribute: str
    responses: str
    mechanism: AnyMechanismSpec
    tag: str | None
    times: int


def answers_of(
    collection: JointCollection, values: Iterable[Sequence[int]], *, tag_key: bytes | None
) -> tuple[Answer, ...]:
    """What reports of these records of one user show.

    values: value indices as `JointCollection.encode` gives them, shape (n, attributes).
    tag_key: 32 bytes that only the user has; None where the permanent responses are drawn afresh.
    """
    words = collection.permanent_words(least=_TAG_WORDS)
    counts = [max(_TAG_WORDS, count) for count in collection.mechanism.words]
    starts = [sum(counts[:position]) for position in range(len(counts))]

    def tags(key: bytes, record: Sequence[int]) -> list[str]:
        # Made as permanent responses are, with another key: so a tag depends on all that a response depends on, and
        # on nothing else, and shows nothing without its key.
        made = words.words(key, record)
        return [made[start : start + _TAG_WORDS].tobytes().hex() for start in starts]

    responses = tags(_PUBLIC_KEY, [0] * len(starts))
    return tuple(
        Answer(
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
class PhaseAnswer:
    """An answer to one phase of one epoch of an item collection, without the answer.

    fingerprint: of the collection, hexadecimal; epochs are numbered by what it stands for.
    epsilon: what the collection's method allows an answer to cost, in nats.
    """

    collection: str
    fingerprint: str
    phase: int
    epoch: int
    epsilon: float

    @classmethod
    def to(cls, collection: ItemCollection, *, phase: int, epoch: int) -> Self:
        """An answer to this phase."""
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
    """What was shown of one attribute of a collection under one setting of its noise.

    responses: see `Answer`; accounts share permanent responses where only p and q differ.
    tags: of the permanent responses that were memoised, sorted: their order would tell which came first.
    memoised: reports that showed one of them.
    fresh: reports that showed a permanent response of their own.
    """

    collection: str
    attribute: str
    responses: str
    mechanism: AnyMechanismSpec
    tags: tuple[str, ...] = ()
    memoised: int = Field(default=0, ge=0)
    fresh: int = Field(default=0, ge=0)

    def after(self, answer: Answer) -> Account:
        """The account with one more answer."""
        if answer.tag is None:
            return self.model_copy(update={"fresh": self.fresh + answer.times})
        tags = tuple(sorted({*self.tags, answer.tag}))
        return self.model_copy(update={"tags": tags, "memoised": self.memoised + answer.times})


class PhaseAccount(_Part):
    """The answers to one phase of an item collection, at one price.

    The price is kept, not asked of a method again: what a method's parts are by default may change with a release,
    and what was spent may not.

    last_epoch: the newest that was answered.
    """

    collection: str
    fingerprint: str
    phase: int = Field(ge=1)
    epsilon: float = Field(gt=0, allow_inf_nan=False)
    last_epoch: int
    answers: int = Field(ge=1)


class Spending(_Part):
    """All that one user's reports and answers have shown, to all collections, and what it has cost.

    What reports of records have cost is asked of their mechanisms.
    """

    accounts: tuple[Account, ...] = ()
    phases: tuple[PhaseAccount, ...] = ()

    def after(self, answers: Iterable[Answer]) -> Spending:
        """The spending with more answers."""
        accounts = {(account.responses, account.mechanism): account for account in self.accounts}
        for answer in answers:
            key = (answer.responses, answer.mechanism)
            account = accounts.get(key) or Account(
                collection=answer.collection,
                attribute=answer.attribute,
                responses=answer.responses,
                mechanism=answer.mechanism,
            )
            accounts[key] = account.after(answer)
        return self.model_copy(update={"accounts": tuple(accounts.values())})

    def after_phase(self, answer: PhaseAnswer) -> Spending:
        """The spending with an answer to a phase.

        Raises:
            AlreadyAnswered: the phase has been answered in an epoch that is not older.
        """
        asked = (answer.fingerprint, answer.phase)
        epochs = [each.last_epoch for each in self.phases if (each.fingerprint, each.phase) == asked]
        if epochs and answer.epoch <= max(epochs):
            raise AlreadyAnswered(answer, last_epoch=max(epochs))
        accounts = {(each.fingerprint, each.phase, each.epsilon): each for each in self.phases}
        key = (*asked, answer.epsilon)
        accounts[key] = PhaseAccount(
            collection=answer.collection,
            fingerprint=answer.fingerprint,
            phase=answer.phase,
            epsilon=answer.epsilon,
            last_epoch=answer.epoch,
            answers=1 + (accounts[key].answers if key in accounts else 0),
        )
        return self.model_copy(update={"phases": tuple(accounts.values())})

    def values_of(self, responses: str) -> int:
        """Number of different values that are memoised among these permanent responses."""
        return len({tag for account in self.accounts if account.responses == responses for tag in account.tags})

    @property
    def epsilon(self) -> float:
        """What has been spent, in nats, of a user whose whole record or set is protected; never rounded down.

        The answers to phases cost the sum of their prices.

        For records, it adds up over all permanent responses, of one collection and of several: they are independent.
        Where p and q of a collection have changed, the same responses were shown through two settings of the noise,
        and the losses of both are added: the loss as a function of the log-likelihood ratio of the instantaneous
        responses, ln[((2-f) e^x + f) / (f e^x + 2-f)], is concave and 0 at 0, so that the loss of a sum is at most
        the sum.
        """
        # Number of permanent responses that were shown so many times through one setting of the noise.
        shown: Counter[tuple[AnyMechanismSpec, int]] = Counter()
        for account in self.accounts:
            shown[account.mechanism, 1] += account.fresh
            if distinct := min(self.values_of(account.responses), account.memoised):
                times, more = divmod(account.memoised, distinct)
                shown[account.mechanism, times + 1] += more
                shown[account.mechanism, times] += distinct - more
        return _sum(
            *(
                Fraction(mechanism.responses_loss(responses=count, reports=times))
                for (mechanism, times), count in shown.items()
                if count
            ),
            *(Fraction(each.epsilon) * each.answers for each in self.phases),
        )

    @property
    def assumption(self) -> Assumption:
        """The weakest assumption under which all of it was spent, which `epsilon` is a promise under."""
        most = max((self.values_of(account.responses) for account in self.accounts), default=0)
        if most > 1:
            return Assumption.VALUES
        return Assumption.CONSTANT if most else Assumption.FRESH


def _sum(*losses: Fraction) -> float:
    """The sum, never rounded down, and rounded once: ten epochs of epsilon 1 cost 10."""
    exact = sum(losses, Fraction())
    nearest = float(exact)
    return math.nextafter(nearest, math.inf) if Fraction(nearest) < exact else nearest
