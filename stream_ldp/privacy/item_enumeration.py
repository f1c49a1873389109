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

from stream_ldp.heavy_hitters.adaptive import amplified
from stream_ldp.heavy_hitters.item_sets import ItemSets
from stream_ldp.heavy_hitters.phases import Asked, Inquiry, Phase
from stream_ldp.heavy_hitters.sampling import respond
from stream_ldp.mechanisms import RESOLUTION, DirectResponse, HadamardResponse, UnaryResponse
from stream_ldp.mechanisms.privacy_loss import PRECISION, round_up
from stream_ldp.privacy.chosen_words import ChosenWords, UnknownLaw, remainder_law
from stream_ldp.privacy.response_law import realised_law, stated_law

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.heavy_hitters.phases import Method
    from stream_ldp.mechanisms import Entropy, FrequencyOracle
    from stream_ldp.privacy.response_law import Law

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
        return cls._of(method, drawn=_stated_values, law=stated_law)

    @classmethod
    def realised(cls, method: Method) -> Self:
        """Of the probabilities that their code realises.

        Raises:
            UnknownLaw: they cannot be found.
        """
        return cls._of(method, drawn=_realised_values, law=realised_law)

    @classmethod
    def _of(
        cls,
        method: Method,
        *,
        drawn: Callable[[Asked, tuple[int, ...] | None, int], Law],
        law: Callable[[FrequencyOracle], Law],
    ) -> Self:
        values_of = lru_cache(drawn)
        phases = []
        for inquiry in inquiries(method):
            questions = tuple(_in_miniature(method, inquiry))
            laws = {each.oracle: law(each.oracle) for each in questions}
            phases.append(
                PhaseEnumeration(
                    number=inquiry.phase,
                    allowed=method.phases[inquiry.phase - 1].epsilon,
                    claimed=max(_of_a_set(each.oracle, padding=each.padding) for each in questions),
                    laws=tuple(
                        _answers(values_of(each.asked, each.candidates, each.padding), laws[each.oracle])
                        for each in questions
                    ),
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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Question:
    """An inquiry in miniature, and the oracle that answers it. Counts are not padded: to 1, as far as that goes."""

    asked: Asked
    candidates: tuple[int, ...] | None
    padding: int
    oracle: FrequencyOracle


def _in_miniature(method: Method, inquiry: Inquiry) -> Iterator[_Question]:
    asked = method.phases[inquiry.phase - 1].asked
    lists: Sequence[tuple[int, ...] | None] = _CANDIDATES
    paddings = range(1, MOST_PADDING + 1)
    if asked is Asked.COUNT:
        inquiry, paddings = replace(inquiry, padding=1), range(1, 2)
    real_paddings = {inquiry.padding, *paddings}
    if inquiry.candidates is None:
        least = min(inquiry.padding, MOST_PADDING)
        lists, paddings, real_paddings = (None,), range(least, least + 1), {inquiry.padding}
    for oracle, epsilon in _kinds(method, inquiry, real_paddings):
        for candidates, padding in itertools.product(lists, paddings):
            size = (DOMAIN if candidates is None else len(candidates)) + (asked is Asked.COUNT)
            small = _small(oracle, size=size, padding=padding, epsilon=epsilon)
            yield _Question(asked=asked, candidates=candidates, padding=padding, oracle=small)


def _kinds(method: Method, inquiry: Inquiry, paddings: set[int]) -> list[tuple[FrequencyOracle, float]]:
    """The oracles that a method uses, one of each kind, and the most that such a one spends on a whole set."""
    kinds: dict[object, tuple[FrequencyOracle, float]] = {}
    for padding in sorted(paddings):
        oracle = method.oracle(replace(inquiry, padding=padding))
        kind = type(oracle), oracle.hash_bits if isinstance(oracle, HadamardResponse) else None
        spent = _of_a_set(oracle, padding=padding)
        kinds[kind] = max(kinds.get(kind, (oracle, spent)), (oracle, spent), key=lambda each: each[1])
    return list(kinds.values())


def _of_a_set(oracle: FrequencyOracle, *, padding: int) -> float:
    """What an oracle's answer to one of `padding` slots spends on the set: the inverse of `amplified`."""
    if isinstance(oracle, DirectResponse):
        return math.log1p(math.expm1(oracle.epsilon) / padding)
    return oracle.epsilon


def _small(oracle: FrequencyOracle, *, size: int, padding: int, epsilon: float) -> FrequencyOracle:
    match oracle:
        case DirectResponse():
            dummies = padding if oracle.dummies else 0
            return replace(oracle, size=size, dummies=dummies, epsilon=amplified(epsilon, padding=padding))
        case HadamardResponse():
            return replace(oracle, size=size, epsilon=epsilon, hash_bits=min(oracle.hash_bits, _MOST_HASH_BITS))
        case UnaryResponse():
            return replace(oracle, size=size, epsilon=epsilon)
    raise ValueError(f"{type(oracle).__name__} is of no kind whose answers can be enumerated")


def _answers(drawn: Law, law: Law) -> AnswerLaw:
    """The law of the answers from those of the value that a set is asked for and of the report that it makes.

    drawn: P(value | set), shape (sets, values and dummies).
    """
    # All dummies are one to an oracle that does not tell them apart.
    inputs = len(law)
    drawn = np.concatenate([drawn[:, : inputs - 1], drawn[:, inputs - 1 :].sum(axis=1, keepdims=True)], axis=1)
    (first, first_unit), (second, second_unit) = _whole(drawn), _whole(law[:, law.any(axis=0)])
    return AnswerLaw(weights=tuple(map(tuple, (first @ second).tolist())), unit=first_unit * second_unit)


def _whole(chances: Law) -> tuple[NDArray[np.object_], int]:
    """Fractions as whole numbers and their common unit."""
    unit = math.lcm(*(chance.denominator for row in chances.tolist() for chance in row))
    return np.array([[int(chance * unit) for chance in row] for row in chances.tolist()], dtype=object), unit


def _sets() -> list[tuple[int, ...]]:
    return [tuple(item for item in range(DOMAIN) if bits >> item & 1) for bits in range(2**DOMAIN)]


def _values(asked: Asked, candidates: tuple[int, ...] | None, padding: int) -> int:
    """Number of values and dummies that a set may be asked for."""
    size = DOMAIN if candidates is None else len(candidates)
    return size + 1 if asked is Asked.COUNT else size + padding


def _stated_values(asked: Asked, candidates: tuple[int, ...] | None, padding: int) -> Law:
    """P(value | set) of padding and sampling: one of the set's candidates, or one of the dummies that it lacks."""
    law = np.full((2**DOMAIN, _values(asked, candidates, padding)), Fraction(0), dtype=object)
    places = {item: place for place, item in enumerate(range(DOMAIN) if candidates is None else candidates)}
    for row, items in zip(law, _sets(), strict=True):
        held = [places[item] for item in items if item in places]
        if asked is Asked.COUNT:
            row[len(held)] = Fraction(1)
            continue
        slots = max(padding, len(held))
        row[held] = Fraction(1, slots)
        row[len(places) : len(places) + slots - len(held)] = Fraction(1, slots)
    return law


def _realised_values(asked: Asked, candidates: tuple[int, ...] | None, padding: int) -> Law:
    """P(value | set), found by giving `respond` chosen words."""
    law = np.full((2**DOMAIN, _values(asked, candidates, padding)), Fraction(0), dtype=object)
    for row, items in zip(law, _sets(), strict=True):
        ask = partial(_asked_value, asked, candidates, padding, items)
        if asked is Asked.COUNT:
            row[ask(None)] = Fraction(1)
            continue
        for value, (_, chance) in remainder_law(ask).items():
            row[value] = chance
    return law


def _asked_value(
    asked: Asked,
    candidates: tuple[int, ...] | None,
    padding: int,
    items: tuple[int, ...],
    words: NDArray[np.int64] | None,
) -> NDArray[np.int64]:
    """What `respond` would have perturbed of users with one set, each with a word of his own, or none."""
    users = 1 if words is None else len(words)
    sets = ItemSets(np.arange(users + 1) * len(items), np.tile(np.array(items, dtype=np.int64), users))
    inquiry = Inquiry(
        phase=1, candidates=None if candidates is None else np.array(candidates, dtype=np.int64), padding=padding
    )
    # All that `respond` asks of a method.
    method = cast("Method", _Plain(asked=asked, size=DOMAIN if candidates is None else len(candidates)))
    entropy = ChosenWords() if words is None else ChosenWords(words)
    return respond(method, inquiry, sets, entropy=entropy).view(np.int64).reshape(-1)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plain:
    """A method of one phase, and its oracle, that sends a value as it is, in the bytes of an int64."""

    asked: Asked
    size: int

    @property
    def domain(self) -> int:
        return DOMAIN

    @property
    def phases(self) -> tuple[Phase, ...]:
        return (Phase(number=1, asked=self.asked, share=(0, RESOLUTION), epsilon=math.inf),)

    def oracle(self, inquiry: Inquiry) -> Self:  # noqa: ARG002
        return self

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
