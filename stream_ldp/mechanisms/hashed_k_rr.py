"""k-RR of hashed values: each attribute's value is hashed to a few buckets first, so that changes cost little.

It is LOLOHA (Arcolezi, Pinzon, Palamidessi and Gambs, 2023) for records: a user has one permanent hash of each
attribute, k-RR perturbs the bucket once, permanently, and each report perturbs that response again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from stream_ldp.collection.located import Misplaced
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.blanket import Blanket
from stream_ldp.mechanisms.k_rr import KRR, NumberedSymbols
from stream_ldp.mechanisms.mechanism import MechanismSpec, Symbol, Symbols, TwoStages
from stream_ldp.mechanisms.privacy_loss import PrivacyLoss, Values, round_up
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy, GivenWords
from stream_ldp.mechanisms.repeated import RepeatedCost
from stream_ldp.mechanisms.support import Support

#: The numbers of buckets: primes, so that numbers below one of them can be divided. More buckets would cost more for
#: changes than most attributes have values.
BUCKETS = (2, 3, 5, 7, 11, 13)


class HashedKRRSpec(MechanismSpec):
    """k-RR of hashed values as a collection file writes it.

    epsilon: privacy loss, in nats, of all reports of one bucket of an attribute. All values that an attribute ever
        has cost at most `buckets` times as much.
    per_report: of one report of one attribute, which is less.
    buckets: g; an attribute that has no more values is not hashed.
    """

    example: ClassVar[str] = "epsilon=2,per_report=1,buckets=2"

    kind: Literal["hashed-k-rr"]
    epsilon: float = Field(
        gt=0, allow_inf_nan=False, description="lifetime epsilon of all reports of one bucket of an attribute"
    )
    per_report: float = Field(gt=0, allow_inf_nan=False, description="nats that one report of an attribute may cost")
    buckets: int = Field(default=2, description="number of buckets: 2, 3, 5, 7, 11 or 13")

    def of(self, *, sizes: tuple[int, ...]) -> HashedKRR:
        """Return the mechanism for attributes of these sizes."""
        return HashedKRR(
            sizes=sizes,
            attribute_epsilon=self.epsilon,
            report_epsilon=self.per_report,
            buckets=self.buckets,
        )

    def costs(self, *, sizes: tuple[int, ...]) -> Sequence[RepeatedCost]:
        """See `MechanismSpec.costs`: those of the buckets."""
        return self.of(sizes=sizes).bucket_costs

    def responses_loss(self, *, responses: int, reports: float) -> float:  # noqa: ARG002
        """See `MechanismSpec.responses_loss`: what any number of reports reveal."""
        return round_up(responses * Fraction(self.epsilon))

    @classmethod
    def for_budget(cls, *, sizes: tuple[int, ...], lifetime: float, per_report: float | None) -> Self:
        """See `MechanismSpec.for_budget`: all attributes get equal shares of the budget.

        Raises:
            ParameterError: the budget is out of range, or one report may cost as much as all.
        """
        if per_report is None or per_report >= lifetime:
            raise ParameterError(
                "hashed-k-rr has noise of its own in each report: give per_report below the lifetime"
            )
        mechanism = HashedKRR(
            sizes=sizes,
            attribute_epsilon=lifetime / len(sizes),
            report_epsilon=per_report / len(sizes),
        )
        return cls(
            kind="hashed-k-rr",
            epsilon=mechanism.attribute_epsilon,
            per_report=mechanism.report_epsilon,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class HashedKRR(NumberedSymbols):
    """A mechanism that hashes each attribute's value to a bucket, and names the bucket by k-RR with fresh noise.

    Hashes are the parallel classes of an affine geometry: write a value as m digits below g, and a cohort as m digits
    below g whose highest digit that is not 0 is 1. The bucket is the sum of the products of their digits, modulo g.
    So any two values share their bucket in as many cohorts: (g^(m-1) - 1) of every (g^m - 1), which is less than one
    in g. There are (g^m - 1) / (g - 1) cohorts, fewer than values, so that few different reports are counted. An
    attribute of at most g values has one cohort, and each value a bucket of its own: that is k-RR.

    A user's cohorts are permanent and independent of each other, and so is what k-RR names of each bucket. Reports
    have both the cohort and what fresh k-RR makes of the named bucket. They support all values of that bucket.

    sizes: number of values of each attribute, each at least 2.
    attribute_epsilon: privacy loss, in nats, that all reports of one bucket of an attribute may cost.
    report_epsilon: that one of them may cost, which is less.
    buckets: g, a prime.
    response: k-RR of the buckets.

    Raises:
        ParameterError: a parameter is out of its range, or no multiples of 2^-32 are probabilities for the epsilons.
    """

    title: ClassVar[str] = "k-RR of hashed values"

    sizes: tuple[int, ...]
    attribute_epsilon: float
    report_epsilon: float
    buckets: int = 2
    response: KRR = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.buckets not in BUCKETS:
            *most, last = BUCKETS
            raise Misplaced(
                f"buckets are a prime, one of {', '.join(map(str, most))} and {last}, got {self.buckets}", "buckets"
            )
        response = KRR(
            sizes=tuple(min(size, self.buckets) for size in self.sizes),
            attribute_epsilon=self.attribute_epsilon,
            report_epsilon=self.report_epsilon,
        )
        object.__setattr__(self, "response", response)

    @property
    def cohorts(self) -> tuple[int, ...]:
        """Number of cohorts of each attribute."""
        return tuple(len(each) for each in self._hashes)

    @property
    def _hashes(self) -> list[NDArray[np.int64]]:
        """The buckets of the values of each attribute in each cohort, shape (cohorts, values)."""
        return [hashes(size, self.buckets) for size in self.sizes]

    @property
    def bucket_costs(self) -> Sequence[RepeatedCost]:
        """See `Mechanism.bucket_costs`."""
        response = self.response
        return [
            RepeatedCost(size=size, permanent=kept, fresh=fresh)
            for size, kept, fresh in zip(response.sizes, response.kept, response.fresh, strict=True)
        ]

    @property
    def words(self) -> tuple[int, ...]:
        """Number of words of each attribute: one for the cohort, and one for the response to each bucket."""
        return tuple(1 + size for size in self.response.sizes)

    @property
    def decisions(self) -> tuple[range, ...]:
        """See `Mechanism.decisions`: those of the cohort and of all buckets; the value uses one of these."""
        ends = np.cumsum(self.words).tolist()
        return tuple(range(end - count, end) for end, count in zip(ends, self.words, strict=True))

    def shown(self, values: NDArray[np.integer], words: NDArray[np.uint32]) -> NDArray[np.int64]:
        """See `Mechanism.shown`: the bucket of each value."""
        cohorts = self._shifts(values.shape[0], GivenWords(words))[:, self._firsts]
        return self._bucketed(values, cohorts)

    @property
    def noise(self) -> tuple[list[Any], ...]:
        """The mechanism's name, so that no word is shared with another one, and what `meaning` has."""
        return tuple(["hashed-k-rr", *each] for each in self.meaning)

    @property
    def meaning(self) -> list[Any]:
        """The number of buckets of each attribute, and both probabilities to keep one, in units of 2^-32."""
        response = self.response
        return [list(each) for each in zip(response.sizes, response.kept, response.fresh, strict=True)]

    @property
    def supports(self) -> tuple[Support, ...]:
        """The support of each attribute's values: a report supports those of the bucket that it names.

        Cohorts are counted as equally likely, which they are but for 2^-32.
        """
        found = []
        for own, size, shared in zip(self.response.supports, self.response.sizes, self._shared, strict=True):
            other = (1 - own.one) / (size - 1)
            found.append(Support(one=own.one, zero=shared * own.one + (1 - shared) * other, ratio=other / own.one))
        return tuple(found)

    @property
    def _shared(self) -> list[float]:
        """The share of cohorts in which two values have the same bucket, for each attribute."""
        g = self.buckets
        return [(g ** (digits - 1) - 1) / (g**digits - 1) for digits in (_digits(size, g) for size in self.sizes)]

    @property
    def blankets(self) -> tuple[Blanket, ...]:
        """See `Mechanism.blankets`: every cohort and bucket with the same chance."""
        return tuple(
            Blanket.of_support(own=own.one, any_value=1 / size, both=shared / size)
            for own, size, shared in zip(self.response.supports, self.response.sizes, self._shared, strict=True)
        )

    def permanent(self, values: NDArray[np.intp], source: Entropy) -> Symbols:
        """Draw the cohort of each attribute and the bucket that is named, as one number, shape (n, attributes)."""
        shifts = self._shifts(len(values), source)
        cohorts = shifts[:, self._firsts]
        held = self._bucketed(values, cohorts)
        buckets = np.array(self.response.sizes)
        named = (held + np.take_along_axis(shifts, self._firsts + 1 + held, axis=1)) % buckets
        symbols: Symbols = cohorts * buckets + named
        return symbols

    def _shifts(self, users: int, source: Entropy) -> NDArray[np.int64]:
        """Draw each user's cohorts, and how k-RR moves each bucket; shape (users, sum of words)."""
        kept, others = [], []
        for cohorts, size, chance in zip(self.cohorts, self.response.sizes, self.response.kept, strict=True):
            kept += [first_words(cohorts), *[chance] * size]
            others += [max(cohorts - 1, 1), *[size - 1] * size]
        shape = users, len(kept)
        return source.shifts(np.broadcast_to(np.array(kept), shape), np.broadcast_to(np.array(others), shape))

    @property
    def _firsts(self) -> NDArray[np.int64]:
        """The place of the first word of each attribute."""
        return np.cumsum((0, *self.words[:-1]))

    def _bucketed(self, values: NDArray[np.integer], cohorts: NDArray[np.int64]) -> NDArray[np.int64]:
        columns = zip(self._hashes, cohorts.T, values.T, strict=True)
        return np.stack([table[cohort, column] for table, cohort, column in columns], axis=1)

    def instantaneous(self, symbols: Symbols, entropy: Entropy) -> Symbols:
        """Draw what is sent of the named buckets, in the cohorts as they are."""
        buckets = np.array(self.response.sizes)
        named = symbols % buckets
        sent: Symbols = symbols - named + self.response.instantaneous(named, entropy)
        return sent

    def supported(self, bits: NDArray[np.uint8], attributes: Sequence[int]) -> NDArray[np.uint8]:
        """See `Mechanism.supported`: the values of the bucket that is named.

        A symbol of no cohort, which only a forged partial has, supports none, as in k-RR a symbol of no value does.
        """
        parts = []
        for each, symbols in zip(attributes, self._sent(bits, attributes), strict=True):
            cohorts, named = np.divmod(symbols, self.response.sizes[each])
            known = cohorts < self.cohorts[each]
            parts.append(self._hashes[each][cohorts * known] == np.where(known, named, -1)[:, None])
        return np.concatenate(parts, axis=1).astype(np.uint8)

    @property
    def permanent_share(self) -> float:
        """See `Mechanism.permanent_share`: 1, since all reports of a user have the same cohorts."""
        return 1.0 if max(self.cohorts) > 1 else self.response.permanent_share

    @property
    def symbol_sizes(self) -> tuple[int, ...]:
        """See `Mechanism.symbol_sizes`: the one symbol of an attribute is a bucket of any cohort."""
        return tuple(cohorts * size for cohorts, size in zip(self.cohorts, self.response.sizes, strict=True))

    def stated(self) -> tuple[tuple[Symbol, ...], ...]:
        """See `Mechanism.stated`: each attribute has one symbol, a bucket of a cohort."""
        return tuple(
            (_symbol(table, of_bucket.stages),)
            for table, (of_bucket,) in zip(self._hashes, self.response.stated(), strict=True)
        )

    def small(self) -> Self:
        """See `Mechanism.small`: at most two attributes, of at most three values and two, and two buckets.

        The outcomes of all buckets' words are played, whose number is that of the buckets to the power of itself.
        """
        return replace(self, sizes=(min(max(self.sizes), 3), 2)[: len(self.sizes)], buckets=2)

    def privacy_loss(
        self, *, neighbours: int | None = None, reports: float = 1, values: Values = Values.CONSTANT
    ) -> PrivacyLoss:
        """See `Mechanism.privacy_loss`: that of k-RR of the buckets, of values that do not share one."""
        return self.response.privacy_loss(neighbours=neighbours, reports=reports, values=values)


