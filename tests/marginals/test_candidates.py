"""Candidates: equations, frequencies that are unbiased with true errors, and those that cannot be distinguished."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.errors import ParameterError
from stream_ldp.marginals.answer import Frequencies
from stream_ldp.marginals.candidates import (
    are_identifiable,
    covariance,
    equations,
    require_distinguishable,
    require_identifiable,
)
from stream_ldp.marginals.cohorts import BucketQuestion
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.marginals.question import AttributeQuestion
from stream_ldp.mechanisms import BloomResponse, DirectResponse, SeededEntropy, UnaryResponse, random_words
from stream_ldp.mechanisms.hashing import bucket_of
from stream_ldp.questions.answers import gathered
from stream_ldp.questions.attributes import AskedAttribute
from stream_ldp.questions.questions import QuestionSet
from tests.marginals.examples import estimated, rows_of, spec_of
from tests.marginals.test_cohorts import SHARES, SITES, questions_of
from tests.questions.examples import solved, sums_of


def people(count: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """Three candidates, nobody with the fourth, and 30 % of the users with texts of their own."""
    table = np.empty(count, dtype=[("0", "O")])
    rng = np.random.default_rng(seed)
    named = rng.choice([*SHARES, ""], count, p=[*SHARES.values(), 0.3])
    table["0"] = [text or f"site-{number}.example" for number, text in enumerate(named)]
    return table


def repeated(questions: QuestionSet[AttributeQuestion], *, uneven: float) -> list[Any]:
    """Return the estimates of 80 windows of 2,000 users, which are unbiased and whose errors are true.

    A right mean is 5 standard errors off for 1 seed in 10^5, a right deviation 35 % for one.

    uneven: most by which the texts of other users fall into buckets unevenly, as their hashes happen to: 600 of them
        in 16 cohorts.
    """
    found = []
    for repeat in range(80):
        entropy = SeededEntropy(repeat)
        numbers = questions.numbers(random_words(2_000, entropy=entropy))
        sums = questions.sums(questions.perturb(numbers, people(2_000, repeat), entropy=entropy))
        found.append(estimated(gathered(questions, [(1.0, sums)], of=0), of=0))
    raw = [each.raw for each in found]
    deviation = np.std(raw, axis=0)
    bias = np.abs(np.mean(raw, axis=0) - [*SHARES.values(), 0.0])
    assert np.all(bias < 5 * deviation / math.sqrt(80) + uneven)
    assert np.mean([each.standard_error for each in found], axis=0) == pytest.approx(deviation, rel=0.35)
    return found


# The bits of o-rappor are those of `rappor`, below.
@pytest.mark.parametrize("oracle", ["o-rr", pytest.param("o-rappor", marks=pytest.mark.long), "loloha"])
def test_frequencies_of_candidates_are_unbiased_and_their_standard_errors_true(oracle: str) -> None:
    found = repeated(questions_of(oracle), uneven=0.003)
    assert [each.projected.sum() + each.others for each in found] == pytest.approx([1.0] * len(found))
    assert np.mean([each.others for each in found]) == pytest.approx(0.3, abs=0.05)


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
    assert covariance(np.diag(shares), oracle, reports=1.0) == pytest.approx(expected)


def test_equations_have_a_one_for_the_bucket_of_each_candidate_and_share_the_others_evenly() -> None:
    questions = [each for each in questions_of("o-rr").questions if isinstance(each, BucketQuestion)]
    design = equations(questions, SITES.labels, others=True)
    assert design.shape == (16, questions[0].randomizer.size, 5)
    assert np.array_equal(design.sum(axis=1), np.ones((16, 5)))
    assert design[3, bucket_of("b.example", cohort=3, buckets=questions[0].randomizer.size), 1] == 1


MANY = """
collection: sites
mechanism: {kind: sampled, epsilon: 3, cohorts: 8}
attributes:
  - {name: site, candidates: [CANDIDATES]}
