"""Direct response: the value itself or another one, by randomised response with k choices (Warner, 1965, for two)."""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.blanket import Blanket
from stream_ldp.mechanisms.frequency_oracle import FrequencyOracle
from stream_ldp.mechanisms.odds import kept_inside, loss_of
from stream_ldp.mechanisms.packing import pack, unpack
from stream_ldp.mechanisms.randomizer import OutcomeRandomizer, OutputDistribution, checked_values, no_outputs
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectResponse(OutcomeRandomizer, FrequencyOracle):
    """An oracle that sends the value with probability p, or else one of the others, uniformly.

    p = e^epsilon / (e^epsilon + k - 1) for k choices (Wang, Blocki, Li and Jha, 2017, section 4.1), rounded down to a
    multiple of 2^-32. A report is the number of its value in ceil(log2 k) bits, at least one.

    size: number of values.
    dummies: number of choices after them, which are perturbed and sent like values but not estimated.
    epsilon: in nats. The argument is an upper bound; the field is the realised loss, lower by the rounding of p.
    kept: p in units of 2^-32.

    Raises:
        ParameterError: there is nothing to choose from, or no multiple of 2^-32 is a p for the epsilon.
    """

    kind: ClassVar[str] = "direct"
    named: ClassVar[tuple[str, ...]] = ("k-rr",)
    example: ClassVar[str] = "size=8,dummies=2,epsilon=1"
    title: ClassVar[str] = "direct"
    fixed_total: ClassVar[bool] = True

    size: int
    dummies: int = 0
    epsilon: float
    kept: int = field(init=False)

    def __post_init__(self) -> None:
        if self.size < 1 or self.dummies < 0 or not 2 <= self.counters <= RESOLUTION:
            raise ParameterError(
                f"a direct response needs a value and 2 to 2^32 choices, got size={self.size}, dummies={self.dummies}"
            )
        object.__setattr__(self, "kept", kept_inside(self.epsilon, outside=self.counters - 1))
        object.__setattr__(self, "epsilon", loss_of(self.kept, outside=self.counters - 1))

    @classmethod
    def for_value(cls, size: int, *, epsilon: float) -> Iterable[Self]:
        """See `FrequencyOracle.for_value`: one oracle, without dummies."""
        return [cls(size=size, epsilon=epsilon)]

    @classmethod
    def for_set(cls, size: int, *, padding: int, epsilon: float) -> Iterable[Self]:
        """See `FrequencyOracle.for_set`: one oracle, with a dummy for each slot."""
        return [cls(size=size, dummies=padding, epsilon=amplified(epsilon, padding=padding))]

    @property
    def inputs(self) -> int:
        """Number of choices: dummies are sent like values."""
        return self.counters

    @property
    def parameters(self) -> list[int]:
        """The numbers of values and of dummies, and p."""
        return [self.size, self.dummies, self.kept]

    @property
    def chances(self) -> list[int]:
        """The one chance by which a report is made: p, in units of 2^-32."""
        return [self.kept]

    @property
    def counters(self) -> int:
        """Number of choices: reports are counted by the choice that they name."""
        return self.size + self.dummies

    @property
    def support(self) -> tuple[float, float]:
        """See `FrequencyOracle.support`: a report supports the value that it names."""
        p = self.kept / RESOLUTION
        return p, (1 - p) / (self.counters - 1)

    @property
    def blanket(self) -> Blanket | None:
        """See `Randomizer.blanket`: every value with the same chance."""
        if self.dummies or self.size < 2:
            return None
        own, _ = self.support
        return Blanket.of_support(own=own, any_value=1.0 / self.size, both=0.0)

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        values = checked_values(values, choices=self.counters)
        return pack([self.respond(values, entropy=entropy)], [self.bits])

    def respond(self, values: NDArray[np.int64], *, entropy: Entropy) -> NDArray[np.int64]:
        """Perturb values into the choices that are sent, not packed, int64, shape (n,)."""
        return kept_or_other(values, choices=self.counters, kept=self.kept, entropy=entropy)

    def supports(self, sums: NDArray[np.int64 | np.float64], *, reports: float) -> NDArray[np.float64]:  # noqa: ARG002
        return sums[: self.size].astype(np.float64)

    def supported(self, rows: NDArray[np.uint8], values: NDArray[np.integer]) -> NDArray[np.bool_]:
        (named,) = unpack(rows, [self.bits])
        supported: NDArray[np.bool_] = named[:, None] == values
        return supported

    def set_epsilon(self, *, padding: int) -> float:
        """Return the loss, for any two sets, of a report from one of `padding` slots: the inverse of `amplified`."""
        return math.log1p(math.expm1(self.epsilon) / padding)

    def probability(self, value: int, named: int) -> Fraction:
        """Return P(`named` is sent | `value`)."""
        p = Fraction(self.kept, RESOLUTION)
        return p if named == value else (1 - p) / (self.counters - 1)

    def stated(self) -> OutputDistribution:
        outputs = no_outputs(self.inputs, self.bits)
        for value, named in itertools.product(range(self.counters), repeat=2):
            outputs[value, named] = self.probability(value, named)
        return outputs

    def small(self) -> Self:
        """See `FrequencyOracle.small`: half as many values and dummies."""
        return replace(self, size=-(-self.size // 2), dummies=-(-self.dummies // 2))

    def resized(self, size: int, *, padding: int, epsilon: float) -> Self:
        dummies = padding if self.dummies else 0
        return replace(self, size=size, dummies=dummies, epsilon=amplified(epsilon, padding=padding))


def kept_or_other(values: NDArray[np.int64], *, choices: int, kept: int, entropy: Entropy) -> NDArray[np.int64]:
    """Keep each value with the probability kept / 2^32, or else name one of the others, uniformly; int64, shape (n,).

    Every user draws another value, and only those who do not keep theirs use it: if only these drew, a process on the
    same machine could distinguish them by the time it takes. They use the first draws, in order.
    """
    keep = entropy.below(np.broadcast_to(np.uint32(kept), values.shape))
    drawn = entropy.integers(np.full(len(values), choices - 1))
    others = (values + 1 + drawn[np.cumsum(~keep) - 1]) % choices
    return np.where(keep, values, others)


def amplified(epsilon: float, *, padding: int) -> float:
    """Return the epsilon that a direct response to one of at least l slots may spend if the set is to lose `epsilon`.

    It is ln(l (e^epsilon - 1) + 1), in nats: a set has each value in at most 1 of its l slots (Wang, Li and Jha,
    2018, theorem 1).
    """
    return math.log(padding * math.expm1(epsilon) + 1.0)


def epsilon_of_distortion(distortion: float, size: int) -> float:
    """Return the epsilon of k-RR that sends another value with probability `distortion` (Sarwate and Sankar, 2014).

    It is ln(k - 1) + ln((1 - delta) / delta).

    Raises:
        ParameterError: as much distortion, or as little, is not possible.
    """
    most = (size - 1) / size
    if not 0 < distortion < most:
        raise ParameterError(
            f"a distortion of {distortion:g} is not possible with {size} values: it is above 0 and below {most:g}, "
            "at which reports say nothing"
        )
    return math.log(size - 1) + math.log((1 - distortion) / distortion)
