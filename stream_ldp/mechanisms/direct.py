"""Direct response: the value itself, or another one. Randomised response with k choices (Warner, 1965, for two)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.frequency_oracle import FrequencyOracle, OutputDistribution, checked_values, no_outputs
from stream_ldp.mechanisms.packing import pack, unpack, unused_clear
from stream_ldp.mechanisms.privacy_loss import PRECISION, round_up
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["DirectResponse", "amplified"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectResponse(FrequencyOracle):
    """Sends the value with probability p, or else one of the others, all alike.

    p = e^epsilon / (e^epsilon + k - 1) for k choices (Wang, Blocki, Li and Jha, 2017, section 4.1), rounded down to a
    multiple of 2^-32. A report is the number of its value in ceil(log2 k) bits, at least one.

    size: number of values.
    dummies: choices after them, which are sent and answered like values but not estimated.
    epsilon: in nats, as asked for; then, as realised: less by what the rounding of p takes.
    kept: p in units of 2^-32.

    Raises:
        ParameterError: there is nothing to choose from, or no multiple of 2^-32 is a p for the epsilon.
    """

    kind: ClassVar[str] = "direct"
    example: ClassVar[str] = "size=8,dummies=2,epsilon=1"

    size: int
    dummies: int = 0
    epsilon: float
    kept: int = field(init=False)

    def __post_init__(self) -> None:
        if self.size < 1 or self.dummies < 0 or not 2 <= self.counters <= RESOLUTION:
            raise ParameterError(
                f"a direct response needs a value and 2 to 2^32 choices, got size={self.size}, dummies={self.dummies}"
            )
        object.__setattr__(self, "kept", _kept(self.counters, self.epsilon))
        object.__setattr__(self, "epsilon", _loss(self.counters, self.kept))

    @classmethod
    def for_value(cls, size: int, *, epsilon: float) -> Iterable[Self]:
        """One form, without dummies."""
        return [cls(size=size, epsilon=epsilon)]

    @classmethod
    def for_set(cls, size: int, *, padding: int, epsilon: float) -> Iterable[Self]:
        """One form, with a dummy for each slot."""
        return [cls(size=size, dummies=padding, epsilon=amplified(epsilon, padding=padding))]

    @property
    def title(self) -> str:
        """The kind itself."""
        return "direct"

    @property
    def inputs(self) -> int:
        """Every choice: dummies are sent like values."""
        return self.counters

    @property
    def bits(self) -> int:
        """Bits of a report."""
        return (self.counters - 1).bit_length()

    @property
    def counters(self) -> int:
        """Number of choices: reports are counted by what they say."""
        return self.size + self.dummies

    @property
    def support(self) -> tuple[float, float]:
        """(p, q): a report supports the value that it says."""
        p = self.kept / RESOLUTION
        return p, (1 - p) / (self.counters - 1)

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        """See `FrequencyOracle.perturb`."""
        values = checked_values(values, choices=self.counters)
        return pack([self.respond(values, entropy=entropy)], [self.bits])

    def respond(self, values: NDArray[np.int64], *, entropy: Entropy) -> NDArray[np.int64]:
        """What is sent for each value, not packed, shape (n,)."""
        sent = values.copy()
        changed = np.flatnonzero(~entropy.below(np.broadcast_to(np.uint32(self.kept), values.shape)))
        others = np.full(len(changed), self.counters - 1)
        sent[changed] = (sent[changed] + 1 + entropy.integers(others)) % self.counters
        return sent

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """See `FrequencyOracle.valid`."""
        (said,) = unpack(rows, [self.bits])
        return unused_clear(rows, self.bits) & (said < self.counters)

    def sums(self, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
        """How many reports say each choice, int64, shape (counters,)."""
        (said,) = unpack(rows, [self.bits])
        return np.bincount(said, minlength=self.counters)

    def supports(self, sums: NDArray[np.int64], *, reports: int) -> NDArray[np.float64]:  # noqa: ARG002
        """See `FrequencyOracle.supports`."""
        return sums[: self.size].astype(np.float64)

    def supported(self, rows: NDArray[np.uint8], values: NDArray[np.integer]) -> NDArray[np.bool_]:
        """See `FrequencyOracle.supported`."""
        (said,) = unpack(rows, [self.bits])
        named: NDArray[np.bool_] = said[:, None] == values
        return named

    def set_epsilon(self, *, padding: int) -> float:
        """What one sampled slot of `padding` tells of the whole set: the inverse of `amplified`."""
        return math.log1p(math.expm1(self.epsilon) / padding)

    def probability(self, value: int, said: int) -> Fraction:
        """P(`said` is sent | `value`)."""
        p = Fraction(self.kept, RESOLUTION)
        return p if said == value else (1 - p) / (self.counters - 1)

    def stated(self) -> OutputDistribution:
        """See `FrequencyOracle.stated`."""
        outputs = no_outputs(self.inputs, self.bits)
        for value, said in itertools.product(range(self.counters), repeat=2):
            outputs[value, said] = self.probability(value, said)
        return outputs

    def small(self) -> Self:
        """Half as many values and dummies."""
        return replace(self, size=-(-self.size // 2), dummies=-(-self.dummies // 2))

    def resized(self, size: int, *, padding: int, epsilon: float) -> Self:
        """See `FrequencyOracle.resized`."""
        dummies = padding if self.dummies else 0
        return replace(self, size=size, dummies=dummies, epsilon=amplified(epsilon, padding=padding))


def amplified(epsilon: float, *, padding: int) -> float:
    """What a direct response to one sampled slot of at least l may spend for the whole set to lose epsilon, nats.

    ln(l (e^epsilon - 1) + 1): a set holds a value in at most 1 of its l slots (Wang, Li and Jha, 2018, theorem 1).
    """
    return math.log(padding * math.expm1(epsilon) + 1.0)


def _kept(choices: int, epsilon: float) -> int:
    """The largest p whose loss is at most epsilon, in units of 2^-32."""
    if not 0 < epsilon < math.inf:
        raise ParameterError(f"epsilon must be positive and finite, got {epsilon}")
    # Between a p at which all choices are alike and certainty, both excluded.
    least, most = RESOLUTION // choices + 1, RESOLUTION - 1
    with localcontext(PRECISION):
        odds = Decimal(epsilon).exp()
        kept = int(RESOLUTION * odds / (odds + choices - 1))
    if kept < least or epsilon > _loss(choices, most):
        raise ParameterError(
            f"epsilon={epsilon} is beyond the resolution of 2^-32: with {choices} choices it is between about "
            f"{_loss(choices, least):.3g} and {_loss(choices, most):.3g}"
        )
    return kept


def _loss(choices: int, kept: int) -> float:
    """ln(p / q), never rounded down."""
    with localcontext(PRECISION):
        return round_up((Decimal(kept) * (choices - 1) / (RESOLUTION - kept)).ln())
