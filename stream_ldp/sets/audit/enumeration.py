"""Epsilon of the reports of item sets, by enumeration of all sets and all reports of a small domain.

A method over more items is enumerated in miniature: over `DOMAIN` of them, with paddings of at most `MAX_PADDING`,
and with oracles of the same kinds and epsilon. The promise does not depend on the candidates and the padding that the
server sends to clients: of those that it may send, the worst are taken.

Probabilities are exact fractions; only the logarithm of the largest ratio is rounded, at 50 digits.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from stream_ldp.audit.enumerate import UnknownDistribution, distribution
from stream_ldp.audit.output_distribution import (
    all_sets,
    realised_distribution,
    realised_set_distribution,
    realised_with,
)
from stream_ldp.mechanisms import RESOLUTION
from stream_ldp.mechanisms.privacy_loss import PRECISION, round_up
from stream_ldp.sets.item_sets import ItemSets, largest_padding
from stream_ldp.sets.phases import Inquiry, Method, Phase, Target, candidates_of, may_ask_for_missing
from stream_ldp.sets.rounds import Round
from stream_ldp.sets.sampling import reports_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy, FrequencyOracle
    from stream_ldp.mechanisms.randomizer import OutputDistribution
    from stream_ldp.sets.collection import ItemCollection

#: Number of items of the domain in miniature, and most slots that its sets are padded to. Two disjoint sets can fill
#: all slots, and such sets are the easiest to distinguish. All pairs of the 64 sets are looked at.
DOMAIN = 6
MAX_PADDING = 3

#: Candidates that a server may name, in any order: all items, or some of them.
_CANDIDATES = ((5, 4, 3, 2, 1, 0), (4, 1, 3))

#: The same for the enumeration from the set to the packed report, where each sampled item has all outcomes of the
#: oracle.
_WHOLE_DOMAIN = 4
_WHOLE_PADDING = 2
_WHOLE_CANDIDATES = ((3, 2, 1, 0), (2, 0))


#: Items by their numbers, or itemsets by those of their items.
Candidates = tuple[int, ...] | tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseEnumeration:
    """The privacy loss of a report to one phase.

    number: of the phase.
    allowed: epsilon that the method's phase may spend.
    claimed: epsilon that the oracles of the reports state, of whole sets.
    stages: the output distributions for each inquiry that was enumerated, sampling and oracle each by itself.
    end_to_end: the output distributions over fewer items, from the set to the packed report.
    """

    number: int
    allowed: float
    claimed: float
    stages: tuple[SetDistribution, ...]
    end_to_end: tuple[SetDistribution, ...]

    @property
    def epsilon(self) -> float:
        """Epsilon of one report, whatever the inquiry; never rounded down."""
        with localcontext(PRECISION):
            return round_up(max(each.largest_loss() for each in (*self.stages, *self.end_to_end)))

    def losses(self) -> NDArray[np.float64]:
        """Return ln of the largest ratio for each pair of sets, float64, shape (sets, sets)."""
        losses: NDArray[np.float64] = np.max([each.losses() for each in self.stages], axis=0)
        return losses

    def loss(self, first: int, second: int) -> Decimal:
        """Return ln of the largest ratio for one pair of sets, with 50 digits."""
        return max(each.loss(first, second) for each in self.stages)


@dataclass(frozen=True, kw_only=True, slots=True)
class SetDistribution:
    """An output distribution of sets: P(report | set) = `weights` / `unit`.

    weights: whole numbers, a row for each set, in the order of `all_sets`, and a column for each report.
    unit: the common denominator.
    """

    weights: tuple[tuple[int, ...], ...]
    unit: int

    @classmethod
    def of(cls, outputs: OutputDistribution) -> Self:
        """Make the distribution from P(report | set), given as fractions."""
        weights, unit = _whole(outputs[:, outputs.any(axis=0)])
        return cls(weights=tuple(map(tuple, weights.tolist())), unit=unit)

    @classmethod
    def through(cls, values: OutputDistribution, reports: OutputDistribution) -> Self:
        """Make the distribution from P(value | set) and P(report | value), given as fractions."""
        return cls.of(_product(values, reports))

    def losses(self) -> NDArray[np.float64]:
        """Return ln of the largest ratio for each pair of sets, float64, shape (sets, sets)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithms = np.log(np.array([[weight / self.unit for weight in row] for row in self.weights]))
            losses = np.zeros((len(self.weights), len(self.weights)))
            for report in logarithms.T:
                # A report that neither set makes has no ratio, which `fmax` passes over.
                losses = np.fmax(losses, report[:, None] - report)
        return losses

    def loss(self, first: int, second: int) -> Decimal:
        """Return ln of the largest ratio for one pair of sets, with 50 digits."""
        pairs = [pair for pair in zip(self.weights[first], self.weights[second], strict=True) if pair[0]]
        if not all(other for _, other in pairs):
            return Decimal("Infinity")
        one, other = max(pairs, key=lambda pair: Fraction(*pair))
        with localcontext(PRECISION):
            return (Decimal(one) / other).ln()

    def largest_loss(self) -> Decimal:
        """Return ln of the largest ratio, for the pair of sets that is easiest to distinguish."""
        return self.loss(*_worst(self.losses()))


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemEnumeration:
    """The privacy loss of the reports to a method's epoch.

    phases: in order.
    phases_by_group: the numbers of the phases that ask the same user, for each part of the user partition.
    """

    phases: tuple[PhaseEnumeration, ...]
    phases_by_group: tuple[tuple[int, ...], ...]

    @classmethod
    def stated(cls, method: Method) -> Self:
        """Enumerate the probabilities that the sampling and the oracles state."""
        return cls._of(method, stages=_SmallInquiry.stated, end_to_end=_SmallInquiry.stated)

    @classmethod
    def realised(cls, method: Method) -> Self:
        """Enumerate the probabilities that the code of the sampling and of the oracles realises.

        Raises:
            UnknownDistribution: they cannot be enumerated.
        """
        return cls._of(method, stages=_SmallInquiry.realised, end_to_end=_SmallInquiry.end_to_end)

    @classmethod
    def _of(
        cls,
        method: Method,
        *,
        stages: Callable[[_SmallInquiry], SetDistribution],
        end_to_end: Callable[[_SmallInquiry], SetDistribution],
    ) -> Self:
        stages, end_to_end = lru_cache(stages), lru_cache(end_to_end)
        phases = []
        for inquiry in inquiries(method):
            small = list(_in_miniature(method, inquiry, items=DOMAIN, most_padding=MAX_PADDING, lists=_CANDIDATES))
            narrow = list(
                _in_miniature(
                    method, inquiry, items=_WHOLE_DOMAIN, most_padding=_WHOLE_PADDING, lists=_WHOLE_CANDIDATES
                )
            )
            phases.append(
                PhaseEnumeration(
                    number=inquiry.phase,
                    allowed=method.phases[inquiry.phase - 1].epsilon,
                    claimed=max(each.oracle.set_epsilon(padding=each.padding) for each in (*small, *narrow)),
                    stages=tuple(stages(each) for each in small),
                    end_to_end=tuple(end_to_end(each) for each in narrow),
                )
            )
        return cls(phases=tuple(phases), phases_by_group=phases_by_group(method.phases))

    @property
    def allowed(self) -> float:
        """Epsilon that the method's phases may spend on one user, in nats."""
        return self._most([phase.allowed for phase in self.phases])

    @property
    def claimed(self) -> float:
        """Epsilon that the oracles state of all reports of one user, in nats."""
        return self._most([phase.claimed for phase in self.phases])

    @property
    def epsilon(self) -> float:
        """Epsilon of all reports of one user in an epoch, whatever the inquiries; never rounded down."""
        losses = [phase.losses() for phase in self.phases]
        with localcontext(PRECISION):
            found = Decimal(0)
            for part in self.phases_by_group:
                first, second = _worst(np.sum([losses[number - 1] for number in part], axis=0))
                together = sum((self.phases[number - 1].loss(first, second) for number in part), start=Decimal(0))
                found = max(found, together)
            return round_up(found)

    def differences(self, stated: ItemEnumeration) -> Iterator[str]:
        """Yield the parts of phases that differ from the statement; nothing if none does."""
        for one, other in zip(self.phases, stated.phases, strict=True):
            if one.stages != other.stages:
                yield f"phase {one.number}: the oracle, or how it draws an item of a set, is not as stated"
            if one.end_to_end != other.end_to_end:
                yield f"phase {one.number}: `reports_of`, from the set to the packed report, is not as stated"

    def _most(self, spent: Sequence[float]) -> float:
        return max(math.fsum(spent[number - 1] for number in part) for part in self.phases_by_group)


