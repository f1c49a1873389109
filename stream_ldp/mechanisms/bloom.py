"""RAPPOR on Bloom filters: each bit is perturbed once, permanently, and again for each report."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.blanket import Blanket
from stream_ldp.mechanisms.direct import DirectResponse
from stream_ldp.mechanisms.frequency_oracle import BitOracle
from stream_ldp.mechanisms.local_hashing import BUCKET_BITS, cohort_oracle
from stream_ldp.mechanisms.oracle_spec import Cohorts, EpsilonSpec, Hashing
from stream_ldp.mechanisms.packing import unused_clear
from stream_ldp.mechanisms.randomizer import AnswerCost, OutputDistribution, checked_values, independent_bits
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy, threshold
from stream_ldp.mechanisms.repeated import ShownThroughNoise
from stream_ldp.mechanisms.rr_loss import rr_epsilon
from stream_ldp.mechanisms.unary import UnaryResponse

#: Most hashes: two already have twice the variance of one, since each bit has a smaller part of epsilon.
MAX_HASHES = 2


class BloomCost(ShownThroughNoise):
    """The privacy loss of reports that show a permanent Bloom filter through fresh noise.

    hashes: h.
    permanent: chance that the permanent response keeps a bit.
    p, q: chances that a permanent 0 and a permanent 1 are sent as 1.
    """

    kind: Literal["bloom"] = "bloom"
    hashes: int = Field(ge=1, le=MAX_HASHES)
    permanent: int = Field(gt=RESOLUTION // 2, lt=RESOLUTION)
    p: int = Field(ge=0, lt=RESOLUTION)
    q: int = Field(gt=0, le=RESOLUTION)

    def loss(self, *, reports: float) -> float:
        """Return the loss of so many reports that show one filter, in nats; see `rr_epsilon`.

        Filters that have no bit in common differ in h bits that rise and h that fall, as h attributes do, and others
        in fewer.
        """
        flip, p, q = (part / RESOLUTION for part in (RESOLUTION - self.permanent, self.p, self.q))
        return rr_epsilon(flip=flip, response=(p, q), neighbours=self.hashes, reports=reports)


@dataclass(frozen=True, kw_only=True, slots=True)
class BloomResponse(BitOracle):
    """RAPPOR (Erlingsson, Pihur and Korolova, 2014, section 3.1): a Bloom filter of h hashes, perturbed twice.

    The permanent response keeps each bit of the filter with 1 - f/2. The instantaneous response sends a permanent 1
    as 1 with q, and a permanent 0 with p. Without p and q, the permanent response is sent. Two inputs lose most if
    their filters have h bits each, and none in common.

    An input is the number whose digits in base m are the h buckets.

    size: m, bits of the filter.
    hashes: h.
    lifetime: loss in nats of all reports that show one permanent response. The argument is an upper bound; the field
        is the realised loss, 2h ln((1 - f/2) / (f/2)).
    p, q: of the instantaneous response, rounded to multiples of 2^-32.
    epsilon: of one report, h ln(q*(1 - p*) / (p*(1 - q*))).
    response: the permanent response to a bit.

    Raises:
        ParameterError: a parameter is out of its range, or no multiple of 2^-32 is an f for the epsilon.
    """

    kind: ClassVar[str] = "bloom"
    example: ClassVar[str] = "size=4,hashes=2,lifetime=4,p=0.25,q=0.75"

    size: int
    hashes: int
    lifetime: float
    p: float = 0.0
    q: float = 1.0
    epsilon: float = field(init=False)
    response: DirectResponse = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= self.hashes <= MAX_HASHES:
            raise ParameterError(f"a Bloom filter has 1 to {MAX_HASHES} hashes here, got {self.hashes}")
        if not 2 * self.hashes <= self.size <= 64:
            raise ParameterError(
                f"a Bloom filter of {self.hashes} hashes has {2 * self.hashes} to 64 bits here, got size={self.size}"
            )
        if not 0.0 <= self.p < self.q <= 1.0:
            raise ParameterError(f"the second noise needs 0 <= p < q <= 1, got p={self.p} and q={self.q}")
        object.__setattr__(self, "response", DirectResponse(size=2, epsilon=self.lifetime / (2 * self.hashes)))
        object.__setattr__(self, "lifetime", 2 * self.hashes * self.response.epsilon)
        object.__setattr__(self, "epsilon", self.loss(reports=1))

    def loss(self, *, reports: float) -> float:
        """Return the loss of so many reports of one permanent response, in nats; see `BloomCost.loss`."""
        return self.lifetime if self._is_permanent else self._shown.loss(reports=reports)

    @property
    def charged_by_report(self) -> bool:
        """See `Randomizer.charged_by_report`: where there is an instantaneous response."""
        return not self._is_permanent

    @property
    def cost(self) -> AnswerCost | BloomCost:
        return AnswerCost(epsilon=self.lifetime) if self._is_permanent else self._shown

    @property
    def _shown(self) -> BloomCost:
        return BloomCost(hashes=self.hashes, permanent=self.response.kept, p=threshold(self.p), q=threshold(self.q))

    @property
    def memoised(self) -> Self:
        """See `Randomizer.memoised`: without the instantaneous response."""
        return self if self._is_permanent else replace(self, p=0.0, q=1.0)

    @property
    def _is_permanent(self) -> bool:
        """Whether every report is the permanent response."""
        return (self.p, self.q) == (0.0, 1.0)

    @property
    def title(self) -> str:
        """Name of the randomizer in plans."""
        return f"rappor of {self.hashes} {'hash' if self.hashes == 1 else 'hashes'}"

    @property
    def parameters(self) -> list[int]:
        """m, h, and the chances to keep a bit and to send a permanent 0 and 1 as 1."""
        return [self.size, self.hashes, self.response.kept, threshold(self.p), threshold(self.q)]

    @property
    def inputs(self) -> int:
        """Number of sequences of buckets."""
        return int(self.size**self.hashes)

    @property
    def furthest(self) -> tuple[int, int]:
        """See `Randomizer.furthest`: two filters of different buckets, which have none in common."""
        one, other = (
            sum((first + place) * self.size**place for place in range(self.hashes)) for first in (0, self.hashes)
        )
        return one, other

    @property
    def support(self) -> tuple[float, float]:
        """q* and p*, the probabilities that a bit is sent as 1 which is in the filter, and which is not."""
        return float(self.chance(1)), float(self.chance(0))

    @property
    def blanket(self) -> Blanket | None:
        """See `Randomizer.blanket`: the bits of an empty filter; of several hashes, none is known."""
        own, any_value = self.support
        return None if self.hashes > 1 else Blanket.of_support(own=own, any_value=any_value, both=any_value**2)

    def chance(self, bit: int) -> Fraction:
        """Return the probability that a bit of the filter is sent as 1."""
        kept = Fraction(self.response.kept, RESOLUTION)
        one = kept if bit else 1 - kept
        q, p = (Fraction(threshold(each), RESOLUTION) for each in (self.q, self.p))
        return one * q + (1 - one) * p

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        """See `Randomizer.perturb`; values are numbers whose digits in base m are buckets."""
        bits = self._filters(checked_values(values, choices=self.inputs))
        bits ^= ~entropy.responses(bits, zero=self.response.kept, one=self.response.kept)
        return self.instantaneous(np.packbits(bits, axis=1, bitorder="little"), entropy=entropy)

    def instantaneous(self, rows: NDArray[np.uint8], *, entropy: Entropy) -> NDArray[np.uint8]:
        """See `Randomizer.instantaneous`: each bit once more."""
        if self._is_permanent:
            return rows
        bits = np.unpackbits(rows, axis=1, count=self.size, bitorder="little").astype(np.bool_)
        sent = entropy.responses(bits, zero=threshold(self.p), one=threshold(self.q))
        return np.packbits(sent, axis=1, bitorder="little")

    def set_bits(self) -> tuple[float, float, float]:
        """See `Randomizer.set_bits`: of h hashes, one bucket to h different ones are in the filter."""
        (p, q), m, h = self.support, self.size, self.hashes
        one, other = p * (1 - p), q * (1 - q)
        return m * q + (p - q), m * q + h * (p - q), max(one + (m - 1) * other, h * one + (m - h) * other)

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """See `Randomizer.valid`: all filters are possible."""
        return unused_clear(rows, self.bits)

    def stated(self) -> OutputDistribution:
        """See `Randomizer.stated`: the bits are independent."""
        chances, filters = [self.chance(0), self.chance(1)], self._filters(np.arange(self.inputs)).astype(int)
        return independent_bits([[chances[bit] for bit in row] for row in filters.tolist()])

    def small(self) -> Self:
        """See `Randomizer.small`: just enough bits for two filters without a common one."""
        return replace(self, size=2 * self.hashes)

    def _filters(self, values: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return the filters of inputs, bool, shape (n, size)."""
        found = np.zeros((len(values), self.size), dtype=np.bool_)
        left = values.astype(np.int64)
        for _ in range(self.hashes):
            left, bucket = np.divmod(left, self.size)
            found[np.arange(len(values)), bucket] = True
        return found


