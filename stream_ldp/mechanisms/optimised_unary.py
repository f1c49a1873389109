"""Optimised unary encoding: a bit for each value; the user's own is a fair coin."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.direct import DirectResponse
from stream_ldp.mechanisms.randomizer import OutputDistribution, checked_values, independent_bits
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy
from stream_ldp.mechanisms.unary import MAX_SIZE, UnaryResponse


@dataclass(frozen=True, kw_only=True, slots=True)
class OptimisedUnaryResponse(UnaryResponse):
    """An oracle that sends the own bit as 1 with p = 1/2, and any other with q = 1 / (e^epsilon + 1).

    Optimised unary encoding (Wang, Blocki, Li and Jha, 2017, section 4.3). It has the least noise of all unary
    encodings for a rare value, 4 e^epsilon / (e^epsilon - 1)^2 over the number of reports: it keeps zeros, which are
    the many, as often as epsilon allows. A user always repeats one report; a second noise for each report would have
    to be proved anew, and is not offered. A dummy's code is all zeros.

    size: number of values, and of bits of a report.
    epsilon: in nats. The argument is an upper bound; the field is the realised loss, ln((1 - q) / q).
    response: keeps a zero.

    Raises:
        ParameterError: the size is out of its range, or no multiple of 2^-32 is a q for the epsilon.
    """

    kind: ClassVar[str] = "oue"
    named: ClassVar[tuple[str, ...]] = ("oue",)
    example: ClassVar[str] = "size=8,epsilon=1"
    title: ClassVar[str] = "optimised unary"

    def __post_init__(self) -> None:
        if not 2 <= self.size <= MAX_SIZE:
            raise ParameterError(f"optimised unary encoding is for 2 to {MAX_SIZE} values, got size={self.size}")
        # The codes of two values differ in two bits, whose ratios are p (1 - q) / (q (1 - p)) = (1 - q) / q.
        object.__setattr__(self, "response", DirectResponse(size=2, epsilon=self.epsilon))
        object.__setattr__(self, "epsilon", self.response.epsilon)

    @property
    def furthest(self) -> tuple[int, int]:
        """See `Randomizer.furthest`: two values; a dummy differs from each of them in one bit alone."""
        return 0, 1

    @property
    def support(self) -> tuple[float, float]:
        """See `FrequencyOracle.support`: a report supports the values whose bits are 1."""
        return 0.5, (RESOLUTION - self.response.kept) / RESOLUTION

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        own = checked_values(values)[:, None] == np.arange(self.size)
        sent = entropy.responses(own, zero=RESOLUTION - self.response.kept, one=RESOLUTION // 2)
        return np.packbits(sent, axis=1, bitorder="little")

    def stated(self) -> OutputDistribution:
        """See `FrequencyOracle.stated`: the bits are independent."""
        other, own = Fraction(RESOLUTION - self.response.kept, RESOLUTION), Fraction(1, 2)
        return independent_bits(
            [[own if value == bit else other for bit in range(self.size)] for value in range(self.inputs)]
        )

    def small(self) -> Self:
        """See `FrequencyOracle.small`: half as many values."""
        return replace(self, size=max(2, self.size // 2))
