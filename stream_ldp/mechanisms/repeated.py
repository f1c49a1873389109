"""Repeated direct response: a value is perturbed once, permanently, and what came of it again in every report."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, model_validator

from stream_ldp.collection import Part, one_of
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.direct import DirectResponse, epsilon_of_distortion, kept_or_other
from stream_ldp.mechanisms.frequency_oracle import FrequencyOracle
from stream_ldp.mechanisms.odds import kept_inside, loss_of, would_do
from stream_ldp.mechanisms.oracle_spec import Epsilon, OracleSpec, require_less_per_report
from stream_ldp.mechanisms.packing import pack, unpack
from stream_ldp.mechanisms.privacy_loss import PRECISION, likelihood_ratio, round_up
from stream_ldp.mechanisms.randomizer import OutputDistribution, no_outputs
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy


def repeated_loss(permanent: int, fresh: int, *, size: int = 2, reports: float) -> float:
    """Return the loss of so many reports that show one permanent response through fresh noise, in nats; rounded up.

    Let p = permanent / 2^32, q = (1 - p) / (k - 1) and x = (((2^32 - fresh) / fresh) / (k - 1))^reports. It is ln[(p
    + (k - 1) q x) / (q + (p + (k - 2) q) x)]: the likelihood ratio is largest where all reports say the same (for one
    report of two values, Arcolezi et al., 2023, theorem 3.5). It grows with the number of reports towards ln(p / q).
    For two values it is concave in it; for more, the second report may lose more than the first.

    permanent, fresh: chances to keep the value, in units of 2^-32, each above 1 / k.
    size: k, number of values.
    reports: at least 0; math.inf for all.
    """
    with localcontext(PRECISION):
        p, others = Decimal(permanent) / RESOLUTION, size - 1
        q = (1 - p) / others
        x = Decimal(0) if reports == math.inf else (Decimal(RESOLUTION - fresh) / (fresh * others)) ** int(reports)
        return round_up(((p + others * q * x) / (q + (p + (others - 1) * q) * x)).ln())


def fresh_chance(kept: int, *, size: int, epsilon: float) -> int:
    """Return the largest chance to repeat a permanent response with which one report costs at most epsilon.

    kept: P(a permanent response is the value), in units of 2^-32; its lifetime cost is more than epsilon.
    size: number of values.
    epsilon: in nats.

    Returns:
        The chance in units of 2^-32.

    Raises:
        ParameterError: no multiple of 2^-32 is such a chance.
    """
    others = size - 1
    with localcontext(PRECISION):
        p, odds = Decimal(kept) / RESOLUTION, likelihood_ratio(epsilon)
        q = (1 - p) / others
        # The largest a with p a + (1 - p) b <= e^epsilon (q a + (1 - q) b), b = (1 - a) / (k - 1).
        beside = odds * (1 - q) - (1 - p)
        fresh = int(RESOLUTION * beside / (beside + others * (p - odds * q)))
    if fresh * size <= RESOLUTION:
        lowest, highest = (
            repeated_loss(kept, each, size=size, reports=1) for each in (RESOLUTION // size + 1, RESOLUTION - 1)
        )
        raise ParameterError(
            f"epsilon={epsilon} is beyond the resolution of 2^-32 with {size} values: {would_do(lowest, highest)}"
        )
    return fresh


class ShownThroughNoise(Part, ABC):
    """The privacy loss of reports that show permanent responses through fresh noise, as a ledger keeps it.

    It is stored as probabilities in units of 2^-32, and the mechanism is not asked again: another release may round
    them otherwise, which must not change what was spent.
    """

    @abstractmethod
    def loss(self, *, reports: float) -> float:
        """Return the loss of so many reports that show one response, in nats; see `repeated_loss`."""

    def responses_loss(self, *, responses: int, reports: float) -> float:
        return round_up(responses * Fraction(self.loss(reports=reports)))

    @property
    def is_concave(self) -> bool:
        return self.loss(reports=2) <= 2 * self.loss(reports=1)


class RepeatedCost(ShownThroughNoise):
    """The privacy loss of reports that show a permanent value of a list through fresh noise.

    size: number of values.
    permanent, fresh: chances that the permanent and the fresh response keep the value.
    """

    kind: Literal["repeated"] = "repeated"
    size: int = Field(ge=2)
    permanent: int = Field(gt=0, lt=RESOLUTION)
    fresh: int = Field(gt=0, lt=RESOLUTION)

    def loss(self, *, reports: float) -> float:
        """Return the loss of so many reports that show one value, in nats; see `repeated_loss`."""
        return repeated_loss(self.permanent, self.fresh, size=self.size, reports=reports)


@dataclass(frozen=True, kw_only=True, slots=True)
class RepeatedResponse(DirectResponse):
    """A direct response to a direct response. The first is drawn once for each value of a user.

    One report is a direct response as well, with the loss `epsilon`; any number of them that show the same permanent
    response lose at most `lifetime` (the longitudinal k-RR; Arcolezi et al., 2021). The memoisation is RAPPOR's
    (Erlingsson, Pihur and Korolova, 2014).

    size: number of values.
    epsilon: in nats, of one report. The argument is an upper bound; the field is the realised loss, lower by the
        rounding of both probabilities.
    lifetime: in nats, of all reports; as `epsilon`.
    kept: P(a permanent response is the value) in units of 2^-32.
    fresh: P(a report is the permanent response) in units of 2^-32.

    Raises:
        ParameterError: there are dummies, one report is to cost as much as all, or no multiples of 2^-32 are such
            probabilities.
    """

    kind: ClassVar[str] = "repeated"
    example: ClassVar[str] = "size=4,epsilon=1,lifetime=2"
    charged_by_report: ClassVar[bool] = True
    title: ClassVar[str] = "direct, anew for each report"

    lifetime: float
    fresh: int = field(init=False)

    def __post_init__(self) -> None:
        if self.size < 2 or self.dummies:
            raise ParameterError(f"a repeated response is for two values or more, without dummies, got {self.size}")
        if not 0 < self.epsilon < math.inf:
            raise ParameterError(f"epsilon must be positive and finite, got {self.epsilon}")
        if not self.epsilon < self.lifetime:
            raise ParameterError(
                f"one report may cost less than all: epsilon={self.epsilon} is not below lifetime={self.lifetime}"
            )
        others = self.size - 1
        kept = kept_inside(self.lifetime, outside=others)
        fresh = fresh_chance(kept, size=self.size, epsilon=self.epsilon)
        object.__setattr__(self, "kept", kept)
        object.__setattr__(self, "fresh", fresh)
        object.__setattr__(self, "lifetime", loss_of(kept, outside=others))
        object.__setattr__(self, "epsilon", self.loss(reports=1))

    def loss(self, *, reports: float) -> float:
        """Return the loss of so many reports that show one permanent response, see `repeated_loss`."""
        return repeated_loss(self.kept, self.fresh, size=self.size, reports=reports)

    @classmethod
    def for_value(cls, size: int, *, epsilon: float) -> Iterable[Self]:  # noqa: ARG003
        """See `FrequencyOracle.for_value`: no oracle, since one report has more noise than it costs."""
        return []

    @classmethod
    def for_set(cls, size: int, *, padding: int, epsilon: float) -> Iterable[Self]:  # noqa: ARG003
        """See `FrequencyOracle.for_set`: no oracle, as in `for_value`."""
        return []

    @property
    def parameters(self) -> list[int]:
        """The number of values, and the chances of both responses to keep theirs."""
        return [self.size, self.kept, self.fresh]

    @property
    def support(self) -> tuple[float, float]:
        """See `FrequencyOracle.support`: a report supports the value that it names."""
        return float(self.probability(0, 0)), float(self.probability(0, 1))

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        """See `FrequencyOracle.perturb`: both responses are drawn, for a user who reports once."""
        return self.instantaneous(self.memoised.perturb(values, entropy=entropy), entropy=entropy)

    @property
    def cost(self) -> RepeatedCost:
        return RepeatedCost(size=self.size, permanent=self.kept, fresh=self.fresh)

    @property
    def memoised(self) -> DirectResponse:
        """See `Randomizer.memoised`: the first of both responses."""
        return DirectResponse(size=self.size, epsilon=self.lifetime)

    def instantaneous(self, rows: NDArray[np.uint8], *, entropy: Entropy) -> NDArray[np.uint8]:
        (named,) = unpack(rows, [self.bits])
        sent = kept_or_other(named, choices=self.size, kept=self.fresh, entropy=entropy)
        return pack([sent], [self.bits])

    def probability(self, value: int, named: int) -> Fraction:
        """Return P(`named` is sent | `value`)."""
        p, a = Fraction(self.kept, RESOLUTION), Fraction(self.fresh, RESOLUTION)
        b = (1 - a) / (self.size - 1)
        own = p * a + (1 - p) * b
        return own if named == value else (1 - own) / (self.size - 1)

    def stated(self) -> OutputDistribution:
        outputs = no_outputs(self.size, self.bits)
        for value in range(self.size):
            outputs[value, : self.size] = [self.probability(value, named) for named in range(self.size)]
        return outputs

    def small(self) -> Self:
        """See `FrequencyOracle.small`: half as many values."""
        return replace(self, size=max(2, -(-self.size // 2)))

    def resized(self, size: int, *, padding: int, epsilon: float) -> Self:  # noqa: ARG002
        return replace(self, size=size)


class DirectKeys(OracleSpec):
    """The questions by k-RR, or by what is better where the file asks for nothing that only k-RR has.

    epsilon: privacy loss, in nats, that an answer may cost, for any two users.
    per_report: nats that one report may cost, where `epsilon` is for the lifetime: answers are
        remembered, and perturbed again for each report. Without it, every report repeats the answer itself.
    distortion: in place of epsilon, the probability that another value is sent.
    """

    model_config = ConfigDict(json_schema_extra=one_of("epsilon", "distortion"))

    epsilon: Epsilon | None = None
    per_report: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    distortion: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="probability that another value is sent, for epsilon"
    )

    @model_validator(mode="after")
    def _epsilon_is_given_once(self) -> Self:
        if (self.epsilon is None) == (self.distortion is None):
            raise ParameterError("give either `epsilon`, or `distortion` for k-rr")
        if self.per_report is not None and self.epsilon is None:
            raise ParameterError("`per_report` needs a lifetime `epsilon` and oracle k-rr")
        if self.per_report is not None and self.epsilon is not None:
            require_less_per_report(self.per_report, epsilon=self.epsilon)
        return self

    @property
    def given_epsilon(self) -> float:
        if self.epsilon is None:
            raise ParameterError("`distortion` and `table` are for values; numbers and candidates need `epsilon`")
        return self.epsilon

    def require_askable(self, *, numbers: bool, texts: bool) -> None:
        if self.per_report is not None and (numbers or texts):
            raise ParameterError("`per_report` is for values in a list; leave it out for numbers and candidates")

    def value_randomizer(self, size: int, *, of: str) -> FrequencyOracle:  # noqa: ARG002
        if self.distortion is not None:
            return DirectResponse(size=size, epsilon=epsilon_of_distortion(self.distortion, size))
        if self.per_report is None:
            return self.for_epsilon(size)
        DirectResponse(size=size, epsilon=self.given_epsilon)
        return RepeatedResponse(size=size, epsilon=self.per_report, lifetime=self.given_epsilon)

    def for_epsilon(self, size: int) -> FrequencyOracle:
        """Return what perturbs one of `size` values where the file gives nothing but epsilon."""
        return DirectResponse(size=size, epsilon=self.given_epsilon)


class DirectSpec(DirectKeys):
    """The questions by k-RR; `w-rr` is that of two values."""

    oracle: Literal["k-rr", "w-rr"]

    def value_randomizer(self, size: int, *, of: str) -> FrequencyOracle:
        if self.oracle == "w-rr" and size != 2:
            raise ParameterError(f"w-rr is for two values, and there are {size}: take k-rr")
        return super().value_randomizer(size, of=of)