class RapporSpec(EpsilonSpec):
    """The questions by basic RAPPOR or, with hashes, by RAPPOR with Bloom filters in cohorts.

    epsilon: privacy loss, in nats, that all reports of an answer may cost in a lifetime.
    cohorts: number of cohorts of an attribute whose values are hashed.
    hashes: number of hashes of a value in a Bloom filter.
    p, q: with hashes, the second noise of each report.
    """

    oracle: Literal["rappor"]
    cohorts: Cohorts = None
    hashes: int | None = Field(default=None, ge=1, le=MAX_HASHES)
    p: float | None = Field(default=None, ge=0, le=1)
    q: float | None = Field(default=None, ge=0, le=1)

    @model_validator(mode="after")
    def _noise_is_whole(self) -> Self:
        if (self.p is None) != (self.q is None) or (self.p is not None and self.hashes is None):
            raise ParameterError("the second noise of rappor takes `hashes`, and both `p` and `q`")
        return self

    def value_randomizer(self, size: int, *, of: str) -> UnaryResponse | None:  # noqa: ARG002
        return UnaryResponse(size=size, epsilon=self.epsilon) if self.hashes is None else None

    @property
    def hashing(self) -> Hashing:
        if self.hashes is None:
            return Hashing(oracle=cohort_oracle("o-rr", epsilon=self.epsilon), cohorts=self.cohorts)
        p, q = (0.0, 1.0) if self.p is None or self.q is None else (self.p, self.q)
        oracle = BloomResponse(size=BUCKET_BITS, hashes=self.hashes, lifetime=self.epsilon, p=p, q=q)
        return Hashing(oracle=oracle, hashes=self.hashes, cohorts=self.cohorts)