def inquiries(method: Method) -> Iterator[Inquiry]:
    """Yield what each phase asks in an epoch to which nobody reports."""
    inquiry: Inquiry | None = method.first()
    estimate = None
    while inquiry is not None:
        yield inquiry
        sums = np.zeros(method.oracle(inquiry).counters, dtype=np.int64)
        estimate, inquiry = method.solve(inquiry, sums=sums, reports=0, before=estimate)


def rounds(collection: ItemCollection, epoch: int) -> list[Round]:
    """List the rounds of an epoch to which nobody reports, one of each phase."""
    return [Round.of(collection, inquiry, epoch=epoch) for inquiry in inquiries(collection.method)]


@dataclass(frozen=True, kw_only=True, slots=True)
class _SmallInquiry:
    """An inquiry in miniature, and the oracle of its reports.

    asked: the question about a user's set.
    items: number of items of the domain, 0 to items - 1.
    candidates: the items, or itemsets, asked about; None for all items.
    padding: number of slots; 1 for a count, which is not padded.
    missing: whether those candidates are asked for that the set lacks.
    """

    asked: Target
    items: int
    candidates: Candidates | None
    padding: int
    missing: bool
    oracle: FrequencyOracle

    def restricted(self) -> list[list[int]]:
        """Return, for each set, the oracle's numbers of those items, or itemsets, that are asked for."""
        held = self._held()
        if not self.missing:
            return held
        return [[place for place in range(self.oracle.size) if place not in each] for each in held]

    def _held(self) -> list[list[int]]:
        if self.candidates and isinstance(self.candidates[0], tuple):
            return [
                [place for place, itemset in enumerate(self.candidates) if set(held).issuperset(cast("Any", itemset))]
                for held in all_sets(self.items)
            ]
        places = {item: place for place, item in enumerate(self.candidates or range(self.items))}
        return [[places[item] for item in held if item in places] for held in all_sets(self.items)]

    def stated(self) -> SetDistribution:
        """Return the output distribution as the sampling and the oracle state it."""
        if (numbers := self._numbers()) is not None:
            return SetDistribution.of(self.oracle.stated()[numbers])
        return SetDistribution.of(self.oracle.stated_sets(self.restricted(), padding=self.padding))

    def realised(self) -> SetDistribution:
        """Return the output distribution as their code realises it, the sampling and the oracle each by itself."""
        if (numbers := self._numbers()) is not None:
            return SetDistribution.of(realised_distribution(self.oracle)[numbers])
        sets = self.restricted()
        if self.oracle.set_slots is not None:
            return SetDistribution.of(realised_set_distribution(self.oracle, sets, padding=self.padding))
        reports = realised_distribution(self.oracle)
        values = np.full((len(sets), len(reports)), Fraction(0), dtype=object)
        for row, held in zip(values, sets, strict=True):
            for value, probability in distribution(partial(self._sampled, held)).items():
                # An oracle that does not distinguish dummies has one input for all of them.
                row[min(value, len(reports) - 1)] += probability
        return SetDistribution.through(values, reports)

    def end_to_end(self) -> SetDistribution:
        """Return the output distribution as a client's code realises it, from the set to the packed report."""

        def report(held: tuple[int, ...]) -> Callable[[Entropy], bytes]:
            sets = ItemSets.of([held])
            return lambda entropy: reports_of(
                sets,
                asked=self.asked,
                candidates=None if self.candidates is None else candidates_of(self.candidates),
                missing=self.missing,
                domain=self.items,
                padding=self.padding,
                oracle=self.oracle,
                entropy=entropy,
            ).tobytes()

        reports = [report(held) for held in all_sets(self.items)]
        return SetDistribution.of(realised_with(reports, bits=self.oracle.bits))

    def _numbers(self) -> list[int] | None:
        """Return the number that is perturbed of each set; None where an item is."""
        sizes = [len(held) for held in self.restricted()]
        match self.asked:
            case Target.ITEM:
                return None
            case Target.COUNT:
                return sizes
            case Target.SIZE:
                return [sum(2**each < size for each in range(self.oracle.size - 1)) for size in sizes]

    def _sampled(self, held: Sequence[int], entropy: Entropy) -> int:
        offsets, values = np.array([0, len(held)]), np.array(held, dtype=np.int64)
        return int(self.oracle.sampled(offsets, values, padding=self.padding, entropy=entropy)[0])


