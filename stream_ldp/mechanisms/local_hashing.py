"""Oracles of buckets: values are hashed before they are perturbed, by another hash in each cohort.

O-RR answers with a bucket by k-RR (Kairouz, Bonawitz and Ramage, 2016, section 4.1), O-RAPPOR with a one-hot code
whose bits are perturbed (section 4.3: RAPPOR with one hash and without its second noise; Erlingsson, Pihur and
Korolova, 2014), and LOLOHA by k-RR twice, once permanently and once for each report (Arcolezi, Pinzon, Palamidessi
and Gambs, 2023).
"""

import math
from typing import Literal, Self

from pydantic import Field, model_validator

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.direct import DirectResponse
from stream_ldp.mechanisms.frequency_oracle import FrequencyOracle
from stream_ldp.mechanisms.oracle_spec import Cohorts, EpsilonSpec, Hashing, require_less_per_report
from stream_ldp.mechanisms.repeated import RepeatedResponse
from stream_ldp.mechanisms.unary import UnaryResponse

#: Most buckets of k-RR, and those of a one-hot code, whose error does not depend on their number.
MAX_BUCKETS = 256
BUCKET_BITS = 32


def cohort_oracle(name: str, *, epsilon: float) -> FrequencyOracle:
    """Return the oracle of the bucket of a cohort by one hash.

    O-RR has about e^epsilon + 1 buckets, as optimised local hashing (Wang, Blocki, Li and Jha, 2017, section 4.4).

    Raises:
        ParameterError: the epsilon is beyond the resolution of probabilities.
    """
    if name == "o-rappor":
        return UnaryResponse(size=BUCKET_BITS, epsilon=epsilon)
    buckets = min(max(2, round(math.exp(min(epsilon, math.log(MAX_BUCKETS))) + 1)), MAX_BUCKETS)
    return DirectResponse(size=buckets, epsilon=epsilon)


def loloha_oracle(*, epsilon: float, per_report: float, buckets: int | None) -> RepeatedResponse:
    """Return LOLOHA's response to the bucket of a cohort.

    epsilon: lifetime bound of all reports of one bucket, in nats.
    per_report: of one report, in nats, which is less.
    buckets: g; None for the minimum-variance number, by q (1 - q) / (p - q)^2 of a rare value, with q = 1 / g and p
        the probability that a report names the bucket (Arcolezi et al., 2023, equation 5). Their fresh noise is that
        of two buckets for any g; here it is as little as `per_report` allows.

    Raises:
        ParameterError: one report may cost as much as all, or an epsilon is beyond the resolution of probabilities.
    """
    if buckets is not None:
        return RepeatedResponse(size=buckets, epsilon=per_report, lifetime=epsilon)
    best = loloha_oracle(epsilon=epsilon, per_report=per_report, buckets=2)
    while best.size < MAX_BUCKETS:
        larger = loloha_oracle(epsilon=epsilon, per_report=per_report, buckets=best.size + 1)
        if _rare_variance(larger) >= _rare_variance(best):
            break
        best = larger
    return best


def _rare_variance(oracle: RepeatedResponse) -> float:
    p, q = oracle.support[0], 1 / oracle.size
    return q * (1 - q) / (p - q) ** 2


class HashingSpec(EpsilonSpec):
    """The questions about buckets of hashed values, in cohorts.

    epsilon: privacy loss, in nats, that an answer may cost, for any two users.
    cohorts: number of cohorts of an attribute.
    """

    oracle: Literal["o-rr", "o-rappor"]
    cohorts: Cohorts = None

    @property
    def hashing(self) -> Hashing:
        return Hashing(oracle=cohort_oracle(self.oracle, epsilon=self.epsilon), cohorts=self.cohorts)


class RepeatedHashingSpec(EpsilonSpec):
    """The questions about buckets of hashed values, for values that change: LOLOHA (Arcolezi et al., 2023).

    A user has one permanent hash, that of the cohort. The bucket is perturbed by k-RR once, permanently,
    and the result again for each report. A value that changes costs nothing more while it stays in buckets that were
    reported, and all values of a user cost at most `buckets` times epsilon.

    epsilon: privacy loss, in nats, that all reports of one bucket may cost in a lifetime.
    per_report: nats that one report may cost, which is less.
    buckets: g; where the file does not say, as many as have the least variance.
    cohorts: number of cohorts of an attribute.
    """

    oracle: Literal["loloha"]
    per_report: float = Field(
        gt=0,
        allow_inf_nan=False,
        description="nats that one report may cost, less than `epsilon`",
    )
    buckets: int | None = Field(default=None, ge=2, le=MAX_BUCKETS)
    cohorts: Cohorts = None

    @model_validator(mode="after")
    def _one_report_costs_less(self) -> Self:
        require_less_per_report(self.per_report, epsilon=self.epsilon)
        return self

    @property
    def hashing(self) -> Hashing:
        oracle = loloha_oracle(epsilon=self.epsilon, per_report=self.per_report, buckets=self.buckets)
        return Hashing(oracle=oracle, cohorts=self.cohorts)

    def require_askable(self, *, numbers: bool, texts: bool) -> None:  # noqa: ARG002
        if numbers:
            raise ParameterError("loloha hashes values: give numbers `bins` in place of a `range`")
