"""What a report says, what it is counted as, and that what comes out is what went in, on average.

Averages are exact: over all reports of a small domain, with the probabilities that the code realises.
"""

from __future__ import annotations

import dataclasses
import json
import math
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hadamard

from stream_ldp.mechanisms import (
    RESOLUTION,
    DirectResponse,
    FrequencyOracle,
    GivenWords,
    HadamardResponse,
    OSEntropy,
    SeededEntropy,
    UnaryResponse,
    frequencies,
    standard_errors,
)
from stream_ldp.privacy.audit.output_distribution import realised_distribution, stated_distribution
from tests.paths import GOLDEN

if TYPE_CHECKING:
    from numpy.typing import NDArray


#: Every kind, in domains that are a power of two or not, of one value, and of reports that fill their bytes or not.
SMALL: list[FrequencyOracle] = [
    HadamardResponse(size=1, epsilon=1.0),
    HadamardResponse(size=5, epsilon=1.0),
    HadamardResponse(size=8, epsilon=0.1),
    HadamardResponse(size=128, epsilon=3.0),
    HadamardResponse(size=7, epsilon=2.0, hash_bits=2),
    HadamardResponse(size=4, epsilon=4.0, hash_bits=3),
    DirectResponse(size=1, dummies=1, epsilon=1.0),
    DirectResponse(size=5, epsilon=3.0),
    DirectResponse(size=5, dummies=4, epsilon=0.5),
    DirectResponse(size=40, dummies=1, epsilon=2.0),
    UnaryResponse(size=1, epsilon=1.0),
    UnaryResponse(size=4, epsilon=2.0),
    UnaryResponse(size=8, epsilon=1.0),
    UnaryResponse(size=9, epsilon=1.0),
]
small = pytest.mark.parametrize("oracle", SMALL, ids=repr)

#: Too large to enumerate, up to the largest domain of a collection.
LARGE: list[FrequencyOracle] = [
    HadamardResponse(size=2**20, epsilon=1.0),
    HadamardResponse(size=1000, epsilon=3.0, hash_bits=4),
    HadamardResponse(size=2**16, epsilon=5.5, hash_bits=8),
    DirectResponse(size=1000, dummies=20, epsilon=4.0),
    UnaryResponse(size=100, epsilon=1.0),
]


realised = lru_cache(realised_distribution)