def _in_miniature(
    method: Method, inquiry: Inquiry, *, items: int, most_padding: int, lists: Sequence[tuple[int, ...]]
) -> Iterator[_SmallInquiry]:
    phase = method.phases[inquiry.phase - 1]
    asked = phase.asked
    candidates: Sequence[Candidates | None] = lists
    if phase.sizes:
        candidates = [_itemsets(items, size) for size in phase.sizes]
    paddings = range(1, most_padding + 1)
    if asked is Target.COUNT:
        inquiry, paddings = replace(inquiry, padding=1), range(1, 2)
    real_paddings = {inquiry.padding, *paddings}
    if inquiry.candidates is None:
        candidates = (None,)
        if inquiry.phase == 1:
            least = min(inquiry.padding, most_padding)
            paddings, real_paddings = range(least, least + 1), {inquiry.padding}
        else:
            # A writer of rounds may choose the padding after a phase about sizes.
            real_paddings |= {largest_padding(method.domain)}
    lacks = (False, True) if may_ask_for_missing(method, inquiry.phase) else (False,)
    for oracle, epsilon in _kinds(method, inquiry, real_paddings):
        for named, padding, missing in itertools.product(candidates, paddings, lacks):
            size = (items if named is None else len(named)) + (asked is Target.COUNT)
            if asked is Target.SIZE:
                # One class for each power of two, and one for one item or none.
                size = sum(2**each < items for each in range(items)) + 1
            small = oracle.resized(size, padding=padding, epsilon=epsilon)
            yield _SmallInquiry(
                asked=asked, items=items, candidates=named, padding=padding, missing=missing, oracle=small
            )


