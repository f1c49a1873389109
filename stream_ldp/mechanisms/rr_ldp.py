"""RR-LDP: one-hot code, permanent then instantaneous randomised response (Chu, Long and Liu, 2022, Algorithm 1)."""

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
from stream_ldp.mechanisms.bit_counts import BATCH_LIMIT, batch_scores, check
from stream_ldp.mechanisms.blanket import Blanket
from stream_ldp.mechanisms.matching import matched_share
from stream_ldp.mechanisms.mechanism import Mechanism, MechanismSpec, Symbol, Symbols, TwoStages, checked_neighbours
from stream_ldp.mechanisms.packing import bits_of
from stream_ldp.mechanisms.plausibility import PlausibilityTest
from stream_ldp.mechanisms.privacy_loss import NotCovered, PrivacyLoss, Values
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy, threshold
from stream_ldp.mechanisms.rr_loss import rr_epsilon, rr_parameters
from stream_ldp.mechanisms.support import Support

#: Users whose one-hot codes are set at a time: the places of their bits stay in a core's cache.
_BLOCK = 2**12

#: Log-odds, in nats, at which a permanent bit is known: odds of e^40 move no estimate.
_SURE = 40.0

#: Sizes of attributes whose encodings numpy moves as one number each, a byte a bit: three times as fast as setting a
#: bit for each attribute, which is what is faster for other sizes.
_MOVED_AT_ONCE = (2, 4, 8, 16)


class RRLDPSpec(MechanismSpec):
    """RR-LDP as a collection file writes it; see `RRLDP` for what its parameters mean."""

    example: ClassVar[str] = "f=0.5,p=0.5,q=0.75"

    kind: Literal["rr-ldp"]
    f: float = Field(description="probability that the permanent response replaces a bit by a fair coin")
    p: float | None = Field(
        default=None, description="probability that a report shows 1 for a permanent bit of 0; needs q"
    )
    q: float | None = Field(
        default=None, description="probability that a report shows 1 for a permanent bit of 1; needs p"
    )

    def of(self, *, sizes: tuple[int, ...]) -> RRLDP:
        """Return the mechanism for attributes of these sizes."""
        return RRLDP(sizes=sizes, f=self.f, p=self.p, q=self.q)

    def responses_loss(self, *, responses: int, reports: float) -> float:
        """See `MechanismSpec.responses_loss`; it does not depend on the number of the attribute's values."""
        return self.of(sizes=(2,) * responses).epsilon(reports=reports)

    @classmethod
    def for_budget(cls, *, sizes: tuple[int, ...], lifetime: float, per_report: float | None) -> Self:
        f, p, q = rr_parameters(lifetime=lifetime, per_report=per_report, neighbours=len(sizes))
        return cls(kind="rr-ldp", f=f, p=p, q=q)


