"""A Hadamard response: which values a report supports, and where its bits lie."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import hadamard

from stream_ldp.mechanisms import (
    RESOLUTION,
    DirectResponse,
    FrequencyOracle,
    GivenWords,
    HadamardResponse,
    SeededEntropy,
)


def inputs(oracle: FrequencyOracle, users: int, seed: int) -> NDArray[np.int64]:
    most = oracle.counters if isinstance(oracle, DirectResponse) else oracle.size + 3
    return np.random.default_rng(seed).integers(most, size=users)


def words(*given: int) -> GivenWords:
    return GivenWords(np.array(given, dtype=np.uint32))


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


def test_the_largest_hadamard_response_does_not_overflow_a_word() -> None:
    """Of 2^24 rows, an index takes 24 bits; eight of them and the hash take 200."""
    oracle = HadamardResponse(size=2**24, epsilon=5.0, hash_bits=8)
    assert (oracle.bits, oracle.counters) == (200, 2**25)
    rows = oracle.perturb(np.array([2**24 - 1, 2**24]), entropy=words(*[RESOLUTION - 1] * 16, 0, 0, 0, 0, 0))
    assert [row.tobytes().hex() for row in rows] == ["ff" * 24 + "00", "ff" * 24 + "00"]


def test_a_report_has_the_documented_layout() -> None:
    """Rows 6 and 5, three bits each, then two bits of hash: of value 3, the parities of 6 & 3 and 5 & 3, 1 and 1."""
    oracle = HadamardResponse(size=8, epsilon=1.0, hash_bits=2)
    rows = np.array([6 + 8, 5 + 16])
    (kept,) = oracle.response.chances
    true = 6 | 5 << 3 | 3 << 6
    assert oracle.perturb(np.array([3]), entropy=words(*rows, kept - 1, 0)).tolist() == [[true]]
    # One more, and the hash is changed, by 1 to 3 modulo 4.
    changed = [oracle.perturb(np.array([3]), entropy=words(*rows, kept, other)) for other in (0, 1, 2)]
    assert [row.tolist() for row in changed] == [[[6 | 5 << 3 | sent << 6]] for sent in (0, 1, 2)]


def test_few_reports_change_few_of_a_million_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dense vector of the domain at every turn of a worker would take 17 ms each time, and hold all else up."""
    oracle = HadamardResponse(size=10**6, epsilon=1.0, hash_bits=3)
    rows = oracle.perturb(np.arange(20), entropy=SeededEntropy(1))
    sums = np.zeros(oracle.counters, dtype=np.int64)
    monkeypatch.setattr(np, "bincount", None)
    monkeypatch.setattr(np, "zeros", None)
    oracle.add(rows, to=sums)
    assert 0 < np.count_nonzero(sums) <= 20 * (3 + 7)
