"""Subset response: a random set of w values that holds the user's own with the odds of epsilon."""

import itertools
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.blanket import Blanket
from stream_ldp.mechanisms.frequency_oracle import BitOracle, FrequencyOracle
from stream_ldp.mechanisms.odds import kept_inside, loss_of
from stream_ldp.mechanisms.packing import unused_clear
from stream_ldp.mechanisms.randomizer import OutputDistribution, checked_values, no_outputs
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy

#: Most values: a report has a bit for each, here 512 bytes.
MAX_SIZE = 2**12

#: Nats, far beyond the resolution of probabilities, above which the best subset has one member; e^710 is no float64.
_MOST = 700.0


@dataclass(frozen=True, kw_only=True, slots=True)
class SubsetResponse(BitOracle, FrequencyOracle):
    """An oracle that sends a set of w of the k values, in which the user's own is with probability p.

    p = w e^epsilon / (w e^epsilon + k - w) (k-Subset; Ye and Barg, 2018, eq. 7; Wang et al., 2016), rounded down to a
    multiple of 2^-32. The other members are drawn uniformly from the other values. It is a direct response if w = 1;
    the variance of a rare value is least with w near k / (e^epsilon + 1). A report is a bit for each value, and
    exactly w of them are 1. There are no dummies, so phases of heavy-hitter methods take other
    responses.

    size: k, number of values.
    epsilon: in nats. The argument is an upper bound; the field is the realised loss, lower by the rounding of p.
    members: w.
    kept: p in units of 2^-32.

    Raises:
        ParameterError: size or members is out of its range, or no multiple of 2^-32 is a p for the epsilon.
    """

    kind: ClassVar[str] = "k-subset"
    named: ClassVar[tuple[str, ...]] = ("k-subset",)
    example: ClassVar[str] = "size=8,epsilon=1,members=2"
    fixed_total: ClassVar[bool] = True
    public_draws: ClassVar[int | None] = None

    size: int
    epsilon: float
    members: int
    kept: int = field(init=False)

    def __post_init__(self) -> None:
        if not 2 <= self.size <= MAX_SIZE:
            raise ParameterError(f"a subset response is for 2 to {MAX_SIZE} values, got size={self.size}")
        if not 1 <= self.members < self.size:
            raise ParameterError(
                f"a subset of {self.size} values has 1 to {self.size - 1} members, got {self.members}"
            )
        others = self.size - self.members
        object.__setattr__(self, "kept", kept_inside(self.epsilon, inside=self.members, outside=others))
        object.__setattr__(self, "epsilon", loss_of(self.kept, inside=self.members, outside=others))

    @classmethod
    def forms(cls, size: int, *, epsilon: float) -> list[Self]:
        """See `FrequencyOracle.forms`: subsets of w = k / (e^epsilon + 1) values, and of one more or less."""
        middle = size / (math.exp(min(epsilon, _MOST)) + 1)
        found = {min(max(1, math.floor(middle) + step), size - 1) for step in (-1, 0, 1, 2)}
        return [cls(size=size, epsilon=epsilon, members=members) for members in sorted(found)]

    @property
    def title(self) -> str:
        """Name of the oracle in plans: its kind, and the size of the subset."""
        return f"subset of {self.members}"

    @property
    def inputs(self) -> int:
        """Number of values: there are no dummies."""
        return self.size

    @property
    def parameters(self) -> list[int]:
        """k, w and p."""
        return [self.size, self.members, self.kept]

    @property
    def support(self) -> tuple[float, float]:
        """See `FrequencyOracle.support`: a report supports its members."""
        p = self.kept / RESOLUTION
        return p, (p * (self.members - 1) + (1 - p) * self.members) / (self.size - 1)

    @property
    def blanket(self) -> Blanket | None:
        """See `Randomizer.blanket`: every subset with the same chance."""
        any_value = self.members / self.size
        both = any_value * (self.members - 1) / (self.size - 1)
        return Blanket.of_support(own=self.support[0], any_value=any_value, both=both)

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        """See `FrequencyOracle.perturb`; the other members are drawn by Floyd's algorithm (Bentley, Floyd, 1987)."""
        values = checked_values(values, choices=self.size)
        chosen = np.zeros((len(values), self.size), dtype=np.bool_)
        own = entropy.below(np.broadcast_to(np.uint32(self.kept), values.shape))
        users = np.arange(len(values))
        chosen[users[own], values[own]] = True
        others = self.size - 1
        # Step j draws from the first j + 1 of the other values. Users whose set holds their own need a step less.
        for step in range(others - self.members, others):
            drawing = users[~own] if step == others - self.members else users
            own_values = values[drawing]
            drawn = _other(entropy.integers(np.full(len(drawing), step + 1)), own_values)
            drawn = np.where(chosen[drawing, drawn], _other(step, own_values), drawn)
            chosen[drawing, drawn] = True
        return np.packbits(chosen, axis=1, bitorder="little")

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """See `FrequencyOracle.valid`: rows of exactly w bits are."""
        valid: NDArray[np.bool_] = unused_clear(rows, self.bits) & (
            np.bitwise_count(rows).sum(axis=1, dtype=np.int64) == self.members
        )
        return valid

    def stated(self) -> OutputDistribution:
        outputs = no_outputs(self.inputs, self.bits)
        p = Fraction(self.kept, RESOLUTION)
        with_own = p / math.comb(self.size - 1, self.members - 1)
        without = (1 - p) / math.comb(self.size - 1, self.members)
        for members in itertools.combinations(range(self.size), self.members):
            report = sum(1 << member for member in members)
            outputs[:, report] = without
            outputs[list(members), report] = with_own
        return outputs

    def small(self) -> Self:
        """See `FrequencyOracle.small`: about half as many values and members."""
        size = self.size // 2
        return replace(self, size=size, members=min(-(-self.members // 2), size - 1))

    def resized(self, size: int, *, padding: int, epsilon: float) -> Self:  # noqa: ARG002
        return replace(self, size=size, epsilon=epsilon, members=min(self.members, size - 1))


def _other(number: NDArray[np.int64] | int, own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the value that has this number among all values but the user's own."""
    return number + (number >= own).astype(np.int64)
