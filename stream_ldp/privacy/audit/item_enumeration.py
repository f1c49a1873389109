"""Epsilon of the answers of item sets, by enumeration of all sets and all answers of a small domain.

A method over more items is enumerated in miniature: over `DOMAIN` of them, with paddings of at most `MOST_PADDING`,
with the oracles that it uses, of the same epsilon and kind. What the server tells clients, candidates and padding, is
no part of the promise: of what it may say, the worst is taken.

Probabilities are exact fractions; only the logarithm of the largest ratio is rounded, at 50 digits.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Self, cast

import numpy as np

from stream_ldp.mechanisms import RESOLUTION, DirectResponse, HadamardResponse, SetHadamardResponse, UnaryResponse
from stream_ldp.mechanisms.privacy_loss import PRECISION, round_up
from stream_ldp.privacy.audit.chosen_words import ChosenWords, UnknownLaw, remainder_law
from stream_ldp.privacy.audit.response_law import realised_law, stated_law
from stream_ldp.privacy.audit.set_law import all_sets, realised_set_law, stated_set_law
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods.oracle_choice import amplified
from stream_ldp.sets.phases import Inquiry, Phase, Target
from stream_ldp.sets.sampling import respond

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy, FrequencyOracle
    from stream_ldp.privacy.audit.response_law import Law
    from stream_ldp.sets.phases import Method

__all__ = ["DOMAIN", "MOST_PADDING", "ItemEnumeration", "PhaseEnumeration", "inquiries", "together"]

#: Items of the domain in miniature, and slots that its sets are padded to at most. Two disjoint sets fill all slots,
#: which is what tells two users apart best. Of 64 sets, all pairs are looked at.
DOMAIN = 6
MOST_PADDING = 3

#: Bits of a Hadamard response's hash in miniature at most: each more makes 16 times as many reports.
_MOST_HASH_BITS = 2

#: Candidates that a server may name, in an order of its own: all items, or some of them.
_CANDIDATES = ((5, 4, 3, 2, 1, 0), (4, 1, 3))


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseEnumeration:
    """What the answer of one phase tells of a set.

    number: of the phase.
    allowed: epsilon that the method's phase may spend.
    claimed: epsilon that the oracles of the answers state, of whole sets.
    laws: of the answers to each inquiry that was enumerated.
    """

    number: int
    allowed: float
    claimed: float
    laws: tuple[AnswerLaw, ...]

    @property
    def epsilon(self) -> float:
        """Epsilon of an answer, whatever the inquiry; never rounded down."""
        first, second = _worst(self.losses())
        with localcontext(PRECISION):
            return round_up(self.loss(first, second))

    def losses(self) -> NDArray[np.float64]:
        """ln of the largest ratio for each pair of sets, shape (sets, sets), but for its last digits."""
        losses: NDArray[np.float64] = np.max([law.losses() for law in self.laws], axis=0)
        return losses

    def loss(self, first: int, second: int) -> Decimal:
        """ln of the largest ratio, for one pair of sets."""
        return max(law.loss(first, second) for law in self.laws)


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerLaw:
    """P(answer | set): `weights` / `unit`, whole numbers, sets in the order of their items' bits."""

    weights: tuple[tuple[int, ...], ...]
    unit: int

    @classmethod
    def of(cls, chances: Law) -> Self:
        """From P(answer | set), fractions."""
        weights, unit = _whole(chances[:, chances.any(axis=0)])
        return cls(weights=tuple(map(tuple, weights.tolist())), unit=unit)

    @classmethod
    def through(cls, values: Law, reports: Law) -> Self:
        """From P(value | set), shape (sets, values and dummies), and P(report | value)."""
        # All dummies are one to an oracle that does not tell them apart.
        inputs = len(reports)
        values = np.concatenate([values[:, : inputs - 1], values[:, inputs - 1 :].sum(axis=1, keepdims=True)], axis=1)
        (first, first_unit), (second, second_unit) = _whole(values), _whole(reports[:, reports.any(axis=0)])
        return cls(weights=tuple(map(tuple, (first @ second).tolist())), unit=first_unit * second_unit)

    def losses(self) -> NDArray[np.float64]:
        """ln of the largest ratio for each pair of sets, shape (sets, sets), but for its last digits."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithms = np.log(np.array([[weight / self.unit for weight in row] for row in self.weights]))
            losses = np.zeros((len(self.weights), len(self.weights)))
            for answer in logarithms.T:
                # An answer that neither set gives has no ratio, which `fmax` passes over.
                losses = np.fmax(losses, answer[:, None] - answer)
        return losses

    def loss(self, first: int, second: int) -> Decimal:
        """ln of the largest ratio, for one pair of sets."""
        pairs = [pair for pair in zip(self.weights[first], self.weights[second], strict=True) if pair[0]]
        if not all(other for _, other in pairs):
            return Decimal("Infinity")
        one, other = max(pairs, key=lambda pair: Fraction(*pair))
        with localcontext(PRECISION):
            return (Decimal(one) / other).ln()


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemEnumeration:
    """What the answers of a method's epoch tell of a set.

    phases: in order.
    together: the numbers of the phases that ask the same user, for each group of users.
    """

    phases: tuple[PhaseEnumeration, ...]
    together: tuple[tuple[int, ...], ...]

    @classmethod
    def stated(cls, method: Method) -> Self:
        """Of the probabilities that sampling and oracles state."""
        return cls._of(method, values=_stated_values, reports=stated_law, whole=_stated_whole)

    @classmethod
    def realised(cls, method: Method) -> Self:
        """Of the probabilities that their code realises.

        Raises:
            UnknownLaw: they cannot be found.
        """
        return cls._of(method, values=_realised_values, reports=realised_law, whole=_realised_whole)

    @classmethod
    def _of(
        cls,
        method: Method,
        *,
        values: Callable[[_Sampling], Law],
        reports: Callable[[_Oracle], Law],
        whole: Callable[[_Sampling, SetHadamardResponse], Law],
    ) -> Self:
        values, reports = lru_cache(values), lru_cache(reports)

        def law(sampling: _Sampling, oracle: _Oracle) -> AnswerLaw:
            if isinstance(oracle, SetHadamardResponse):
                return AnswerLaw.of(whole(sampling, oracle))
            return AnswerLaw.through(values(sampling), reports(oracle))

        phases = []
        for inquiry in inquiries(method):
            questions = tuple(_in_miniature(method, inquiry))
            phases.append(
                PhaseEnumeration(
                    number=inquiry.phase,
                    allowed=method.phases[inquiry.phase - 1].epsilon,
                    claimed=max(_of_a_set(oracle, padding=sampling.padding) for sampling, oracle in questions),
                    laws=tuple(law(sampling, oracle) for sampling, oracle in questions),
                )
            )
        return cls(phases=tuple(phases), together=together(method.phases))

    @property
    def allowed(self) -> float:
        """What the method's phases may spend on one user, nats."""
        return self._most([phase.allowed for phase in self.phases])

    @property
    def claimed(self) -> float:
        """What the oracles of the answers of one user state."""
        return self._most([phase.claimed for phase in self.phases])

    @property
    def epsilon(self) -> float:
        """Epsilon of all the answers of one user in an epoch, whatever the inquiries; never rounded down."""
        losses = [phase.losses() for phase in self.phases]
        with localcontext(PRECISION):
            found = Decimal(0)
            for group in self.together:
                first, second = _worst(np.sum([losses[number - 1] for number in group], axis=0))
                together = sum((self.phases[number - 1].loss(first, second) for number in group), start=Decimal(0))
                found = max(found, together)
            return round_up(found)

    def _most(self, spent: Sequence[float]) -> float:
        return max(math.fsum(spent[number - 1] for number in group) for group in self.together)


