"""Cohorts: values are hashed before they are perturbed, by another hash in each cohort, so that clients need no list.

A cohort is a question: it is drawn whatever the data are, and a report says in the clear which one it is of. What is
answered is the bucket of the user's value. The server hashes candidates, and solves for their frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from stream_ldp.marginals.candidates import (
    are_identifiable,
    cohort_leverage,
    equations,
    solve_candidates,
    solve_cohorts,
)
from stream_ldp.marginals.estimates import FrequencyEstimate
from stream_ldp.marginals.question import AttributeQuestion
from stream_ldp.marginals.values import likely_distribution
from stream_ldp.mechanisms import BucketOracle, CohortOracle
from stream_ldp.mechanisms.hashing import bucket_of
from stream_ldp.mechanisms.simplex import on_simplex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.questions.answers import Answers
    from stream_ldp.questions.questions import Table

#: Cohorts of an attribute where the file does not say.
COHORTS = 64


@dataclass(frozen=True, kw_only=True)
class BucketQuestion(AttributeQuestion):
    """The question into which bucket of a cohort the user's value falls.

    randomizer: perturbs the bucket, or the buckets of several hashes.
    cohort: its number, from 0.
    hashes: number of hashes of a value: one, but for a Bloom filter.
    """

    shares_answers: ClassVar[bool] = True
    estimated: ClassVar[str] = "frequencies"

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

    def estimate(self, answers: Sequence[Answers[Any]], *, of: int) -> FrequencyEstimate:  # noqa: ARG002
        """See `AttributeQuestion.estimate`; a cohort that nobody has answered has no equations.

        If the cohorts that are left do not distinguish the candidates, those that do not stand out have no estimate,
        which may be all of them.
        """
        (attribute,) = self.attributes
        is_open = attribute.candidates is not None
        found = solve_candidates(
            equations([answer.question for answer in answers], attribute.labels, others=is_open),
            np.stack([self.randomizer.estimate(each.sums, reports=each.reports) for each in answers]),
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

        Where there are more candidates than can be distinguished, it is that of one which stands out alone.
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

        Where there are more candidates than can be distinguished, it is that of one which stands out alone.
        """
        return cohort_leverage(self._design(about), self.randomizer)

    def _design(self, about: Sequence[tuple[float, Any]]) -> NDArray[np.float64]:
        """Return the equations of all candidates, or of one alone where they are too many to be distinguished."""
        (attribute,) = self.attributes
        design = equations([each for _, each in about], attribute.labels, others=attribute.candidates is not None)
        return design if are_identifiable(design) else design[:, :, [0, -1]]

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


@dataclass(frozen=True, kw_only=True)
class BitFlipQuestion(BucketQuestion):
    """The question which of the values of a cohort the user has, if any.

    randomizer: perturbs a bit for each of these values.
    """

    randomizer: CohortOracle

    @property
    def title(self) -> str:
        """See `Question.title`: the same for all cohorts."""
        return f"{self.randomizer.title} of {self.randomizer.size} values in cohorts"

    def buckets_of(self, value: str) -> list[int]:
        """Return the bit of a value, if the cohort has one."""
        own = self._input_of(value)
        return [own] if own < self.randomizer.size else []

    def _input_of(self, value: str) -> int:
        (attribute,) = self.attributes
        return self.randomizer.input_of(attribute.labels.index(value), cohort=self.cohort)
