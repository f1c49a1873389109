"""Unary response: one bit for each value, each perturbed independently."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.blanket import Blanket
from stream_ldp.mechanisms.direct import DirectResponse
from stream_ldp.mechanisms.frequency_oracle import BitOracle, FrequencyOracle
from stream_ldp.mechanisms.packing import unused_clear
from stream_ldp.mechanisms.randomizer import OutputDistribution, checked_values, independent_bits
from stream_ldp.mechanisms.randomness.entropy import Entropy

#: Most values: a report of 2^16 bits has 8 KiB. For more values, a Hadamard response is as accurate in a few bytes.
MAX_SIZE = 2**16


@dataclass(frozen=True, kw_only=True, slots=True)
class UnaryResponse(BitOracle, FrequencyOracle):
    """An oracle that sends a value's one-hot code, keeping each bit with e^(epsilon/2) / (1 + e^(epsilon/2)).

    Basic one-time RAPPOR (Erlingsson, Pihur and Korolova, 2014), symmetric unary encoding in Wang, Blocki, Li and Jha
    (2017, section 4.2). A dummy's code is all zeros. No phase of a heavy-hitter method
    takes it, since a Hadamard response is as accurate in a few bits.

    size: number of values, and of bits of a report.
    epsilon: in nats. The argument is an upper bound; the field is the realised loss, lower by rounding to 2^-32.
    response: perturbs each bit.

    Raises:
        ParameterError: the size is out of its range, or no multiple of 2^-32 is a probability for the epsilon.
    """

    kind: ClassVar[str] = "unary"
    named: ClassVar[tuple[str, ...]] = ("rappor",)
    example: ClassVar[str] = "size=8,epsilon=1"
    title: ClassVar[str] = "unary"
    public_draws: ClassVar[int | None] = None

    size: int
    epsilon: float
    response: DirectResponse = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= self.size <= MAX_SIZE:
            raise ParameterError(f"a unary response is for 1 to {MAX_SIZE} values, got size={self.size}")
        # The codes of two values differ in two bits. A single value differs from a dummy in one.
        differing = min(self.size, 2)
        object.__setattr__(self, "response", DirectResponse(size=2, epsilon=self.epsilon / differing))
        object.__setattr__(self, "epsilon", differing * self.response.epsilon)

    @property
    def parameters(self) -> list[int]:
        """The number of values, and the chance to keep a bit."""
        return [self.size, self.response.kept]

    @property
    def support(self) -> tuple[float, float]:
        """See `FrequencyOracle.support`: a report supports the values whose bits are 1."""
        return self.response.support

    @property
    def blanket(self) -> Blanket | None:
        """See `Randomizer.blanket`: the bits of a dummy, each by itself."""
        own, any_value = self.support
        return None if self.size < 2 else Blanket.of_support(own=own, any_value=any_value, both=any_value**2)

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        values = checked_values(values)
        bits = values[:, None] == np.arange(self.size)
        bits ^= ~entropy.responses(bits, zero=self.response.kept, one=self.response.kept)
        return np.packbits(bits, axis=1, bitorder="little")

    def set_bits(self) -> tuple[float, float, float]:
        """See `Randomizer.set_bits`: of a value, one bit is its own; a dummy has none."""
        p, q = self.support
        others = self.size - 1
        return p + others * q, p + others * q, p * (1 - p) + others * q * (1 - q)

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return unused_clear(rows, self.bits)

    def stated(self) -> OutputDistribution:
        """See `FrequencyOracle.stated`: the bits are independent."""
        other, own = (self.response.probability(bit, 1) for bit in (0, 1))
        return independent_bits(
            [[own if value == bit else other for bit in range(self.size)] for value in range(self.inputs)]
        )

    def small(self) -> Self:
        """See `FrequencyOracle.small`: half as many values."""
        return replace(self, size=self.size // 2)

    def resized(self, size: int, *, padding: int, epsilon: float) -> Self:  # noqa: ARG002
        return replace(self, size=size, epsilon=epsilon)
