"""k-Subset for records: a random set of each attribute's values, drawn once, permanently (Ye and Barg, 2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from stream_ldp.collection.located import Misplaced
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.blanket import Blanket
from stream_ldp.mechanisms.mechanism import (
    Mechanism,
    MechanismSpec,
    Symbol,
    Symbols,
    TwoStages,
    repeated_responses_loss,
)
from stream_ldp.mechanisms.odds import would_do
from stream_ldp.mechanisms.packing import bits_of, unused_clear
from stream_ldp.mechanisms.privacy_loss import (
    PRECISION,
    PrivacyLoss,
    Values,
    likelihood_ratio,
    round_up,
)
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy
from stream_ldp.mechanisms.support import Support

#: Most values of an attribute: a set of them is a number of 64 bits, without those that NumPy takes for a sign.
MAX_SIZE = 62


class KSubsetSpec(MechanismSpec):
    """k-Subset as a collection file writes it.

    epsilon: privacy loss, in nats, of all reports of one attribute. That of a record is the sum over its attributes.
    """

    example: ClassVar[str] = "epsilon=1"

    kind: Literal["k-subset"]
    epsilon: float = Field(
        gt=0, allow_inf_nan=False, description="nats that the reports of one attribute may cost in a lifetime"
    )

    def of(self, *, sizes: tuple[int, ...]) -> KSubset:
        """Return the mechanism for attributes of these sizes."""
        return KSubset(sizes=sizes, attribute_epsilon=self.epsilon)

    def responses_loss(self, *, responses: int, reports: float) -> float:  # noqa: ARG002
        """See `MechanismSpec.responses_loss`: a response that is repeated reveals nothing more."""
        with localcontext(PRECISION):
            return round_up(responses * Decimal(self.epsilon))

    @classmethod
    def for_budget(cls, *, sizes: tuple[int, ...], lifetime: float, per_report: float | None) -> Self:
        """See `MechanismSpec.for_budget`: all attributes get equal shares, and one report costs what all do.

        Raises:
            ParameterError: the budget is out of range, or smaller for one report than for all.
        """
        if not 0 < lifetime < math.inf:
            raise ParameterError(f"lifetime must be a positive, finite epsilon, got {lifetime}")
        if per_report is not None and per_report < lifetime:
            raise ParameterError(
                "one report by k-subset costs as much as all: leave out per_report, or take k-rr or rr-ldp"
            )
        mechanism = KSubset(sizes=sizes, attribute_epsilon=lifetime / len(sizes))
        return cls(kind="k-subset", epsilon=mechanism.attribute_epsilon)


@dataclass(frozen=True, kw_only=True, slots=True)
class KSubset(Mechanism):
    """A mechanism that sends a set of w of each attribute's r values, which holds the user's own with probability p.

    p = w e^epsilon / (w e^epsilon + r - w) (Ye and Barg, 2018, eq. 7), rounded down to a multiple of 2^-32; the other
    members are drawn uniformly from the other values. The set is drawn once, permanently, and every report sends it.
    It names one value, as k-RR does, where w = 1: of two values, and of more at a larger epsilon. A report has a bit
    for each value. `Entropy.holding` says how a set is made of words, and why it loses no more than epsilon.

    sizes: number of values of each attribute, 2 to `MAX_SIZE`.
    attribute_epsilon: privacy loss, in nats, that the reports of one attribute may cost.
    held: w, the number of members of a set, but of an attribute with as few values, one less than these; None for the
        w of the least error.

    Raises:
        ParameterError: a parameter is out of its range, or no multiple of 2^-32 is a probability for the epsilon.
    """

    title: ClassVar[str] = "k-Subset"
    permanent_share: ClassVar[float] = 1.0

    sizes: tuple[int, ...]
    attribute_epsilon: float
    held: int | None = None

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 2:
            raise ParameterError(f"every attribute needs at least 2 values, got sizes {self.sizes}")
        if max(self.sizes) > MAX_SIZE:
            raise ParameterError(
                f"k-subset is for attributes of at most {MAX_SIZE} values, got sizes {self.sizes}: group the values, "
                "or take rr-ldp"
            )
        if not 0 < self.attribute_epsilon < math.inf:
            raise Misplaced(f"epsilon must be positive and finite, got {self.attribute_epsilon}", "epsilon")
        if not all(0 < run * size < RESOLUTION for size, run in zip(self.sizes, self.runs, strict=True)):
            # With e^epsilon - 1 of 2 r^2 / 2^32, runs are short enough for any w, and with w = 1 the last has a word.
            largest = max(self.sizes)
            lowest, highest = math.log1p(2 * largest**2 / RESOLUTION), math.log(RESOLUTION - largest)
            raise Misplaced(
                f"epsilon={self.attribute_epsilon} is beyond the resolution of 2^-32 with {largest} values: "
                f"{would_do(lowest, highest)}",
                "epsilon",
            )

    @property
    def members(self) -> tuple[int, ...]:
        """w, the number of members of the set of each attribute."""
        if self.held is None:
            return tuple(_best_members(size, self.attribute_epsilon) for size in self.sizes)
        return tuple(min(self.held, size - 1) for size in self.sizes)

    @property
    def runs(self) -> tuple[int, ...]:
        """The words, of 2^32, that begin at a given place without the user's value; of each attribute."""
        return tuple(
            _run(size, members, self.attribute_epsilon)
            for size, members in zip(self.sizes, self.members, strict=True)
        )

    @property
    def kept(self) -> tuple[int, ...]:
        """P(a set holds the user's value), for each attribute, in units of 2^-32."""
        return tuple(
            RESOLUTION - (size - members) * run
            for size, members, run in zip(self.sizes, self.members, self.runs, strict=True)
        )

    @property
    def bits(self) -> int:
        """Number of bits of a report: one for each value."""
        return sum(self.sizes)

    @property
    def words(self) -> tuple[int, ...]:
        """Number of words of each attribute: one for each value, by which they are ordered, and one that decides."""
        return tuple(size + 1 for size in self.sizes)

    @property
    def noise(self) -> tuple[list[Any], ...]:
        """The mechanism's name, so that no word is shared with another one, and what `meaning` has."""
        return tuple(["k-subset", *pair] for pair in self.meaning)

    @property
    def meaning(self) -> list[Any]:
        """The number of members of each attribute's set, and the probability to hold the value, in units of 2^-32."""
        return [list(pair) for pair in zip(self.members, self.kept, strict=True)]

    @property
    def supports(self) -> tuple[Support, ...]:
        """The support of each attribute's values: a report supports the members of its set."""
        return tuple(
            Support(
                one=own,
                zero=(own * (members - 1) + (1 - own) * members) / (size - 1),
                ratio=(1 - own) * members / (own * (size - members)),
            )
            for size, members, own in self._shapes
        )

    @property
    def blankets(self) -> tuple[Blanket, ...]:
        """See `Mechanism.blankets`: every set with the same chance."""
        return tuple(
            Blanket.of_support(own=own, any_value=members / size, both=members / size * (members - 1) / (size - 1))
            for size, members, own in self._shapes
        )

    @property
    def _shapes(self) -> list[tuple[int, int, float]]:
        """The numbers of values and of members, and P(a set holds the user's value), of each attribute."""
        own = [kept / RESOLUTION for kept in self.kept]
        return list(zip(self.sizes, self.members, own, strict=True))

    def permanent(self, values: NDArray[np.intp], source: Entropy) -> Symbols:
        """Draw the set of each attribute, int64, shape (n, attributes): bit v is 1 where value v is a member."""
        return source.holding(
            values, sizes=np.array(self.sizes), members=np.array(self.members), kept=np.array(self.kept)
        )

    def instantaneous(self, symbols: Symbols, entropy: Entropy) -> Symbols:  # noqa: ARG002
        """Return the sets themselves, which every report sends."""
        return symbols

    def packed(self, symbols: Symbols) -> NDArray[np.uint8]:
        """See `Mechanism.packed`: the bits of one attribute after those of another."""
        bits = [symbols[:, [place]] >> np.arange(size) & 1 for place, size in enumerate(self.sizes)]
        return np.packbits(np.concatenate(bits, axis=1).astype(np.uint8), axis=1, bitorder="little")

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """See `Mechanism.valid`: rows with so many members of each attribute are."""
        clear = unused_clear(rows, self.bits)
        firsts = np.concatenate(([0], np.cumsum(self.sizes)[:-1]))
        held = np.add.reduceat(np.unpackbits(rows, axis=1, count=self.bits, bitorder="little"), firsts, axis=1)
        valid: NDArray[np.bool_] = clear & (held == np.array(self.members)).all(axis=1)
        return valid

    def columns(self, attributes: Sequence[int]) -> tuple[int, ...]:
        """See `Mechanism.columns`: there is a bit for each value."""
        return bits_of(self.sizes, attributes)

    def supported(self, bits: NDArray[np.uint8], attributes: Sequence[int]) -> NDArray[np.uint8]:  # noqa: ARG002
        """See `Mechanism.supported`: a report supports the values whose bits are set."""
        return bits

    @property
    def symbol_sizes(self) -> tuple[int, ...]:
        """See `Mechanism.symbol_sizes`: the one symbol of an attribute is a number with a bit for each value."""
        return tuple(2**size for size in self.sizes)

    def stated(self) -> tuple[tuple[Symbol, ...], ...]:
        """See `Mechanism.stated`: each attribute has one symbol, its set."""
        return tuple(
            (
                Symbol(
                    inputs=tuple(range(size)),
                    stages=TwoStages(permanent=_sets(size, members, kept), response=_identity(2**size)),
                ),
            )
            for size, members, kept in zip(self.sizes, self.members, self.kept, strict=True)
        )

    def small(self) -> Self:
        """See `Mechanism.small`: at most two attributes, of at most four values and two, and sets of at most two.

        The first is the one of the largest sets, and keeps two members: with the w of the least error, four values
        may have sets of one, which would audit k-RR in place of this mechanism.
        """
        members, size = max(zip(self.members, self.sizes, strict=True))
        sizes = (min(size, 4), 2)[: len(self.sizes)]
        return replace(self, sizes=sizes, held=min(members, 2))

    def privacy_loss(
        self, *, neighbours: int | None = None, reports: float = 1, values: Values = Values.CONSTANT
    ) -> PrivacyLoss:
        """See `Mechanism.privacy_loss`: the loss of a set, of each attribute, however many reports send it."""
        return repeated_responses_loss(
            lambda _: [
                (Decimal(-(-kept // members)) / run).ln()
                for kept, members, run in zip(self.kept, self.members, self.runs, strict=True)
            ],
            sizes=self.sizes,
            neighbours=neighbours,
            reports=reports,
            values=values,
            shown="k-subset, which sends",
        )


@lru_cache
def _best_members(size: int, epsilon: float) -> int:
    """Return the w with which the variance of a frequency is least, on average over a uniform population.

    It is in proportion to (w e^epsilon + r - w)^2 / (w (r - w)) for r values (Ye and Barg, 2018, eq. 14). That of a
    cell of a joint is a product with such a factor for each attribute, so that the same w is best there.
    """
    with localcontext(PRECISION):
        odds = likelihood_ratio(epsilon)
        return min(range(1, size), key=lambda w: (w * odds + size - w) ** 2 / (w * (size - w)))


@lru_cache
def _run(size: int, members: int, epsilon: float) -> int:
    """Return the least number of words for each place without the user's value; 0 if it is below one.

    The w places with it share the other 2^32 - (r - w) run words, so that one has at most (w - 1) / w more than the
    mean: with this run, no more than e^epsilon run.
    """
    with localcontext(PRECISION):
        exact = (RESOLUTION + members - 1) / (members * likelihood_ratio(epsilon) + size - members)
        return int(exact.to_integral_value(ROUND_CEILING)) if exact >= 1 else 0


def _sets(size: int, members: int, kept: int) -> tuple[tuple[Fraction, ...], ...]:
    """Return P(set | value), a row for each value and a column for each number of `size` bits."""
    with_own = Fraction(kept, RESOLUTION * math.comb(size - 1, members - 1))
    without = Fraction(RESOLUTION - kept, RESOLUTION * math.comb(size - 1, members))
    return tuple(
        tuple(
            Fraction(0) if held.bit_count() != members else with_own if held >> value & 1 else without
            for held in range(2**size)
        )
        for value in range(size)
    )


def _identity(size: int) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(Fraction(one == other) for one in range(size)) for other in range(size))
