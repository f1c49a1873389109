"""Every frequency oracle: what a report says and is counted as, and that what comes out is what went in, on average.

Averages are exact: over all reports of a small domain, with the probabilities that the code realises.
"""

import dataclasses
import json
import math
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_ldp.audit.output_distribution import realised_distribution, stated_distribution
from stream_ldp.mechanisms import (
    ORACLES,
    RESOLUTION,
    DirectResponse,
    FrequencyOracle,
    HadamardResponse,
    OSEntropy,
    SeededEntropy,
    UnaryResponse,
)
from tests.paths import GOLDEN

#: Every kind, in domains that are a power of two or not, of one value, and of reports that fill their bytes or not.
SMALL: list[FrequencyOracle] = [
    HadamardResponse(size=1, epsilon=1.0),
    HadamardResponse(size=5, epsilon=1.0),
    HadamardResponse(size=8, epsilon=0.1),
    HadamardResponse(size=16, epsilon=3.0),
    HadamardResponse(size=7, epsilon=2.0, hash_bits=2),
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
    """Return the variance of the estimate from one report of value 0, over all reports."""
    outputs = realised(oracle)[0].astype(np.float64)
    rows = every_row(oracle)
    possible = np.flatnonzero(outputs)
    estimates = np.stack([oracle.estimate(oracle.sums(rows[[row]]), reports=1) for row in possible])
    mean = outputs[possible] @ estimates
    variance = outputs[possible] @ (estimates - mean) ** 2
    truth = (np.arange(oracle.size) == 0).astype(np.float64)
    assert mean == pytest.approx(truth, abs=1e-9)
    assert oracle.standard_errors(truth, reports=1) == pytest.approx(np.sqrt(variance), rel=1e-9)
    assert oracle.standard_errors(truth, reports=4) == pytest.approx(np.sqrt(variance) / 2, rel=1e-9)


@small
def test_exactly_the_rows_that_can_be_sent_are_valid(oracle: FrequencyOracle) -> None:
    width = -(-oracle.bits // 8)
    rows = np.arange(2 ** (8 * width), dtype="<u4").view(np.uint8).reshape(-1, 4)[:, :width]
    sent = np.zeros(len(rows), dtype=np.bool_)
    sent[: 2**oracle.bits] = realised(oracle).any(axis=0)
    assert np.array_equal(oracle.valid(rows), sent)


@pytest.mark.parametrize(
    "oracle",
    # A million values are counted like thousands.
    [pytest.param(each, marks=pytest.mark.long if each.size >= 2**16 else ()) for each in [*SMALL, *LARGE]],
    ids=repr,
)
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
    frequency = oracle.estimate(sums, reports=0)
    assert frequency.shape == (oracle.size,)
    assert not frequency.any()
    assert np.isinf(oracle.standard_errors(frequency, reports=0)).all()


@pytest.mark.parametrize("oracle", LARGE, ids=repr)
def test_estimates_of_a_large_domain_are_as_close_as_their_standard_errors_say(oracle: FrequencyOracle) -> None:
    """4,000 reports of value 3, as many of dummies: within 5 standard errors, which fails for 1 seed in 10^6."""
    values = np.where(np.arange(8_000) % 2, 3, oracle.size)
    if isinstance(oracle, DirectResponse):
        assert values.max() < oracle.counters
    sums = oracle.sums(oracle.perturb(values, entropy=SeededEntropy(8)))
    frequency = oracle.estimate(sums, reports=8_000)
    error = oracle.standard_errors(frequency, reports=8_000)
    looked_at = [0, 3, oracle.size - 1]
    assert np.all(np.abs(frequency[looked_at] - [0, 0.5, 0]) < 5 * error[looked_at])


def test_the_same_words_make_the_rows_of_the_golden_file() -> None:
    kinds: dict[str, Any] = {each.kind: each for each in ORACLES}
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
    (kept,) = response.chances
    others = round(1 / response.support[1] * (1 - response.support[0]))

    def loss(kept: int) -> Decimal:
        return bits * (Decimal(kept * others) / (RESOLUTION - kept)).ln()

    assert loss(kept) <= Decimal(oracle.epsilon)
    assert oracle.epsilon == pytest.approx(float(loss(kept)), rel=1e-14)
    assert kept == RESOLUTION - 1 or loss(kept + 1) > Decimal(epsilon)
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
            "epsilon=30.0 is beyond the resolution of 2^-32 with 2 choices: 9.32e-10 to 22.1 would do",
        ),
        (lambda: HadamardResponse(size=8, epsilon=1e-10), "with 2 choices: 9.32e-10 to 22.1 would do"),
        (lambda: DirectResponse(size=1000, epsilon=1e-9), "with 1000 choices: 1.65e-7 to 29.0 would do"),
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