def every_row(oracle: FrequencyOracle) -> NDArray[np.uint8]:
    """All patterns of a report's bits."""
    width = -(-oracle.bits // 8)
    return np.arange(2**oracle.bits, dtype="<u4").view(np.uint8).reshape(-1, 4)[:, :width]


def inputs(oracle: FrequencyOracle, users: int, seed: int) -> NDArray[np.int64]:
    most = oracle.counters if isinstance(oracle, DirectResponse) else oracle.size + 3
    return np.random.default_rng(seed).integers(most, size=users)


def words(*given: int) -> GivenWords:
    return GivenWords(np.array(given, dtype=np.uint32))


@small
def test_the_output_distribution_is_the_stated_one(oracle: FrequencyOracle) -> None:
    found = realised(oracle)
    assert np.array_equal(found, stated_distribution(oracle))
    assert {sum(row) for row in found.tolist()} == {1}


@small
def test_a_report_tells_no_more_than_epsilon(oracle: FrequencyOracle) -> None:
    """Nor less, but of a domain of one value, which has no other to be told from."""
    columns = [column for column in realised(oracle).T.tolist() if any(column)]
    loss = math.log(max(max(column) / min(column) for column in columns))
    if isinstance(oracle, HadamardResponse) and oracle.size == 1:
        assert loss < oracle.epsilon
    else:
        assert loss == pytest.approx(oracle.epsilon, abs=1e-14, rel=0)


@small
def test_an_estimate_is_unbiased(oracle: FrequencyOracle) -> None:
    outputs = realised(oracle).astype(np.float64)
    rows = every_row(oracle)
    possible = np.flatnonzero(outputs.any(axis=0))
    supports = np.stack([oracle.supports(oracle.sums(rows[[row]]), reports=1) for row in possible])
    assert set(np.unique(supports)) <= {0.0, 1.0}
    p, q = oracle.support
    expected = np.where(np.arange(len(outputs))[:, None] == np.arange(oracle.size), p, q)
    assert outputs[:, possible] @ supports == pytest.approx(expected, abs=1e-13, rel=0)


@small
def test_a_standard_error_is_that_of_its_estimate(oracle: FrequencyOracle) -> None:
    """Of the estimate from one report of value 0: its variance over all reports."""
    outputs = realised(oracle)[0].astype(np.float64)
    rows = every_row(oracle)
    possible = np.flatnonzero(outputs)
    estimates = np.stack([frequencies(oracle, oracle.sums(rows[[row]]), reports=1) for row in possible])
    mean = outputs[possible] @ estimates
    variance = outputs[possible] @ (estimates - mean) ** 2
    truth = (np.arange(oracle.size) == 0).astype(np.float64)
    assert mean == pytest.approx(truth, abs=1e-9)
    assert standard_errors(oracle, truth, reports=1) == pytest.approx(np.sqrt(variance), rel=1e-9)
    assert standard_errors(oracle, truth, reports=4) == pytest.approx(np.sqrt(variance) / 2, rel=1e-9)


@small
def test_exactly_the_rows_that_can_be_sent_are_valid(oracle: FrequencyOracle) -> None:
    width = -(-oracle.bits // 8)
    rows = np.arange(2 ** (8 * width), dtype="<u4").view(np.uint8).reshape(-1, 4)[:, :width]
    sent = np.zeros(len(rows), dtype=np.bool_)
    sent[: 2**oracle.bits] = realised(oracle).any(axis=0)
    assert np.array_equal(oracle.valid(rows), sent)


def test_a_number_beyond_the_choices_is_invalid_in_two_bytes() -> None:
    oracle = DirectResponse(size=300, dummies=1, epsilon=1.0)
    said = np.array([0, 255, 256, 300, 301, 511, 512, 65535])
    rows = said.astype("<u2").view(np.uint8).reshape(-1, 2)
    assert oracle.valid(rows).tolist() == [True, True, True, True, False, False, False, False]


@pytest.mark.parametrize("oracle", [*SMALL, *LARGE], ids=repr)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), cuts=st.lists(st.integers(0, 40), max_size=3).map(sorted))
def test_a_report_counts_the_same_in_any_batch(oracle: FrequencyOracle, seed: int, cuts: list[int]) -> None:
    rows = oracle.perturb(inputs(oracle, 40, seed), entropy=SeededEntropy(seed))
    assert rows.dtype == np.uint8
    assert rows.shape == (40, -(-oracle.bits // 8))
    assert oracle.valid(rows).all()
    whole = oracle.sums(rows)
    assert whole.dtype == np.int64
    assert whole.shape == (oracle.counters,)
    assert np.array_equal(sum(oracle.sums(part) for part in np.split(rows, cuts)), whole)
    assert np.array_equal(oracle.sums(rows[::-1]), whole)


@pytest.mark.parametrize("oracle", [*SMALL, *LARGE], ids=repr)
def test_without_reports_all_estimates_are_zero_with_infinite_errors(oracle: FrequencyOracle) -> None:
    rows = oracle.perturb(np.array([], dtype=np.int64), entropy=OSEntropy())
    assert rows.shape == (0, -(-oracle.bits // 8))
    assert oracle.valid(rows).shape == (0,)
    sums = oracle.sums(rows)
    assert not sums.any()
    frequency = frequencies(oracle, sums, reports=0)
    assert frequency.shape == (oracle.size,)
    assert not frequency.any()
    assert np.isinf(standard_errors(oracle, frequency, reports=0)).all()


@pytest.mark.parametrize("oracle", LARGE, ids=repr)
def test_estimates_of_a_large_domain_are_as_close_as_their_standard_errors_say(oracle: FrequencyOracle) -> None:
    """4,000 reports of value 3, as many of dummies: within 5 standard errors, which fails for 1 seed in 10^6."""
    values = np.where(np.arange(8_000) % 2, 3, oracle.size)
    if isinstance(oracle, DirectResponse):
        assert values.max() < oracle.counters
    sums = oracle.sums(oracle.perturb(values, entropy=SeededEntropy(8)))
    frequency = frequencies(oracle, sums, reports=8_000)
    error = standard_errors(oracle, frequency, reports=8_000)
    looked_at = [0, 3, oracle.size - 1]
    assert np.all(np.abs(frequency[looked_at] - [0, 0.5, 0]) < 5 * error[looked_at])


@pytest.mark.parametrize("size", [2, 3, 8, 33, 64])
def test_one_hash_bit_is_a_sign_of_the_matrix(size: int) -> None:
    """Sampling SH: a report is a row of the matrix and a sign; support is half of 1 and the sum of row times sign."""
    oracle = HadamardResponse(size=size, epsilon=1.0)
    matrix = hadamard(oracle.rows)
    rows = oracle.perturb(inputs(oracle, 500, size), entropy=SeededEntropy(size))
    reports = rows.astype(np.int64) @ (1 << 8 * np.arange(rows.shape[1]))
    drawn, signs = reports % oracle.rows, 1 - 2 * (reports // oracle.rows)
    sums = oracle.sums(rows)
    expected = (500 + signs @ matrix[drawn])[:size] / 2
    assert np.array_equal(oracle.supports(sums, reports=500), expected)
    assert np.array_equal(oracle.draws(sums), np.bincount(drawn, minlength=oracle.rows))


@pytest.mark.parametrize("hash_bits", [2, 3, 5])
def test_a_report_supports_exactly_the_values_with_its_hash(hash_bits: int) -> None:
    oracle = HadamardResponse(size=50, epsilon=2.0, hash_bits=hash_bits)
    rows = oracle.perturb(inputs(oracle, 300, hash_bits), entropy=SeededEntropy(hash_bits))
    bits = np.unpackbits(rows, axis=1, count=oracle.bits, bitorder="little").astype(np.int64)
    indices = bits[:, : 6 * hash_bits].reshape(300, hash_bits, 6) @ (1 << np.arange(6))
    agrees = np.bitwise_count(indices[:, :, None] & np.arange(50)) & 1 == bits[:, 6 * hash_bits :, None]
    sums = oracle.sums(rows)
    assert np.array_equal(oracle.supports(sums, reports=300), agrees.all(axis=1).sum(axis=0))
    assert np.array_equal(oracle.draws(sums), np.bincount(indices.reshape(-1), minlength=64))
    assert oracle.index_bits == 6 * hash_bits


def test_a_report_has_the_documented_layout() -> None:
    """Rows 6 and 5, three bits each, then two bits of hash: of value 3, the parities of 6 & 3 and 5 & 3, 1 and 1."""
    oracle = HadamardResponse(size=8, epsilon=1.0, hash_bits=2)
    rows = np.array([6 + 8, 5 + 16])
    kept = oracle.response.kept
    true = 6 | 5 << 3 | 3 << 6
    assert oracle.perturb(np.array([3]), entropy=words(*rows, kept - 1)).tolist() == [[true]]
    # One more, and the hash is changed, by 1 to 3 modulo 4.
    changed = [oracle.perturb(np.array([3]), entropy=words(*rows, kept, other)) for other in (0, 1, 2)]
    assert [row.tolist() for row in changed] == [[[6 | 5 << 3 | sent << 6]] for sent in (0, 1, 2)]
    direct = DirectResponse(size=300, dummies=1, epsilon=1.0)
    assert direct.perturb(np.array([258, 300]), entropy=words(0, 0)).tolist() == [[2, 1], [44, 1]]
    unary = UnaryResponse(size=9, epsilon=1.0)
    assert unary.perturb(np.array([8, 1, 9]), entropy=words(*[0] * 27)).tolist() == [[0, 1], [2, 0], [0, 0]]


def test_the_same_words_make_the_rows_of_the_golden_file() -> None:
    kinds: dict[str, Any] = {"hadamard": HadamardResponse, "direct": DirectResponse, "unary": UnaryResponse}
    for example in json.loads((GOLDEN / "oracles.json").read_text()):
        oracle = kinds[example["kind"]](**example["parameters"])
        rows = oracle.perturb(np.array(example["values"]), entropy=SeededEntropy(example["seed"]))
        assert [row.tobytes().hex() for row in rows] == example["rows"]
        assert oracle.epsilon == example["epsilon"]


@given(
    epsilon=st.one_of(st.floats(0.001, 15), st.sampled_from([0.01, 1.0, 10.0])),
    kind=st.sampled_from(["hadamard", "direct", "unary"]),
    size=st.integers(2, 4096),
    hash_bits=st.integers(1, 8),
)
def test_no_more_is_spent_than_was_asked_for(epsilon: float, kind: str, size: int, hash_bits: int) -> None:
    """And not much less: one more 2^-32 of a kept value, or hash, or bit, would be too much."""
    oracle: HadamardResponse | DirectResponse | UnaryResponse
    match kind:
        case "hadamard":
            oracle = HadamardResponse(size=size, epsilon=epsilon, hash_bits=hash_bits)
        case "direct":
            oracle = DirectResponse(size=size, epsilon=epsilon)
        case _:
            oracle = UnaryResponse(size=size, epsilon=epsilon)
    assert oracle.epsilon <= epsilon
    response = oracle if isinstance(oracle, DirectResponse) else oracle.response
    bits = 2 if kind == "unary" else 1
    others = response.counters - 1

    def loss(kept: int) -> Decimal:
        return bits * (Decimal(kept * others) / (RESOLUTION - kept)).ln()

    assert loss(response.kept) <= Decimal(oracle.epsilon)
    assert oracle.epsilon == pytest.approx(float(loss(response.kept)), rel=1e-14)
    assert response.kept == RESOLUTION - 1 or loss(response.kept + 1) > Decimal(epsilon)
    # What was realised can be asked for.
    assert dataclasses.replace(oracle) == oracle


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("kind", [HadamardResponse, DirectResponse, UnaryResponse])
def test_an_epsilon_that_is_not_positive_and_finite_is_refused(kind: Any, epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon must be positive and finite, got"):
        kind(size=8, epsilon=epsilon)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: HadamardResponse(size=8, epsilon=30.0),
            "epsilon=30.0 is beyond the resolution of 2^-32: with 2 choices it is between about 9.31e-10 and 22.2",
        ),
        (lambda: HadamardResponse(size=8, epsilon=1e-10), "with 2 choices it is between about 9.31e-10 and 22.2"),
        (lambda: DirectResponse(size=1000, epsilon=1e-9), "with 1000 choices it is between about 1.64e-07 and 29.1"),
        (lambda: DirectResponse(size=0, epsilon=1.0), "a value and 2 to 2^32 choices, got size=0, dummies=0"),
        (lambda: DirectResponse(size=1, epsilon=1.0), "2 to 2^32 choices, got size=1, dummies=0"),
        (lambda: DirectResponse(size=3, dummies=-1, epsilon=1.0), "got size=3, dummies=-1"),
        (lambda: HadamardResponse(size=0, epsilon=1.0), "for 1 to 16777216 values, got size=0"),
        (lambda: HadamardResponse(size=2**24 + 1, epsilon=1.0), "for 1 to 16777216 values, got size=16777217"),
        (lambda: HadamardResponse(size=8, epsilon=1.0, hash_bits=0), "1 to 8 bits, got hash_bits=0"),
        (lambda: HadamardResponse(size=8, epsilon=1.0, hash_bits=9), "1 to 8 bits, got hash_bits=9"),
        (lambda: UnaryResponse(size=0, epsilon=1.0), "for 1 to 65536 values, got size=0"),
        (lambda: UnaryResponse(size=2**16 + 1, epsilon=1.0), "got size=65537"),
    ],
)
def test_parameters_of_no_mechanism_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011  # the message is compared below, as it stands
        make()
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, -1], "a value is negative"),
        ([0, 7], "beyond the 7 values and dummies, 0 to 6"),
        ([0.0], "integers of shape (n,), got float64 of shape (1,)"),
        ([[0]], "integers of shape (n,), got int64 of shape (1, 1)"),
    ],
)
def test_values_that_no_user_can_have_are_refused(values: Any, message: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011  # the message is compared below, as it stands
        DirectResponse(size=5, dummies=2, epsilon=1.0).perturb(np.array(values), entropy=OSEntropy())
    assert message in str(raised.value)


def test_the_largest_hadamard_response_does_not_overflow_a_word() -> None:
    """Of 2^24 rows, an index takes 24 bits; eight of them and the hash take 200."""
    oracle = HadamardResponse(size=2**24, epsilon=5.0, hash_bits=8)
    assert (oracle.bits, oracle.counters) == (200, 2**25)
    rows = oracle.perturb(np.array([2**24 - 1, 2**24]), entropy=words(*[RESOLUTION - 1] * 16, 0, 0, 0))
    assert [row.tobytes().hex() for row in rows] == ["ff" * 24 + "00", "ff" * 24 + "00"]


def test_a_probability_is_a_multiple_of_the_resolution() -> None:
    p, _ = DirectResponse(size=5, epsilon=1.0).support
    assert p * RESOLUTION == DirectResponse(size=5, epsilon=1.0).kept