def inquiries(method: Method) -> Iterator[Inquiry]:
    """What each phase asks in an epoch that nobody answers."""
    inquiry: Inquiry | None = method.first()
    standing = None
    while inquiry is not None:
        yield inquiry
        sums = np.zeros(method.oracle(inquiry).counters, dtype=np.int64)
        standing, inquiry = method.solve(inquiry, sums=sums, reports=0, before=standing)


_Oracle = DirectResponse | HadamardResponse | UnaryResponse | SetHadamardResponse


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sampling:
    """What an inquiry in miniature makes of a set. Counts are not padded: to 1, as far as that goes."""

    asked: Target
    candidates: tuple[int, ...] | None
    padding: int

    @property
    def places(self) -> dict[int, int]:
        """What the oracle calls each candidate."""
        return {item: place for place, item in enumerate(self.candidates or range(DOMAIN))}

    @property
    def inquiry(self) -> Inquiry:
        """Of a method of one phase."""
        candidates = None if self.candidates is None else np.array(self.candidates, dtype=np.int64)
        return Inquiry(phase=1, candidates=candidates, padding=self.padding)


def _in_miniature(method: Method, inquiry: Inquiry) -> Iterator[tuple[_Sampling, _Oracle]]:
    asked = method.phases[inquiry.phase - 1].asked
    lists: Sequence[tuple[int, ...] | None] = _CANDIDATES
    paddings = range(1, MOST_PADDING + 1)
    if asked is Target.COUNT:
        inquiry, paddings = replace(inquiry, padding=1), range(1, 2)
    real_paddings = {inquiry.padding, *paddings}
    if inquiry.candidates is None:
        least = min(inquiry.padding, MOST_PADDING)
        lists, paddings, real_paddings = (None,), range(least, least + 1), {inquiry.padding}
    for oracle, epsilon in _kinds(method, inquiry, real_paddings):
        for candidates, padding in itertools.product(lists, paddings):
            sampling = _Sampling(asked=asked, candidates=candidates, padding=padding)
            size = len(sampling.places) + (asked is Target.COUNT)
            yield sampling, _small(oracle, size=size, padding=padding, epsilon=epsilon)