@lru_cache
def hashes(size: int, buckets: int) -> NDArray[np.int64]:
    """Return the bucket of each value in each cohort, int64, shape (cohorts, size); see `HashedKRR`.

    buckets: g, a prime. Cohorts are in the order of their numbers, whose highest digit is 1.
    """
    digits = _digits(size, buckets)
    places = buckets ** np.arange(digits)
    cohorts = np.concatenate([np.arange(place, 2 * place) for place in places])
    of_cohorts, of_values = (each[:, None] // places % buckets for each in (cohorts, np.arange(size)))
    table: NDArray[np.int64] = of_cohorts @ of_values.T % buckets
    table.flags.writeable = False
    return table


def first_words(cohorts: int) -> int:
    """Return how many words, of 2^32, choose the first cohort: those that the others do not share out evenly."""
    return RESOLUTION - (cohorts - 1) * (RESOLUTION // cohorts)


def _digits(size: int, base: int) -> int:
    """Return the number of digits of the numbers below `size`."""
    digits = 1
    while base**digits < size:
        digits += 1
    return digits


def _symbol(table: NDArray[np.int64], of_bucket: TwoStages) -> Symbol:
    cohorts, size = table.shape
    first = first_words(cohorts)
    chances = [Fraction(first, RESOLUTION)] + [Fraction(RESOLUTION - first, RESOLUTION * max(cohorts - 1, 1))] * (
        cohorts - 1
    )
    buckets = len(of_bucket.response)
    return Symbol(
        inputs=tuple(range(size)),
        cohorts=cohorts,
        stages=TwoStages(
            permanent=tuple(
                tuple(
                    chance * named
                    for cohort, chance in enumerate(chances)
                    for named in of_bucket.permanent[table[cohort, value]]
                )
                for value in range(size)
            ),
            response=tuple(
                tuple(
                    sent if place == cohort else Fraction(0)
                    for place in range(cohorts)
                    for sent in of_bucket.response[named]
                )
                for cohort in range(cohorts)
                for named in range(buckets)
            ),
        ),
    )
