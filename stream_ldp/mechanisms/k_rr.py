"""k-RR: each attribute's value or another one is named, drawn once, permanently (Warner, 1965, for two values).

What is named may be perturbed again by k-RR, anew for every report (the longitudinal k-RR; Arcolezi et al., 2021).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, Self

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
from stream_ldp.mechanisms.odds import loss_of, would_do
from stream_ldp.mechanisms.packing import bits_of, pack, unpack, unused_clear
from stream_ldp.mechanisms.privacy_loss import (
    PRECISION,
    PrivacyLoss,
    Values,
    likelihood_ratio,
    round_up,
)
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy
from stream_ldp.mechanisms.repeated import RepeatedCost, fresh_chance, repeated_loss
from stream_ldp.mechanisms.support import Support


class KRRSpec(MechanismSpec):
    """k-RR as a collection file writes it.

    epsilon: privacy loss, in nats, of all reports of one attribute. That of a record is the sum over its attributes.
    per_report: of one report of one attribute; None if the first report may cost as much as all.
    """

    example: ClassVar[str] = "epsilon=2"

    kind: Literal["k-rr"]
    epsilon: float = Field(
        gt=0, allow_inf_nan=False, description="lifetime epsilon of the reports of one attribute, in nats"
    )
    per_report: Annotated[
        float | None, Field(gt=0, allow_inf_nan=False, description="nats that one report of it may cost")
    ] = None

    def of(self, *, sizes: tuple[int, ...]) -> KRR:
        """Return the mechanism for attributes of these sizes."""
        return KRR(sizes=sizes, attribute_epsilon=self.epsilon, report_epsilon=self.per_report)

    def costs(self, *, sizes: tuple[int, ...]) -> Sequence[MechanismSpec | RepeatedCost]:
        """See `MechanismSpec.costs`: with `per_report`, they depend on the number of values."""
        if self.per_report is None:
            return [self] * len(sizes)
        mechanism = self.of(sizes=sizes)
        return [
            RepeatedCost(size=size, permanent=kept, fresh=fresh)
            for size, kept, fresh in zip(sizes, mechanism.kept, mechanism.fresh, strict=True)
        ]

    def responses_loss(self, *, responses: int, reports: float) -> float:  # noqa: ARG002
        """See `MechanismSpec.responses_loss`: a response that is repeated reveals nothing more.

        With `per_report` this is what any number of reports reveal. What a few of them do depends on the number of
        values; see `KRR.privacy_loss`.
        """
        with localcontext(PRECISION):
            return round_up(responses * Decimal(self.epsilon))

    @classmethod
    def for_budget(cls, *, sizes: tuple[int, ...], lifetime: float, per_report: float | None) -> Self:
        """See `MechanismSpec.for_budget`: all attributes get equal shares of the budget.

        Raises:
            ParameterError: the budget is out of range.
        """
        if not 0 < lifetime < math.inf:
            raise ParameterError(f"lifetime must be a positive, finite epsilon, got {lifetime}")
        one = None if per_report is None or per_report >= lifetime else per_report / len(sizes)
        mechanism = KRR(sizes=sizes, attribute_epsilon=lifetime / len(sizes), report_epsilon=one)
        return cls(kind="k-rr", epsilon=mechanism.attribute_epsilon, per_report=mechanism.report_epsilon)


class NumberedSymbols(Mechanism):
    """A mechanism whose reports have a symbol for each attribute, as a number below `symbol_sizes`."""

    __slots__ = ()

    @property
    def bits(self) -> int:
        """Number of bits of a report: those of each attribute's symbol, one attribute after another."""
        return sum(self._widths)

    def packed(self, symbols: Symbols) -> NDArray[np.uint8]:
        """See `Mechanism.packed`: the numbers of the symbols, the least significant bit of each first."""
        return pack(list(symbols.T), self._widths)

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """See `Mechanism.valid`: rows with one of the symbols of each attribute are."""
        valid = unused_clear(rows, self.bits)
        for size, symbol in zip(self.symbol_sizes, unpack(rows, self._widths), strict=True):
            valid &= symbol < size
        return valid

    def columns(self, attributes: Sequence[int]) -> tuple[int, ...]:
        """See `Mechanism.columns`: the bits of the attributes' symbols."""
        return bits_of(self._widths, attributes)

    def _sent(self, bits: NDArray[np.uint8], attributes: Sequence[int]) -> list[NDArray[np.int64]]:
        """Return the symbols of some attributes, shape (n,) each, given their bits in this order."""
        ends = np.cumsum([self._widths[attribute] for attribute in attributes])[:-1]
        parts = np.split(bits, ends, axis=1)
        return [part.astype(np.int64) @ (1 << np.arange(part.shape[1])) for part in parts]

    @property
    def _widths(self) -> list[int]:
        return [(size - 1).bit_length() for size in self.symbol_sizes]