def _kinds(method: Method, inquiry: Inquiry, paddings: set[int]) -> list[tuple[FrequencyOracle, float]]:
    """The oracles that a method uses, one of each kind, and the most that such a one spends on a whole set."""
    kinds: dict[object, tuple[FrequencyOracle, float]] = {}
    for padding in sorted(paddings):
        oracle = method.oracle(replace(inquiry, padding=padding))
        kind = type(oracle), getattr(oracle, "hash_bits", None)
        spent = _of_a_set(oracle, padding=padding)
        kinds[kind] = max(kinds.get(kind, (oracle, spent)), (oracle, spent), key=lambda each: each[1])
    return list(kinds.values())


def _of_a_set(oracle: FrequencyOracle, *, padding: int) -> float:
    """What an oracle's answer to one of `padding` slots spends on the set: the inverse of `amplified`."""
    if isinstance(oracle, DirectResponse):
        return math.log1p(math.expm1(oracle.epsilon) / padding)
    return oracle.epsilon


def _small(oracle: FrequencyOracle, *, size: int, padding: int, epsilon: float) -> _Oracle:
    match oracle:
        case DirectResponse():
            dummies = padding if oracle.dummies else 0
            return replace(oracle, size=size, dummies=dummies, epsilon=amplified(epsilon, padding=padding))
        case HadamardResponse():
            return replace(oracle, size=size, epsilon=epsilon, hash_bits=min(oracle.hash_bits, _MOST_HASH_BITS))
        case UnaryResponse():
            return replace(oracle, size=size, epsilon=epsilon)
        case SetHadamardResponse():
            return replace(oracle, size=size, slots=padding, epsilon=epsilon, hash_bits=_MOST_HASH_BITS)
    raise ValueError(f"{type(oracle).__name__} is of no kind whose answers can be enumerated")


def _whole(chances: Law) -> tuple[NDArray[np.object_], int]:
    """Fractions as whole numbers and their common unit."""
    unit = math.lcm(*(chance.denominator for row in chances.tolist() for chance in row))
    return np.array([[int(chance * unit) for chance in row] for row in chances.tolist()], dtype=object), unit


def _no_values(sampling: _Sampling) -> Law:
    """Of all values and dummies that a set may be asked for, none."""
    values = len(sampling.places) + (1 if sampling.asked is Target.COUNT else sampling.padding)
    return np.full((2**DOMAIN, values), Fraction(0), dtype=object)


def _stated_values(sampling: _Sampling) -> Law:
    """P(value | set) of padding and sampling: one of the set's candidates, or one of the dummies that it lacks."""
    law, places = _no_values(sampling), sampling.places
    for row, held in zip(law, _restricted(sampling), strict=True):
        if sampling.asked is Target.COUNT:
            row[len(held)] = Fraction(1)
            continue
        slots = max(sampling.padding, len(held))
        row[held] = Fraction(1, slots)
        row[len(places) : len(places) + slots - len(held)] = Fraction(1, slots)
    return law


