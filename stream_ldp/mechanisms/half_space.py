"""Half-space response: a vector of signs is sent as one that agrees with it in most places, or as any other."""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.odds import kept_inside, loss_of
from stream_ldp.mechanisms.packing import bit_sums, pack, unused_clear
from stream_ldp.mechanisms.randomizer import OutputDistribution, Randomizer, checked_values, no_outputs
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy

#: Most dimensions: the vectors of one half-space are drawn by one number below 2^32.
MAX_DIMENSIONS = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class HalfSpaceResponse(Randomizer):
    """A randomizer of d numbers in [-1, 1], each rounded to a sign, that sends d signs (MeanEst; Duchi et al., 2013).

    With the user's signs v, a vector t* with t* . v > 0 is sent with probability p, uniformly, and otherwise one of
    all others. p = e^epsilon C / (e^epsilon C + 2^d - C), where C vectors have t* . v > 0. Vectors with t* . v = 0,
    which exist if d is even, must be possible and no likelier than those of the far side. Duchi, Jordan and
    Wainwright let both sides share them, which costs ln(1 + e^epsilon), and the survey of Ye et al. (2018) never
    sends them, which hides nothing.

    An input, and a report, is the number whose bit j is 1 where sign j is +.

    dimensions: d.
    epsilon: in nats. The argument is an upper bound; the field is the realised loss, lower by the rounding of p.
    kept: p in units of 2^-32.

    Raises:
        ParameterError: dimensions is out of its range, or no multiple of 2^-32 is a p for the epsilon.
    """

    kind: ClassVar[str] = "mean-est"
    example: ClassVar[str] = "dimensions=4,epsilon=1"
    input_name: ClassVar[str] = "number"

    dimensions: int
    epsilon: float
    kept: int = field(init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.dimensions <= MAX_DIMENSIONS:
            raise ParameterError(f"mean-est takes 1 to {MAX_DIMENSIONS} numbers, got {self.dimensions}")
        object.__setattr__(self, "kept", kept_inside(self.epsilon, inside=self.near, outside=self.far))
        object.__setattr__(self, "epsilon", loss_of(self.kept, inside=self.near, outside=self.far))

    @property
    def near(self) -> int:
        """C, number of vectors that agree with given signs in more than half of the places."""
        return sum(math.comb(self.dimensions, agreeing) for agreeing in self._agreeing(near=True))

    @property
    def far(self) -> int:
        """Number of all other vectors."""
        return int(2**self.dimensions) - self.near

    @property
    def title(self) -> str:
        """Name of the randomizer in plans."""
        return f"half-space of {self.dimensions} signs"

    @property
    def inputs(self) -> int:
        """Number of vectors of signs."""
        return int(2**self.dimensions)

    @property
    def parameters(self) -> list[int]:
        """d and p."""
        return [self.dimensions, self.kept]

    @property
    def bits(self) -> int:
        """Bits of a report: one for each sign."""
        return self.dimensions

    @property
    def counters(self) -> int:
        """Number of counters: one for each sign."""
        return self.dimensions

    @property
    def scale(self) -> float:
        """B, by which the mean of the signs that are sent is multiplied to estimate the means of the numbers."""
        d = self.dimensions
        agreement = Fraction(
            sum(math.comb(d, agreeing) * (2 * agreeing - d) for agreeing in self._agreeing(near=True)), d
        )
        p = Fraction(self.kept, RESOLUTION)
        return float(1 / (agreement * (p / self.near - (1 - p) / self.far)))

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        """See `Randomizer.perturb`; values are numbers whose bits are the signs."""
        signs = checked_values(values, choices=self.inputs)
        near = entropy.below(np.broadcast_to(np.uint32(self.kept), signs.shape))
        drawn = entropy.integers(np.where(near, self.near, self.far))
        # Both are worked out for every user, so that the time does not reveal which is sent.
        agreements = np.where(
            near,
            self._agreements(np.minimum(drawn, self.near - 1), near=True),
            self._agreements(np.minimum(drawn, self.far - 1), near=False),
        )
        # Where the vectors differ, the sign is inverted.
        return pack([signs ^ agreements ^ (self.inputs - 1)], [self.bits])

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """See `Randomizer.valid`: all vectors are possible."""
        return unused_clear(rows, self.bits)

    def add(self, rows: NDArray[np.uint8], *, to: NDArray[np.int64]) -> None:
        """Count the reports with each sign +, shape (dimensions,)."""
        to += bit_sums(rows, self.bits)

    def means(self, sums: NDArray[np.float64], *, reports: float) -> NDArray[np.float64]:
        """Estimate the mean of each number, without bias, float64, shape (dimensions,); reports must be positive."""
        return self.scale * (2 * sums / reports - 1)

    def stated(self) -> OutputDistribution:
        outputs = no_outputs(self.inputs, self.bits)
        p = Fraction(self.kept, RESOLUTION)
        vectors = np.arange(self.inputs)
        agreeing = self.dimensions - np.bitwise_count(vectors[:, None] ^ vectors).astype(np.int64)
        near = 2 * agreeing > self.dimensions
        outputs[near] = p / self.near
        outputs[~near] = (1 - p) / self.far
        return outputs

    def small(self) -> Self:
        """See `Randomizer.small`: two signs less, so that an even number stays even."""
        return replace(self, dimensions=self.dimensions - 2)

    def _agreeing(self, *, near: bool) -> range:
        """Return the possible numbers of places in which a vector of one side agrees."""
        half = self.dimensions // 2
        return range(half + 1, self.dimensions + 1) if near else range(half + 1)

    def _agreements(self, drawn: NDArray[np.int64], *, near: bool) -> NDArray[np.int64]:
        """Return the places of agreement, as bits, of the vectors of one side with these numbers.

        They are numbered by how many places agree, and among equals in the combinatorial number system.
        """
        counts = np.array([math.comb(self.dimensions, agreeing) for agreeing in self._agreeing(near=near)])
        ends = np.cumsum(counts)
        group = np.searchsorted(ends, drawn, side="right")
        rank = drawn - (ends - counts)[group]
        left = group + self._agreeing(near=near).start
        places = np.zeros_like(drawn)
        for place in reversed(range(self.dimensions)):
            smaller = np.array([math.comb(place, count) for count in range(self.dimensions + 1)])[left]
            agrees = rank >= smaller
            rank = rank - np.where(agrees, smaller, 0)
            left = left - agrees
            places |= agrees.astype(np.int64) << place
        return places
