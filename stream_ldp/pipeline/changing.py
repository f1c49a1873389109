"""What values that change cost a user for a lifetime, in each way to report them, and the section of a plan about it.

Today's two ways are to refuse a value that has changed, and to charge each value that is reported. Where values are
hashed to g buckets, each bucket is charged (LOLOHA; Arcolezi et al., 2023), so that all values together cost at most
g times as much as one, with a larger error. Where a user reports of d values whether each is the user's (dBitFlip;
Ding et al., 2017), all values cost at most d + 1 times what one does.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import BitFlipResponse, DirectResponse, RepeatedResponse
from stream_ldp.mechanisms.bit_flip import MAX_BITS
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.pipeline.plan import Section
from stream_ldp.quantity import quantity

#: Numbers of changes for which a plan compares the ways, by default.
CHANGES = (0, 1, 2, 5, 20)

#: Most buckets, and most changes, among which the better way is sought.
_MOST_BUCKETS = 64
_MOST_CHANGES = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangingValues:
    """Values of an attribute whose answers a user repeats, and what they cost.

    about: name of the attribute.
    values: k, their number.
    lifetime: nats that all reports of one value, or bucket, cost.
    per_report: nats that one report costs; as much as `lifetime` where every report repeats the same answer.
    variance: of a share of 1 / k where each value is charged, times the number of answers.
    buckets: g of the collection, or as many as have the least variance where it does not hash.
    bits: d of the collection; None for as many as have the least error, where it asks for no bits.
    hashed: whether the collection hashes to so many buckets, perturbed by k-RR.
    choices: the numbers of buckets that a file may have, each with how many values the buckets of each hash have;
        without these, hashes are random.
    """

    about: str
    values: int
    lifetime: float
    per_report: float
    variance: float
    buckets: int
    bits: int | None = None
    hashed: bool = False
    choices: Mapping[int, Sequence[Sequence[int]]] = field(
        default_factory=lambda: dict.fromkeys(range(2, _MOST_BUCKETS + 1), ())
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangePlan:
    """What a user with so many changes costs in each way, in nats for a lifetime.

    changes: each to a value that the user has not had, as long as there is one.
    refused: where a changed value is refused, so that nothing is reported after the first change.
    by_value: where each value is charged.
    by_bucket: the most where each bucket is charged.
    by_bucket_on_average: the mean of that over hashes.
    error: the standard error of the collection's hashing, or of the best one where it does not hash, at the lifetime
        cost of `by_value`, as a part of that error.
    bits: d, the number of values that a user reports about; of the collection, or the best.
    by_bit: the most where each answer about them is charged.
    bit_error: as `error`, of answers about so many values.
    """

    about: str
    changes: int
    refused: float
    by_value: float
    by_bucket: float
    by_bucket_on_average: float
    error: float
    bits: int
    by_bit: float
    bit_error: float


def change_plans(of: Iterable[ChangingValues], *, changes: Sequence[int] = CHANGES) -> tuple[ChangePlan, ...]:
    """Compare the ways for each attribute and number of changes."""
    return tuple(_change_plan(each, count) for each in of for count in changes)


def change_section(of: Sequence[ChangingValues], plans: Sequence[ChangePlan]) -> Section:
    """Say what values that change cost, and which way is better when."""
    fresh = max((each.per_report for each in of), default=0.0)
    return Section(
        title="Values that change: nats for a lifetime, and the better way",
        columns=(
            "attribute",
            "changes",
            "refuse",
            "charge by value",
            "hash: at most",
            "on average",
            "its error, at the cost of charging by value",
            "bits",
            "bits: at most",
            "their error",
        ),
        rows=tuple(
            (
                each.about,
                str(each.changes),
                shown_epsilon(each.refused),
                shown_epsilon(each.by_value),
                shown_epsilon(each.by_bucket),
                shown_epsilon(each.by_bucket_on_average),
                f"{each.error:.2f}",
                str(each.bits),
                shown_epsilon(each.by_bit),
                f"{each.bit_error:.2f}",
            )
            for each in plans
        ),
        notes=(
            *(f"{_verdict(each)} {_bit_verdict(each)}" for each in of),
            "To refuse a value that has changed ends the user's reports. To charge by value or by bucket is the "
            "assumption `values`. What a change itself shows is not counted: reports of another value, or bucket, "
            "have other noise. A change within a bucket, or among values that a user does not report about, shows "
            "nothing. Answers by bits (`oracle: d-bit-flip` of `sampled`) are repeated as they are: one report costs "
            "as much as all, and a change that shows is certain.",
            f"With the assumption `fresh`, changes show nothing, and each report costs {shown_epsilon(fresh)}.",
        ),
    )


def _change_plan(of: ChangingValues, changes: int) -> ChangePlan:
    values = min(changes + 1, of.values)
    bits, bit_error = _best_bits(of, values)
    return ChangePlan(
        about=of.about,
        changes=changes,
        refused=of.lifetime,
        by_value=values * of.lifetime,
        by_bucket=min(values, of.buckets) * of.lifetime,
        by_bucket_on_average=_mean_buckets(of, values) * of.lifetime,
        error=_error(of, values),
        bits=bits,
        by_bit=min(values, bits + 1) * of.lifetime,
        bit_error=bit_error,
    )


def _best_bits(of: ChangingValues, values: int) -> tuple[int, float]:
    """Return the number of bits of least error at the cost of charging so many values, and that error as a part."""
    choices = [of.bits] if of.bits is not None else range(1, min(of.values, MAX_BITS))
    errors = {bits: _bit_variance(of, bits, more=values / min(values, bits + 1)) for bits in choices}
    best = min(errors, key=errors.__getitem__)
    return best, math.sqrt(errors[best] / of.variance)


def _bit_variance(of: ChangingValues, bits: int, *, more: float) -> float:
    """Return the variance of a share f = 1 / k from answers about so many values, times the number of all answers.

    One in C users reports about the value: it is C times that of a bit, and (C - 1) f (1 - f) for who they are.
    """
    share, cohorts = 1 / of.values, -(-of.values // bits)
    try:
        oracle = BitFlipResponse(size=bits, epsilon=of.lifetime * more, cohorts=cohorts)
    except ParameterError:  # beyond the resolution
        return math.inf
    p, q = oracle.support
    noise = (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2
    return cohorts * noise + (cohorts - 1) * share * (1 - share)


def _mean_buckets(of: ChangingValues, values: int) -> float:
    """Return the mean number of buckets of so many different values, over hashes and the choice of values."""
    g, k = of.buckets, of.values
    if not (hashes := of.choices.get(g, ())):
        return g * (1 - (1 - 1 / g) ** values)
    missed = [math.comb(k - size, values) / math.comb(k, values) for sizes in hashes for size in sizes]
    return g - sum(missed) / len(hashes)


def _error(of: ChangingValues, values: int) -> float:
    """Return the error of hashing so many values at the cost of charging each, as a part of the other.

    It is that of the collection's buckets, or of the best number of them where it does not hash.
    """
    hashed = min(
        _hashed_variance(of, g, more=more)
        for g in ([of.buckets] if of.hashed else of.choices)
        for more in [values / min(values, g)]
    )
    return math.sqrt(hashed / of.variance)


def _hashed_variance(of: ChangingValues, buckets: int, *, more: float = 1.0) -> float:
    """Return the variance of a share f = 1 / k that is estimated from one report of a bucket.

    It is [f p (1 - p) + (1 - f) q (1 - q)] / (p - q)^2 (Wang, Blocki, Li and Jha, 2017, equation 1). Here q is the
    chance that another value's report names the bucket: 1 / g for random hashes.

    more: factor of both epsilons.
    """
    share, lifetime, per_report = 1 / of.values, of.lifetime * more, of.per_report * more
    try:
        oracle = (
            RepeatedResponse(size=buckets, epsilon=per_report, lifetime=lifetime)
            if per_report < lifetime
            else DirectResponse(size=buckets, epsilon=lifetime)
        )
    except ParameterError:  # beyond the resolution
        return math.inf
    p, other = oracle.support
    hashes, pairs = of.choices.get(buckets, ()), of.values * (of.values - 1)
    shared = (
        sum(size * (size - 1) / pairs for sizes in hashes for size in sizes) / len(hashes) if hashes else 1 / buckets
    )
    q = shared * p + (1 - shared) * other
    return (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2


def best_buckets(of: ChangingValues) -> int:
    """Return the minimum-variance number of buckets at the epsilons of one value."""
    return min(of.choices, key=lambda buckets: _hashed_variance(of, buckets))


def _too_many_buckets(of: ChangingValues) -> str:
    """Say what the error is with fewer buckets than a collection has, if that is smaller than without a hash."""
    best = min(
        [buckets for buckets in of.choices if buckets <= of.buckets] or [of.buckets],
        key=lambda buckets: _hashed_variance(of, buckets),
    )
    error = _error(replace(of, buckets=best), of.values)
    if best == of.buckets or error >= 1:
        return ""
    return f"; with {best} buckets it is {error:.2f} times, once all values are reported"


def _bit_verdict(of: ChangingValues) -> str:
    """Say from how many changes on answers by bits have the smallest error of all ways, at the same cost."""
    for changes in (*range(of.values), _MOST_CHANGES):
        values = min(changes + 1, of.values)
        bits, error = _best_bits(of, values)
        if error < min(1.0, _error(of, values)):
            since = "even without a change" if not changes else f"from {quantity(changes, 'change')} on"
            return f"Answers by {quantity(bits, 'bit')} have the smallest error {since}."
    return "Answers by bits have the larger error, whatever the number of changes."


def _verdict(of: ChangingValues) -> str:
    counts = (*range(of.values), _MOST_CHANGES)  # more changes reach no more values
    first = next((changes for changes in counts if _error(of, min(changes + 1, of.values)) < 1), None)
    if first is None and of.hashed:
        return (
            f"{of.about}: charge by value, whatever the number of changes; hashing to {of.buckets} buckets has at "
            f"least {_error(of, of.values):.2f} times its error at the same cost{_too_many_buckets(of)}."
        )
    if first is None:
        return (
            f"{of.about}: charge by value, whatever the number of changes; with so few values, hashing has the "
            "larger error at the same cost."
        )
    if first == 0:
        return f"{of.about}: hash the values; among so many, the error is smaller even without a change."
    return (
        f"{of.about}: from {first} {'change' if first == 1 else 'changes'} on, hashing has the smaller error at the "
        "same cost; with fewer, charge by value, or refuse where changes are hardly expected."
    )