def _itemsets(items: int, size: int) -> tuple[tuple[int, ...], ...]:
    """List itemsets within the first and within the last items, so that two disjoint sets can fill many slots.

    There are as many as items at most: the time of an enumeration grows with the number of candidates as fast.
    """
    half = min(max(size, items // 2, 3), items)
    parts = (range(half), range(items - half, items))
    return tuple(sorted({each for part in parts for each in itertools.combinations(part, size)}))[:items]


def _kinds(method: Method, inquiry: Inquiry, paddings: set[int]) -> list[tuple[FrequencyOracle, float]]:
    """Return the oracles that a method uses, one of each kind, and the most that this kind spends on a whole set."""
    kinds: dict[object, tuple[FrequencyOracle, float]] = {}
    for padding in sorted(paddings):
        oracle = method.oracle(replace(inquiry, padding=padding))
        spent = oracle.set_epsilon(padding=padding)
        kinds[oracle.title] = max(kinds.get(oracle.title, (oracle, spent)), (oracle, spent), key=lambda each: each[1])
    return list(kinds.values())


def _product(values: OutputDistribution, reports: OutputDistribution) -> OutputDistribution:
    """Return P(report | set), the sum over values, in whole numbers, which are much faster than fractions."""
    (first, first_unit), (second, second_unit) = _whole(values), _whole(reports)
    product: OutputDistribution = np.vectorize(
        lambda weight: Fraction(weight, first_unit * second_unit), otypes=[object]
    )(first @ second)
    return product


def _whole(outputs: OutputDistribution) -> tuple[NDArray[np.object_], int]:
    """Return fractions as whole numbers and their common unit."""
    unit = math.lcm(*(chance.denominator for row in outputs.tolist() for chance in row))
    return np.array([[int(chance * unit) for chance in row] for row in outputs.tolist()], dtype=object), unit


def phases_by_group(phases: tuple[Phase, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the numbers of the phases that ask the same user, for each part of the user partition that is asked.

    Raises:
        UnknownDistribution: users whose words lie between the same edges of shares are not asked alike.
    """
    edges = sorted({0, RESOLUTION}.union(*(phase.share for phase in phases)))
    parts = []
    for low, high in itertools.pairwise(edges):
        words = np.array([low, high - 1], dtype=np.uint32)
        asks = {phase.number: phase.asks(words).tolist() for phase in phases}
        if any(one != other for one, other in asks.values()):
            raise UnknownDistribution("users of one part of the user partition are asked by different phases")
        parts.append(tuple(number for number, (one, _) in asks.items() if one))
    # Who is not asked at all, as most users where a collection asks a sample of them, loses nothing.
    return tuple(dict.fromkeys(part for part in parts if part))


def _worst(losses: NDArray[np.float64]) -> tuple[int, int]:
    """Return the pair of sets with the largest loss."""
    first, second = np.unravel_index(np.argmax(losses), losses.shape)
    return int(first), int(second)
