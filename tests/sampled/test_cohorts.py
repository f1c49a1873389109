"""Cohorts: fixed hashes, candidates that are told apart, and frequencies that are unbiased with true errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import DirectResponse, SeededEntropy, UnaryResponse, random_words
from stream_ldp.mechanisms.hashing import bucket_of
from stream_ldp.sampled.attributes import SampledAttribute
from stream_ldp.sampled.cohorts import (
    COHORT_ORACLES,
    BucketQuestion,
    cohort_oracle,
    covariance,
    equations,
    require_told_apart,
)
from stream_ldp.sampled.estimates import estimate_frequencies, gathered
from stream_ldp.sampled.questions import QuestionSet
from stream_ldp.sampled.spec import SampledSpec

SITES = SampledAttribute(name="site", candidates=("a.example", "b.example", "c.example", "d.example"))
SHARES = {"a.example": 0.4, "b.example": 0.2, "c.example": 0.1}


def questions_of(oracle: str, epsilon: float = 2.0, attribute: SampledAttribute = SITES) -> QuestionSet:
    spec = SampledSpec.model_validate({"kind": "sampled", "epsilon": epsilon, "oracle": oracle, "cohorts": 16})
    return spec.questions([attribute])


def people(count: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """Three candidates, nobody with the fourth, and 30 % of the users with texts of their own."""
    table = np.empty(count, dtype=[("0", "O")])
    rng = np.random.default_rng(seed)
    named = rng.choice([*SHARES, ""], count, p=[*SHARES.values(), 0.3])
    table["0"] = [text or f"site-{number}.example" for number, text in enumerate(named)]
    return table


def test_a_bucket_is_the_documented_digest() -> None:
    """Computed by b2sum -l 64 of the bytes, read as a little-endian number."""
    assert [bucket_of("a.example", cohort=cohort, buckets=2**32) for cohort in (0, 1)] == [1794991448, 2645255862]
    assert bucket_of("Zürich", cohort=7, buckets=10) == 0


@pytest.mark.parametrize("oracle", COHORT_ORACLES)
def test_frequencies_of_candidates_are_unbiased_and_their_standard_errors_true(oracle: str) -> None:
    """Of 300 repeats, a right mean is 5 standard errors off for 1 seed in 10^5, a right deviation 20 % for one."""
    questions = questions_of(oracle)
    raw, errors, others = [], [], []
    for repeat in range(300):
        entropy = SeededEntropy(repeat)
        numbers = questions.numbers(random_words(2_000, entropy=entropy))
        sums = questions.sums(questions.perturb(numbers, people(2_000, repeat), entropy=entropy))
        found = estimate_frequencies(gathered(questions, [(1.0, sums)], of=0))
        raw.append(found.raw)
        errors.append(found.standard_error)
        assert found.others is not None
        others.append(found.others)
        assert found.projected.sum() + found.others == pytest.approx(1)
    deviation = np.std(raw, axis=0)
    # The texts of other users fall into buckets unevenly, as their hashes happen to: 600 of them in 16 cohorts.
    bias = np.abs(np.mean(raw, axis=0) - [*SHARES.values(), 0.0])
    assert np.all(bias < 5 * deviation / math.sqrt(300) + 0.003)
    assert np.mean(errors, axis=0) == pytest.approx(deviation, rel=0.2)
    assert np.mean(others) == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize(
    "oracle", [DirectResponse(size=4, epsilon=1.0), UnaryResponse(size=4, epsilon=1.0)], ids=repr
)
def test_the_covariance_of_buckets_is_that_of_all_outputs(oracle: DirectResponse | UnaryResponse) -> None:
    """Exact: over every report of every bucket."""
    shares = np.array([0.5, 0.3, 0.2, 0.0])
    outputs = shares @ oracle.stated()[:4].astype(np.float64)
    reports = np.arange(len(outputs), dtype=np.uint8)[:, None]
    p, q = oracle.support
    estimates = (oracle.supported(reports, np.arange(4)) - q) / (p - q)
    mean = outputs @ estimates
    assert mean == pytest.approx(shares)
    expected = (estimates - mean).T @ ((estimates - mean) * outputs[:, None])
    assert covariance(shares, oracle, reports=1.0) == pytest.approx(expected)


def test_equations_have_a_one_for_the_bucket_of_each_candidate_and_share_the_others_evenly() -> None:
    questions = [each for each in questions_of("o-rr").questions if isinstance(each, BucketQuestion)]
    design = equations(questions, SITES.labels, others=True)
    assert design.shape == (16, questions[0].randomizer.size, 5)
    assert np.array_equal(design.sum(axis=1), np.ones((16, 5)))
    assert design[3, bucket_of("b.example", cohort=3, buckets=questions[0].randomizer.size), 1] == 1


def test_candidates_that_cannot_be_told_apart_are_refused() -> None:
    many = SampledAttribute(name="site", candidates=tuple(f"site-{number}" for number in range(200)))
    with pytest.raises(
        ParameterError, match="200 candidates cannot be told apart by 16 cohorts of 8 buckets, at most"
    ):
        questions_of("o-rr", attribute=many)
    questions = [
        BucketQuestion(
            of=(0,), attributes=(SITES,), randomizer=DirectResponse(size=2, epsilon=1.0), weight=1, cohort=0
        )
    ]
    with pytest.raises(ParameterError, match="cannot be told apart by 1 cohorts of 2 buckets"):
        require_told_apart(questions, ("a", "b", "c"), others=False)


def test_k_rr_has_about_as_many_buckets_as_optimised_local_hashing() -> None:
    assert [cohort_oracle("o-rr", epsilon=epsilon).size for epsilon in (0.1, 1.0, 2.0, 4.0, 12.0)] == [
        2,
        4,
        8,
        56,
        256,
    ]
    assert isinstance(cohort_oracle("o-rappor", epsilon=1.0), UnaryResponse)


def test_questions_about_values_in_a_list_hash_the_values_and_not_their_numbers() -> None:
    listed = SampledAttribute(name="site", values=SITES.labels)
    texts, numbers = np.empty(4, dtype=[("0", "O")]), np.empty(4, dtype=[("0", "<i8")])
    texts["0"], numbers["0"] = SITES.labels, range(4)
    for one, other in zip(
        questions_of("o-rr").questions, questions_of("o-rr", attribute=listed).questions, strict=True
    ):
        entropy = SeededEntropy(1)
        assert np.array_equal(one.inputs(texts, entropy=entropy), other.inputs(numbers, entropy=entropy))