window: {size: 10s, returning: 0.5}
"""


def many(count: int) -> SampledCollection:
    return SampledCollection.parse(MANY.replace("CANDIDATES", ", ".join(f"site-{each}" for each in range(count))))


def test_of_more_candidates_than_can_be_distinguished_those_that_stand_out_are_estimated() -> None:
    """Seeded; 500 candidates and 160 equations. One that nobody has is told for one seed in 20."""
    collection = many(500)
    users = np.empty(40_000, dtype=[("0", "O")])
    drawn = np.random.default_rng(1).choice(4, len(users), p=[0.4, 0.25, 0.15, 0.2])
    users["0"] = [f"site-{100 * each}" if each < 3 else f"elsewhere-{row}" for row, each in enumerate(drawn.tolist())]
    marginals = solved(collection, (1.0, sums_of(collection, rows_of(collection, users))))
    found = marginals.of("site").estimate
    assert isinstance(found, Frequencies)
    assert found.values == ("site-0", "site-100", "site-200")
    assert len(found.dropped) == 497
    assert "site-1" in found.dropped
    for raw, error, share in zip(found.raw, found.standard_error, (0.4, 0.25, 0.15), strict=True):
        assert abs(raw - share) < 5 * error
    assert found.others is not None
    assert found.others == pytest.approx(0.2, abs=0.05)
    assert sum(found.projected) + found.others == pytest.approx(1)


def test_of_candidates_that_nobody_has_none_is_reported() -> None:
    collection = many(500)
    users = np.empty(4_000, dtype=[("0", "O")])
    users["0"] = [f"elsewhere-{row}" for row in range(len(users))]
    found = solved(collection, (1.0, sums_of(collection, rows_of(collection, users)))).of("site").estimate
    assert isinstance(found, Frequencies)
    assert found.values == ()
    assert found.learnt is None
    assert len(found.dropped) == 500
    assert found.others == pytest.approx(1)


def test_only_candidates_that_share_all_buckets_are_refused() -> None:
    questions = [each for each in questions_of("o-rr").questions if isinstance(each, BucketQuestion)]
    assert are_identifiable(equations(questions, SITES.labels, others=True))
    sites = [f"site-{number}" for number in range(200)]
    assert not are_identifiable(equations(questions, sites, others=True))
    require_distinguishable(questions, sites)
    with pytest.raises(ParameterError, match="200 candidates cannot be distinguished by 2 cohorts of 8 buckets"):
        require_distinguishable(questions[:2], sites)
    with pytest.raises(
        ParameterError, match="candidates cannot be distinguished by 16 cohorts of 8 buckets, at most"
    ):
        require_distinguishable(questions, [""] * 2**19)
    with pytest.raises(CollectionError, match="give more `cohorts`"):
        SampledCollection.parse(
            MANY.replace("cohorts: 8", "cohorts: 1").replace("CANDIDATES", "a, b, c, d, e, f, g, h")
        )


def test_values_in_a_list_must_all_be_distinguished() -> None:
    listed = AskedAttribute(name="site", values=tuple(f"site-{number}" for number in range(200)))
    with pytest.raises(
        ParameterError, match="200 candidates cannot be distinguished by 16 cohorts of 8 buckets, at most"
    ):
        questions_of("o-rr", attribute=listed)
    questions = [each for each in questions_of("o-rr").questions if isinstance(each, BucketQuestion)]
    with pytest.raises(ParameterError, match="cannot be distinguished by 1 cohorts of 8 buckets"):
        require_identifiable(questions[:1], [f"site-{number}" for number in range(9)])


RAPPOR = ({"hashes": 2}, {"hashes": 1, "p": 0.25, "q": 0.75})


@pytest.mark.parametrize("parameters", [pytest.param(RAPPOR[0], marks=pytest.mark.long), RAPPOR[1]], ids=str)
def test_frequencies_by_rappor_are_unbiased_and_their_standard_errors_true(parameters: dict[str, float]) -> None:
    spec = spec_of({"kind": "sampled", "epsilon": 6, "oracle": "rappor", "cohorts": 16, **parameters})
    repeated(spec.questions([SITES]), uneven=0.004)


def test_the_covariance_of_a_bloom_filter_s_bits_is_that_of_all_outputs() -> None:
    """Exact: over every report of three users' filters."""
    oracle = BloomResponse(size=4, hashes=2, lifetime=4.0, p=0.25, q=0.75)
    held, shares = [0 + 4 * 1, 2 + 4 * 2, 1 + 4 * 3], np.array([0.5, 0.3, 0.2])
    filters = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1]], dtype=np.float64)
    outputs = shares @ oracle.stated()[held].astype(np.float64)
    p, q = oracle.support
    estimates = ((np.arange(16)[:, None] >> np.arange(4) & 1) - q) / (p - q)
    mean = outputs @ estimates
    assert mean == pytest.approx(shares @ filters)
    expected = (estimates - mean).T @ ((estimates - mean) * outputs[:, None])
    assert covariance((filters.T * shares) @ filters, oracle, reports=1.0) == pytest.approx(expected)
