"""Cohorts: values are hashed before they are perturbed, by another hash in each cohort, so that clients need no list.

A cohort is a question: it is drawn whatever the data are, and a report says in the clear which one it is of. What is
answered is the bucket of the user's value, by k-RR (O-RR; Kairouz, Bonawitz and Ramage, 2016, section 4.1) or as a
one-hot code whose bits are perturbed (O-RAPPOR, section 4.3: RAPPOR with one hash and without its second noise;
Erlingsson, Pihur and Korolova, 2014), or by k-RR twice, once permanently and once for each report (LOLOHA; Arcolezi,
Pinzon, Palamidessi and Gambs, 2023). The server hashes candidates, and solves for their frequencies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.marginals.candidates import (
    BucketOracle,
    are_told_apart,
    cohort_leverage,
    equations,
    estimated_shares,
    solve_candidates,
    solve_cohorts,
)
from stream_ldp.marginals.estimates import FrequencyEstimate
from stream_ldp.marginals.projection import likely_distribution
from stream_ldp.marginals.question import AttributeQuestion
from stream_ldp.mechanisms import (
    BloomResponse,
    DirectResponse,
    FrequencyOracle,
    RepeatedResponse,
    UnaryResponse,
)
from stream_ldp.mechanisms.hashing import bucket_of
from stream_ldp.mechanisms.simplex import on_simplex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.questions.answers import Answers
    from stream_ldp.questions.questions import Table

#: The oracles of buckets, by the name in a collection file.
COHORT_ORACLES = ("o-rr", "o-rappor")

#: Cohorts of an attribute where the file does not say.
COHORTS = 64

#: Most buckets of k-RR, and those of a one-hot code, whose error does not depend on their number.
MAX_BUCKETS = 256
_BITS = 32


@dataclass(frozen=True, kw_only=True)
class BucketQuestion(AttributeQuestion):
    """The question into which bucket of a cohort the user's value falls.

    randomizer: perturbs the bucket, or the buckets of several hashes.
    cohort: its number, from 0.
    hashes: number of hashes of a value: one, but for a Bloom filter.
    """

    randomizer: BucketOracle
    cohort: int
    hashes: int = 1

    def inputs(self, table: Table, *, entropy: Entropy) -> NDArray[np.int64]:  # noqa: ARG002
        """See `Question.inputs`: the buckets of the values."""
        return self._buckets(table)

    def held(self, table: Table) -> list[bytes]:
        """See `Question.held`: the buckets, so that a user whose value changes within one repeats the answer."""
        return [bucket.tobytes() for bucket in self._buckets(table)]

    @property
    def permanent_answers(self) -> int:
        """See `Question.permanent_answers`: one for each bucket, or for each value of a shorter list."""
        buckets, values = self.randomizer.inputs, super().permanent_answers
        return buckets if values is None else min(buckets, values)

    def _buckets(self, table: Table) -> NDArray[np.int64]:
        column = table[str(self.of[0])]
        if column.dtype.kind == "i":
            held: NDArray[np.int64] = self._inputs_of_labels[column]
            return held
        return np.array([self._input_of(value) for value in column], dtype=np.int64)

    def buckets_of(self, value: str) -> list[int]:
        """Return the bucket of a value by each hash; hash i of h in cohort c is that of cohort number h c + i."""
        return [
            bucket_of(value, cohort=self.cohort * self.hashes + number, buckets=self.randomizer.size)
            for number in range(self.hashes)
        ]

    @property
    def title(self) -> str:
        """See `Question.title`: the same for all cohorts."""
        return f"{self.randomizer.title} of {self.randomizer.size} buckets in cohorts"

    @property
    def estimated(self) -> str:
        return "frequencies"

    def estimate(self, answers: Sequence[Answers[Any]], *, of: int) -> FrequencyEstimate:  # noqa: ARG002
        """See `AttributeQuestion.estimate`; a cohort that nobody has answered has no equations.

        If the cohorts that are left do not tell the candidates apart, those that do not stand out have no estimate,
        which may be all of them.
        """
        (attribute,) = self.attributes
        is_open = attribute.candidates is not None
        found = solve_candidates(
            equations([answer.question for answer in answers], attribute.labels, others=is_open),
            np.stack([estimated_shares(self.randomizer, each.sums, reports=each.reports) for each in answers]),
            self.randomizer,
            reports=np.array([each.reports for each in answers]),
            others=is_open,
        )
        projected = np.zeros(len(found.raw))
        if found.kept.all():
            projected = likely_distribution(found.raw, found.standard_error)
        elif found.kept.any():
            # Those that stand out do not say what all frequencies are like.
            projected[found.kept] = on_simplex(found.raw[found.kept])
        count = len(attribute.labels)
        return FrequencyEstimate(
            raw=found.raw[:count],
            standard_error=found.standard_error[:count],
            projected=projected[:count],
            others=float(projected[-1]) if is_open else None,
            kept=found.kept[:count],
        )

    def variance(self, about: Sequence[tuple[float, Any]]) -> float:
        """See `AttributeQuestion.variance`.

        Where there are more candidates than can be told apart, it is that of one which stands out alone.
        """
        is_open = self.attributes[0].candidates is not None
        design = self._design(about)
        uniform = np.full(design.shape[2], 1 / design.shape[2])
        _, errors = solve_cohorts(
            design, design @ uniform, self.randomizer, reports=np.full(len(design), 1 / len(design))
        )
        return float((errors[: len(errors) - is_open] ** 2).mean())

    def leverage(self, about: Sequence[tuple[float, Any]]) -> float:
        """See `AttributeQuestion.leverage`: by the least squares of cohorts of equally many users.

        Where there are more candidates than can be told apart, it is that of one which stands out alone.
        """
        return cohort_leverage(self._design(about), self.randomizer)

    def _design(self, about: Sequence[tuple[float, Any]]) -> NDArray[np.float64]:
        """Return the equations of all candidates, or of one alone where they are too many to be told apart."""
        (attribute,) = self.attributes
        design = equations([each for _, each in about], attribute.labels, others=attribute.candidates is not None)
        return design if are_told_apart(design) else design[:, :, [0, -1]]

    def expected_error(self, about: Sequence[tuple[float, Any]], column: NDArray[Any], *, of: int) -> float:  # noqa: ARG002
        labels = self.attributes[0].labels
        truth = np.bincount(column, minlength=len(labels)) / len(column)
        asked = sum(share for share, _ in about)
        design = equations([each for _, each in about], labels, others=False)
        reports = np.full(len(design), asked * len(column) / len(design))
        _, errors = solve_cohorts(design, design @ truth, self.randomizer, reports=reports)
        # Which users there are is given; only who of them is in which cohort is drawn.
        return float((errors**2 - truth * (1 - truth) / len(column)).mean())

    @property
    def meaning(self) -> list[Any]:
        """See `Question.meaning`; the cohort is part of it."""
        return [*super().meaning, self.cohort]

    @cached_property
    def _inputs_of_labels(self) -> NDArray[np.int64]:
        (attribute,) = self.attributes
        return np.array([self._input_of(value) for value in attribute.labels], dtype=np.int64)

    def _input_of(self, value: str) -> int:
        """Return the number whose digits are the buckets of a value."""
        return sum(bucket * self.randomizer.size**place for place, bucket in enumerate(self.buckets_of(value)))


def bloom_oracle(*, epsilon: float, hashes: int, noise: tuple[float, float] | None) -> BloomResponse:
    """Return RAPPOR's response to the Bloom filter of a cohort.

    epsilon: of all reports of a lifetime, in nats.
    noise: p and q of the second noise; None without one.

    Raises:
        ParameterError: a parameter is out of its range, or the epsilon beyond the resolution of probabilities.
    """
    p, q = noise or (0.0, 1.0)
    return BloomResponse(size=_BITS, hashes=hashes, lifetime=epsilon, p=p, q=q)


def cohort_oracle(name: str, *, epsilon: float) -> FrequencyOracle:
    """Return the oracle of the bucket of a cohort by one hash.

    O-RR has about e^epsilon + 1 buckets, as optimised local hashing (Wang, Blocki, Li and Jha, 2017, section 4.4).

    Raises:
        ParameterError: the epsilon is beyond the resolution of probabilities.
    """
    if name == "o-rappor":
        return UnaryResponse(size=_BITS, epsilon=epsilon)
    buckets = min(max(2, round(math.exp(min(epsilon, math.log(MAX_BUCKETS))) + 1)), MAX_BUCKETS)
    return DirectResponse(size=buckets, epsilon=epsilon)


def loloha_oracle(*, epsilon: float, per_report: float, buckets: int | None) -> RepeatedResponse:
    """Return LOLOHA's response to the bucket of a cohort.

    epsilon: of all reports of one bucket for ever, in nats.
    per_report: of one report, in nats, which is less.
    buckets: g; None for as many as have the least variance, q (1 - q) / (p - q)^2 of a rare value, with q = 1 / g and
        p the probability that a report names the bucket (Arcolezi et al., 2023, equation 5). Their fresh noise is
        that of two buckets for any g; here it is as little as `per_report` allows.

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