def _realised_values(sampling: _Sampling) -> Law:
    """P(value | set), found by giving `respond` chosen words."""
    law = _no_values(sampling)
    for row, items in zip(law, all_sets(DOMAIN), strict=True):
        value = partial(_asked_value, sampling, items)
        if sampling.asked is Target.COUNT:
            row[value(None)] = Fraction(1)
            continue
        for each, (_, chance) in remainder_law(value).items():
            row[each] = chance
    return law


def _stated_whole(sampling: _Sampling, oracle: SetHadamardResponse) -> Law:
    return stated_set_law(oracle, _restricted(sampling))


def _realised_whole(sampling: _Sampling, oracle: SetHadamardResponse) -> Law:
    sets = all_sets(DOMAIN)

    def answer(place: int, users: int, entropy: Entropy) -> NDArray[np.int64]:
        rows = _answers(sampling, oracle, sets[place], users, entropy)
        return rows.astype(np.int64) @ (1 << 8 * np.arange(rows.shape[1]))

    return realised_set_law(oracle, _restricted(sampling), answer)


def _restricted(sampling: _Sampling) -> list[list[int]]:
    """The places of each set's candidates."""
    places = sampling.places
    return [[places[item] for item in items if item in places] for items in all_sets(DOMAIN)]


def _asked_value(sampling: _Sampling, items: tuple[int, ...], words: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """What `respond` would have perturbed of users with one set, each with a word of his own, or one with none."""
    users, entropy = (1, ChosenWords()) if words is None else (len(words), ChosenWords(words))
    return _answers(sampling, _Plain(size=len(sampling.places)), items, users, entropy).view(np.int64).reshape(-1)


def _answers(
    sampling: _Sampling, oracle: _Oracle | _Plain, items: tuple[int, ...], users: int, entropy: Entropy
) -> NDArray[np.uint8]:
    sets = ItemSets(np.arange(users + 1) * len(items), np.tile(np.array(items, dtype=np.int64), users))
    # All that `respond` asks of a method.
    method = cast("Method", _OnePhase(asked=sampling.asked, answering=oracle))
    return respond(method, sampling.inquiry, sets, entropy=entropy)


@dataclass(frozen=True, kw_only=True, slots=True)
class _OnePhase:
    """A method of one phase, and its oracle."""

    asked: Target
    answering: _Oracle | _Plain

    @property
    def domain(self) -> int:
        return DOMAIN

    @property
    def phases(self) -> tuple[Phase, ...]:
        return (Phase(number=1, asked=self.asked, share=(0, RESOLUTION), epsilon=math.inf),)

    def oracle(self, inquiry: Inquiry) -> _Oracle | _Plain:  # noqa: ARG002
        return self.answering


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plain:
    """An oracle that sends a value as it is, in the bytes of an int64."""

    size: int

    def perturb(self, values: NDArray[np.int64], *, entropy: Entropy) -> NDArray[np.uint8]:  # noqa: ARG002
        return np.ascontiguousarray(values, dtype=np.int64)[:, None].view(np.uint8)


def together(phases: tuple[Phase, ...]) -> tuple[tuple[int, ...], ...]:
    """The phases that ask each group of users.

    Raises:
        UnknownLaw: users whose words lie between the same edges of shares are not asked alike.
    """
    edges = sorted({0, RESOLUTION}.union(*(phase.share for phase in phases)))
    groups = []
    for low, high in itertools.pairwise(edges):
        words = np.array([low, high - 1], dtype=np.uint32)
        asks = {phase.number: phase.asks(words).tolist() for phase in phases}
        if any(one != other for one, other in asks.values()):
            raise UnknownLaw("users of one group are asked by different phases")
        groups.append(tuple(number for number, (one, _) in asks.items() if one))
    return tuple(dict.fromkeys(groups))


def _worst(losses: NDArray[np.float64]) -> tuple[int, int]:
    """The pair of sets that is told apart best."""
    first, second = np.unravel_index(np.argmax(losses), losses.shape)
    return int(first), int(second)
