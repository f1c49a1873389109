"""dBitFlip: a user reports, of a few values that are sampled once, whether each is the user's (Ding et al., 2017).

Ding, Kulkarni and Yekhanin (2017, "Collecting telemetry data privately", sections 3 and 4): each bit is perturbed
once for each answer and repeated (dBitFlipPM), so that a counter which moves among values that are not sampled shows
nothing. A number of a range is rounded to an end of it by a threshold that is drawn once (alpha-point rounding).
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from pydantic import Field

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.frequency_oracle import CohortOracle
from stream_ldp.mechanisms.oracle_spec import EpsilonSpec
from stream_ldp.mechanisms.unary import UnaryResponse

#: Most bits: a user whose value changes has one permanent answer more than these.
MAX_BITS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class BitFlipResponse(UnaryResponse, CohortOracle):
    """A unary response to the values of one cohort, and to none of them, whose code is all zeros.

    Cohort c of C has the values c, c + C, c + 2 C, and so on: neighbouring values, between which a counter moves, are
    in different ones. The answers to all values of the others are one, so a user has at most one answer more than
    bits.

    size: d, number of bits; one for each value of a cohort.
    epsilon: of an answer, in nats; see `UnaryResponse`.
    cohorts: C, their number.
    """

    kind: ClassVar[str] = "d-bit-flip"
    named: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = "size=2,epsilon=1,cohorts=3"
    title: ClassVar[str] = "d-bit-flip"

    cohorts: int

    @property
    def parameters(self) -> list[int]:
        """The number of bits, the chance to keep one, and the number of cohorts."""
        return [self.size, self.response.kept, self.cohorts]

    def input_of(self, value: int, *, cohort: int) -> int:
        """See `CohortOracle.input_of`: the number of the value's bit."""
        place, own = divmod(value, self.cohorts)
        return place if own == cohort else self.size

    def small(self) -> Self:
        """See `FrequencyOracle.small`: half as many bits."""
        return replace(self, size=max(1, self.size // 2))


class BitFlipSpec(EpsilonSpec):
    """The questions by dBitFlip, for counters that change.

    Each user reports of at most `bits` values whether each is the user's; which values is drawn once. All values that
    a user ever has cost at most (bits + 1) times epsilon, and a number of a range twice.

    epsilon: privacy loss, in nats, that all reports of one answer cost.
    bits: d; more of them have less error, and cost more where values change.
    """

    rounds_permanently: ClassVar[bool] = True

    oracle: Literal["d-bit-flip"]
    bits: int = Field(default=1, ge=1, le=MAX_BITS, description="values that each user reports about")

    def flipped(self, size: int) -> BitFlipResponse:
        bits = min(self.bits, size)
        return BitFlipResponse(size=bits, epsilon=self.epsilon, cohorts=-(-size // bits))

    def require_askable(self, *, numbers: bool, texts: bool) -> None:  # noqa: ARG002
        if texts:
            raise ParameterError("d-bit-flip is for values in a list, and for numbers: candidates have no bits")
