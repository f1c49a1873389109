"""Direct response: the value itself, or another one. Randomised response with k choices (Warner, 1965, for two)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.frequency_oracle import checked_values
from stream_ldp.mechanisms.packing import pack, unpack, unused_clear
from stream_ldp.mechanisms.privacy_loss import PRECISION, round_up
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy
from stream_ldp.mechanisms.randomness.uniform import uniform_integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DirectResponse"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectResponse:
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
        changed = np.flatnonzero(entropy.words(len(values)) >= np.uint32(self.kept))
        others = np.full(len(changed), self.counters - 1)
        sent[changed] = (sent[changed] + 1 + uniform_integers(others, entropy=entropy)) % self.counters
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