@dataclass(frozen=True, kw_only=True, slots=True)
class KRR(NumberedSymbols):
    """A mechanism that names each attribute's value with probability p, or else one of its other values, uniformly.

    p = e^epsilon / (e^epsilon + k - 1) for an attribute of k values (Wang, Blocki, Li and Jha, 2017, section 4.1). It
    is rounded down, so that the other values share the remaining words of 2^32 evenly: one word decides, and every
    probability is exact. What is named of a value is drawn once, permanently. Without `report_epsilon`, every report
    sends it; otherwise every report sends what a further k-RR, with noise of its own, makes of it.

    sizes: number of values of each attribute, each at least 2.
    attribute_epsilon: privacy loss, in nats, that all reports of one attribute may cost.
    report_epsilon: that one of them may cost, which is less; None if there is no instantaneous response.

    Raises:
        ParameterError: a parameter is out of its range, or no multiples of 2^-32 are probabilities for the epsilon.
    """

    title: ClassVar[str] = "k-RR"

    sizes: tuple[int, ...]
    attribute_epsilon: float
    report_epsilon: float | None = None

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 2:
            raise ParameterError(f"every attribute needs at least 2 values, got sizes {self.sizes}")
        if not 0 < self.attribute_epsilon < math.inf:
            raise Misplaced(f"epsilon must be positive and finite, got {self.attribute_epsilon}", "epsilon")
        for size, run in zip(self.sizes, self.runs, strict=True):
            if not 0 < run * size < RESOLUTION:
                runs = [((RESOLUTION - 1) // each, 1, each - 1) for each in self.sizes]
                lowest, highest = (
                    choose(loss_of(RESOLUTION - others * bounds[end], outside=others) for *bounds, others in runs)
                    for end, choose in enumerate((max, min))
                )
                raise Misplaced(
                    f"epsilon={self.attribute_epsilon} is beyond the resolution of 2^-32 with {size} values: "
                    f"{would_do(lowest, highest)}",
                    "epsilon",
                )
        if self.report_epsilon is None:
            return
        if not 0 < self.report_epsilon < self.attribute_epsilon:
            raise Misplaced(
                f"one report may cost less than all: per_report={self.report_epsilon} is not below "
                f"epsilon={self.attribute_epsilon}; leave it out where the first report may cost as much as all",
                "per_report",
            )
        try:
            _ = self.fresh
        except ParameterError as error:
            raise Misplaced(str(error), "per_report") from error

    @property
    def runs(self) -> tuple[int, ...]:
        """P(a report names a given other value), for each attribute, in units of 2^-32."""
        return tuple(_run(size, self.attribute_epsilon) for size in self.sizes)

    @property
    def kept(self) -> tuple[int, ...]:
        """P(a report names the true value), for each attribute, in units of 2^-32."""
        return tuple(RESOLUTION - (size - 1) * run for size, run in zip(self.sizes, self.runs, strict=True))

    @property
    def fresh_runs(self) -> tuple[int, ...]:
        """P(a report sends a given value that is not named), for each attribute, in units of 2^-32."""
        if self.report_epsilon is None:
            return (0,) * len(self.sizes)
        return tuple(
            _fresh_run(size, kept, self.report_epsilon) for size, kept in zip(self.sizes, self.kept, strict=True)
        )

    @property
    def fresh(self) -> tuple[int, ...]:
        """P(a report sends the permanent response), for each attribute, in units of 2^-32."""
        return tuple(RESOLUTION - (size - 1) * run for size, run in zip(self.sizes, self.fresh_runs, strict=True))

    @property
    def words(self) -> tuple[int, ...]:
        """Number of words of each attribute: one decides what is sent."""
        return (1,) * len(self.sizes)

    @property
    def noise(self) -> tuple[list[Any], ...]:
        """The probability to keep a value, and the mechanism's name, so that no word is shared with RR-LDP.

        With an instantaneous response, that one's too. What reports by two of them say of one permanent response is
        not always the sum of what each says, so that each has a permanent response of its own.
        """
        if self.report_epsilon is None:
            return tuple(["k-rr", kept] for kept in self.kept)
        return tuple(["k-rr", kept, fresh] for kept, fresh in zip(self.kept, self.fresh, strict=True))

    @property
    def meaning(self) -> list[Any]:
        """The probability of each attribute to keep its value, in units of 2^-32.

        With an instantaneous response, a pair: that of the permanent response, and that of the instantaneous one.
        """
        if self.report_epsilon is None:
            return list(self.kept)
        return [list(pair) for pair in zip(self.kept, self.fresh, strict=True)]

    @property
    def supports(self) -> tuple[Support, ...]:
        """The support of each attribute's values: a report supports the value that it names."""
        return tuple(
            Support.of_one_value(one=own, zero=(1 - own) / (size - 1))
            for own, size in zip(self._own, self.sizes, strict=True)
        )

    @property
    def blankets(self) -> tuple[Blanket, ...]:
        """See `Mechanism.blankets`: every value with the same chance."""
        return tuple(
            Blanket.of_support(own=own, any_value=1.0 / size, both=0.0)
            for own, size in zip(self._own, self.sizes, strict=True)
        )

    def permanent(self, values: NDArray[np.intp], source: Entropy) -> Symbols:
        """Draw the value that is named for each attribute, shape (n, attributes)."""
        return self._shifted(values, self.kept, source)

    def instantaneous(self, symbols: Symbols, entropy: Entropy) -> Symbols:
        """Draw what is sent of the named values; without an instantaneous response, the named values themselves."""
        return symbols if self.report_epsilon is None else self._shifted(symbols, self.fresh, entropy)

    def _shifted(self, values: Symbols, kept: tuple[int, ...], source: Entropy) -> Symbols:
        """Keep each value with the probability of its attribute, in units of 2^-32, or draw one of the others."""
        sizes = np.array(self.sizes)
        shifts = source.shifts(
            np.broadcast_to(np.array(kept), values.shape), np.broadcast_to(sizes - 1, values.shape)
        )
        symbols: Symbols = values + shifts
        symbols -= np.where(symbols >= sizes, sizes, 0)
        return symbols

    def supported(self, bits: NDArray[np.uint8], attributes: Sequence[int]) -> NDArray[np.uint8]:
        """See `Mechanism.supported`: the one-hot code of the named values."""
        parts = [
            named[:, None] == np.arange(self.sizes[each])
            for each, named in zip(attributes, self._sent(bits, attributes), strict=True)
        ]
        return np.concatenate(parts, axis=1).astype(np.uint8)

    def stated(self) -> tuple[tuple[Symbol, ...], ...]:
        """See `Mechanism.stated`: each attribute has one symbol, its value."""
        return tuple(
            (
                Symbol(
                    inputs=tuple(range(size)),
                    stages=TwoStages(permanent=_table(size, kept, run), response=_table(size, fresh, fresh_run)),
                ),
            )
            for size, kept, run, fresh, fresh_run in zip(
                self.sizes, self.kept, self.runs, self.fresh, self.fresh_runs, strict=True
            )
        )

    @property
    def permanent_share(self) -> float:
        """See `Mechanism.permanent_share`: 1 where every report of a user repeats the permanent response.

        Otherwise, let the permanent response be the value with p, and each other one with q. Let a report send it
        with a, and each other one with b = a - d. Functions of the named value have two parts that do not mix:
        whether it is the true one, with the squared correlation p (1 - p) d^2 / (s (1 - s)), s = b + p d; and which
        other one it is, with q d^2 / (b + q d).
        """
        if self.report_epsilon is None:
            return 1.0
        shares = []
        for size, kept, fresh in zip(self.sizes, self.kept, self.fresh, strict=True):
            p, a = kept / RESOLUTION, fresh / RESOLUTION
            q, b = (1 - p) / (size - 1), (1 - a) / (size - 1)
            own = b + p * (a - b)
            shares.append(p * (1 - p) * (a - b) ** 2 / (own * (1 - own)))
            if size > 2:
                shares.append(q * (a - b) ** 2 / (b + q * (a - b)))
        return max(shares)

    @property
    def symbol_sizes(self) -> tuple[int, ...]:
        """See `Mechanism.symbol_sizes`: the one symbol of an attribute names any of its values."""
        return self.sizes

    def small(self) -> Self:
        """See `Mechanism.small`: the two widest attributes, with at most three values and two."""
        widest = sorted(self.sizes, reverse=True)
        sizes = tuple(min(size, most) for size, most in zip(widest, (3, 2), strict=False))
        return replace(self, sizes=sizes)

    def privacy_loss(
        self, *, neighbours: int | None = None, reports: float = 1, values: Values = Values.CONSTANT
    ) -> PrivacyLoss:
        """See `Mechanism.privacy_loss`: ln(p / q) for each attribute, for some reports `repeated_loss`."""
        return repeated_responses_loss(
            self._losses,
            sizes=self.sizes,
            neighbours=neighbours,
            reports=reports,
            values=values,
            shown="k-rr, which names",
        )

    def _losses(self, reports: float) -> list[Decimal]:
        """Return the loss of so many reports of each attribute, in nats."""
        if self.report_epsilon is None:
            return [(Decimal(kept) / run).ln() for kept, run in zip(self.kept, self.runs, strict=True)]
        return [
            Decimal(repeated_loss(kept, fresh, size=size, reports=reports))
            for size, kept, fresh in zip(self.sizes, self.kept, self.fresh, strict=True)
        ]

    @property
    def _own(self) -> tuple[float, ...]:
        """P(a report names the true value) for each attribute."""
        return tuple(
            (kept * fresh + (size - 1) * run * fresh_run) / RESOLUTION**2
            for size, kept, run, fresh, fresh_run in zip(
                self.sizes, self.kept, self.runs, self.fresh, self.fresh_runs, strict=True
            )
        )


@lru_cache
def _run(size: int, epsilon: float) -> int:
    """Return the least P(a given other value) whose loss is at most epsilon, in units of 2^-32; 0 if below one."""
    with localcontext(PRECISION):
        exact = RESOLUTION / (likelihood_ratio(epsilon) + size - 1)
        return int(exact.to_integral_value(ROUND_CEILING)) if exact >= 1 else 0


@lru_cache
def _fresh_run(size: int, kept: int, epsilon: float) -> int:
    """Return the least P(a given value that is not named) with which one report costs at most epsilon, as `_run`."""
    return -(-(RESOLUTION - fresh_chance(kept, size=size, epsilon=epsilon)) // (size - 1))


def _table(size: int, kept: int, run: int) -> tuple[tuple[Fraction, ...], ...]:
    true, other = Fraction(kept, RESOLUTION), Fraction(run, RESOLUTION)
    return tuple(tuple(true if named == value else other for named in range(size)) for value in range(size))