@dataclass(frozen=True, kw_only=True, slots=True)
class RRLDP(Mechanism):
    """The mechanism RR-LDP for attributes of given sizes.

    sizes: number of values of each attribute, each at least 2.
    f: probability that the permanent response (PRR, eq. 6) replaces a bit by a fair coin, in (0, 1).
    p, q: probability that the instantaneous response (IRR, eq. 7) sends 1 for a permanent bit of 0 and of 1, with
        0 <= p < q <= 1; both None sends the permanent response itself, as LoPub does (Ren et al., 2018).

    Probabilities are realised to 2^-32: f / 2, p and q are rounded to whole multiples of it, and `channel` and
    `epsilon` are those of the rounded probabilities.

    Raises:
        ParameterError: a parameter is out of its range, or one of p, q is given without the other; a `Misplaced`
            names the parameter, unless the error is about the sizes.
    """

    title: ClassVar[str] = "RR-LDP"

    sizes: tuple[int, ...]
    f: float
    p: float | None = None
    q: float | None = None
    #: P(the PRR inverts a bit) = f / 2, in units of 2^-32; a solve asks for it dozens of times.
    flip_threshold: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        flip = threshold(self.f / 2) if 0.0 < self.f < 1.0 else 0
        object.__setattr__(self, "flip_threshold", flip)
        if not self.sizes or min(self.sizes) < 2:
            raise ParameterError(f"every attribute needs at least 2 values, got sizes {self.sizes}")
        if not 0 < flip < RESOLUTION // 2:
            raise Misplaced(
                f"f must be between 0 (no privacy) and 1 (no information), both excluded, got {self.f}", "f"
            )
        for name, chance in (("p", self.p), ("q", self.q)):
            if chance is not None and not 0.0 <= chance <= 1.0:
                raise Misplaced(f"{name} is a probability, from 0 to 1, got {chance}", name)
        if (self.p is None) != (self.q is None):
            raise Misplaced(
                "p and q belong together: give both, or neither for the permanent response alone",
                "p" if self.q is None else "q",
            )
        if self.p is not None and self.q is not None and threshold(self.p) >= threshold(self.q):
            raise Misplaced(
                f"p (chance to send 1 for a 0) must be below q (for a 1), got p={self.p}, q={self.q}", "p"
            )

    @property
    def bits(self) -> int:
        """Number of bits of a report: the sum of the sizes."""
        return sum(self.sizes)

    @property
    def flip(self) -> float:
        """The realised f / 2: P(PRR bit 1 | true 0) = P(PRR bit 0 | true 1)."""
        return self.flip_threshold / RESOLUTION

    @property
    def thresholds(self) -> tuple[int, int, int]:
        """The realised f / 2, p and q in units of 2^-32. Without an IRR, p is 0 and q is 1."""
        if self.p is None or self.q is None:
            return self.flip_threshold, 0, RESOLUTION
        return self.flip_threshold, threshold(self.p), threshold(self.q)

    @property
    def response(self) -> tuple[float, float]:
        """The realised (p, q) of the IRR; (0, 1) where there is none."""
        _, p, q = self.thresholds
        return p / RESOLUTION, q / RESOLUTION

    @property
    def words(self) -> tuple[int, ...]:
        """Number of words of each attribute: one for each bit."""
        return self.sizes

    @property
    def noise(self) -> tuple[list[Any], ...]:
        """The noise is f alone: reports under another p and q show the same permanent response."""
        return ([self.flip_threshold],) * len(self.sizes)

    @property
    def meaning(self) -> list[Any]:
        """The realised f / 2, p and q, in units of 2^-32."""
        return list(self.thresholds)

    @property
    def supports(self) -> tuple[Support, ...]:
        """The channel of a bit, the same for all attributes."""
        return (self.channel(),) * len(self.sizes)

    @property
    def blankets(self) -> tuple[Blanket, ...]:
        """See `Mechanism.blankets`: every bit as that of a value that the user does not have."""
        bit = self.channel()
        return (Blanket.of_support(own=bit.one, any_value=bit.zero, both=bit.zero**2),) * len(self.sizes)

    def channel(self) -> Support:
        """Return the effective channel of a bit, eqs. 8 and 9."""
        p, q = self.response
        return Support.of_bits(
            one=(1 - self.flip) * q + self.flip * p,
            zero=self.flip * q + (1 - self.flip) * p,
        )

    def privacy_loss(
        self, *, neighbours: int | None = None, reports: float = 1, values: Values = Values.CONSTANT
    ) -> PrivacyLoss:
        """See `Mechanism.privacy_loss` and `rr_epsilon`.

        values: what is assumed of the user's record over these reports. If it may change, the formula covers one
            report only: each new value draws a new permanent response, and the change itself shows.

        Raises:
            ValueError: neighbours or reports is out of range.
            NotCovered: more than one report of a record that may change.
        """
        neighbours = checked_neighbours(neighbours, self.sizes)
        if values is Values.CHANGING and reports != 1:
            raise NotCovered(
                "the formula for several reports holds only while the record does not change; when it may, ask for "
                "reports=1, or for a few reports `changing_epsilon` of stream_ldp.Enumeration"
            )
        return PrivacyLoss(
            epsilon=rr_epsilon(flip=self.flip, response=self.response, neighbours=neighbours, reports=reports),
            neighbours=neighbours,
            attributes=len(self.sizes),
            reports=reports,
            values=values,
        )

    def permanent(self, values: NDArray[np.intp], source: Entropy) -> Symbols:
        """Draw PRR bits, uint8, shape (n, bits), of valid `values`, shape (n, attributes)."""
        hot = _one_hot(values, self.sizes)
        flipped = source.responses(hot, zero=self.flip_threshold, one=self.flip_threshold)
        return (hot ^ flipped).view(np.uint8)

    def instantaneous(self, symbols: Symbols, entropy: Entropy) -> Symbols:
        """Draw IRR bits of PRR bits, uint8, shape (n, bits); without an IRR, return the PRR bits themselves."""
        if self.p is None or self.q is None:
            return symbols
        _, p, q = self.thresholds
        return entropy.responses(symbols.astype(np.bool_, copy=False), zero=p, one=q).view(np.uint8)

    def packed(self, symbols: Symbols) -> NDArray[np.uint8]:
        """See `Mechanism.packed`: bits are packed from the least significant place."""
        if self.bits % 8:
            return np.packbits(symbols.astype(np.bool_), axis=1, bitorder="little")
        # Rows of whole bytes are packed as one, which takes a tenth of the time.
        return np.packbits(symbols.astype(np.bool_).reshape(-1), bitorder="little").reshape(-1, self.bits // 8)

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """See `Mechanism.valid`: all rows are, since every bit may be set or not."""
        return np.ones(len(rows), dtype=np.bool_)

    def columns(self, attributes: Sequence[int]) -> tuple[int, ...]:
        """See `Mechanism.columns`: there is a bit for each value."""
        return bits_of(self.sizes, attributes)

    def supported(self, bits: NDArray[np.uint8], attributes: Sequence[int]) -> NDArray[np.uint8]:  # noqa: ARG002
        """See `Mechanism.supported`: a report supports the values whose bits are set."""
        return bits

    def stated(self) -> tuple[tuple[Symbol, ...], ...]:
        """See `Mechanism.stated`: each bit is inverted permanently with f / 2, and then sent as 1 with p or q."""
        flip, p, q = (Fraction(each, RESOLUTION) for each in self.thresholds)
        stages = TwoStages(permanent=((1 - flip, flip), (flip, 1 - flip)), response=((1 - p, p), (1 - q, q)))
        return tuple(
            tuple(
                Symbol(inputs=tuple(int(value == bit) for value in range(size)), stages=stages) for bit in range(size)
            )
            for size in self.sizes
        )

    @property
    def permanent_share(self) -> float:
        """See `Mechanism.permanent_share`.

        For independent bits it is the largest one of a single bit, and for binary variables the maximal correlation
        is the plain one: with a = P(permanent bit is 1) and s = P(reported bit is 1), its square is a (1 - a) (q -
        p)^2 / (s (1 - s)). It is 1 without an instantaneous response, where a user's reports are copies, and small
        with f.
        """
        p, q = self.response
        channel = self.channel()
        covariance = self.flip * (1 - self.flip) * (q - p) ** 2
        return max(covariance / (rate * (1 - rate)) for rate in (channel.one, channel.zero))

    @property
    def links(self) -> bool:
        """See `Mechanism.links`: without an IRR, all reports of a user are one."""
        return self.p is not None and self.permanent_share < 1.0

    def matched_share(self, *, reports: int) -> float | None:
        if self.p is None or self.q is None or not self.links:
            return None
        return matched_share(self.sizes, f=self.f, p=self.p, q=self.q, reports=reports)

    def linked_odds(self, ones: NDArray[np.int64], reports: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `Mechanism.linked_odds`: T ones among the W reports of a bit hold all that the reports reveal.

        Let L = q^T (1 - q)^(W - T) / (p^T (1 - p)^(W - T)) be the odds of a permanent 1, and c the chance that the
        permanent bit is inverted. They are ((1 - c) L + c) / (c L + 1 - c): the more reports, the nearer to those of
        the permanent bit itself.
        """
        if not self.links:
            return super(RRLDP, self).linked_odds(ones, reports)
        p, q = self.response
        zeros = reports[:, None] - ones
        # Where p is 0 or q is 1, one report may settle the permanent bit; what cannot be, settles nothing.
        with np.errstate(divide="ignore", invalid="ignore"):
            of_ones = np.where(ones > 0, ones * (np.log(q) - np.log(p)), 0.0)
            of_zeros = np.where(zeros > 0, zeros * (np.log1p(-q) - np.log1p(-p)), 0.0)
            odds = np.exp(np.clip(np.nan_to_num(of_ones + of_zeros, nan=0.0), -_SURE, _SURE))
        c = self.flip
        linked: NDArray[np.float64] = ((1.0 - c) * odds + c) / (c * odds + 1.0 - c)
        return linked

    @property
    def symbol_sizes(self) -> tuple[int, ...]:
        """See `Mechanism.symbol_sizes`: every symbol is a bit."""
        return (2,) * len(self.sizes)

    def small(self) -> Self:
        """See `Mechanism.small`: an attribute of two values, and if there are more attributes, one of three."""
        return replace(self, sizes=(2, 3)[: len(self.sizes)])

    def plausibility(
        self,
        bits: NDArray[np.uint8],
        counts: NDArray[np.int64 | np.float64],
        attributes: Sequence[int],
        *,
        reports_per_user: float,
    ) -> PlausibilityTest:
        """See `Mechanism.plausibility`: test the numbers of set bits; see `bit_counts.check`."""
        return check(
            bits,
            counts,
            sizes=[self.sizes[attribute] for attribute in attributes],
            channel=self.channel(),
            design_effect=self.design_effect(reports_per_user=reports_per_user),
        )

    def implausible(
        self, rows: NDArray[np.uint8], counts: NDArray[np.int64], *, reports_per_user: float | NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """See `Mechanism.implausible`: test the numbers of set bits; see `bit_counts.batch_scores`."""
        scores = batch_scores(
            rows,
            counts,
            sizes=self.sizes,
            channel=self.channel(),
            design_effect=self.design_effect(reports_per_user=reports_per_user),
        )
        return np.abs(scores) > BATCH_LIMIT


def _one_hot(values: NDArray[np.intp], sizes: tuple[int, ...]) -> NDArray[np.bool_]:
    """Encode values with one bit set for each attribute, bool, shape (n, sum of sizes)."""
    if sizes[0] in _MOVED_AT_ONCE and len(set(sizes)) == 1:
        return np.take(_identity(sizes[0]), values, axis=0).reshape(len(values), sum(sizes))
    bits = sum(sizes)
    hot = np.zeros((len(values), bits), dtype=np.bool_)
    places = np.arange(min(_BLOCK, len(values)))[:, None] * bits + _first_bits(sizes)
    for begin in range(0, len(values), _BLOCK):
        part = values[begin : begin + _BLOCK]
        hot[begin : begin + _BLOCK].reshape(-1)[(part + places[: len(part)]).reshape(-1)] = True
    return hot


@lru_cache
def _identity(size: int) -> NDArray[np.bool_]:
    """Return the encodings of all values of an attribute, shape (size, size); it must not be changed."""
    return np.eye(size, dtype=np.bool_)


@lru_cache
def _first_bits(sizes: tuple[int, ...]) -> NDArray[np.intp]:
    """Return the position of the first bit of each attribute; it must not be changed."""
    return np.concatenate(([0], np.cumsum(sizes)[:-1]))
