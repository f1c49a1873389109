"""The transform is the product with the Sylvester-Hadamard matrix."""

import numpy as np
import pytest
from scipy.linalg import hadamard

from stream_ldp.mechanisms.walsh import transform


@pytest.mark.parametrize("log_length", range(12))
def test_a_transform_is_the_product_with_the_matrix(log_length: int) -> None:
    numbers = np.random.default_rng(log_length).integers(-1000, 1000, 2**log_length).astype(np.float64)
    product = hadamard(len(numbers)) @ numbers
    transform(numbers)
    assert np.array_equal(numbers, product)


@pytest.mark.parametrize("log_length", [14, 15, 18, 21])
def test_a_transform_too_long_for_the_cache_is_still_correct(log_length: int) -> None:
    """It goes in strips from 2^15 on. A row of the matrix is found again, and twice is the length times itself."""
    length = 2**log_length
    generator = np.random.default_rng(log_length)
    row = int(generator.integers(length))
    numbers = np.zeros(length)
    numbers[row] = 1
    transform(numbers)
    assert np.array_equal(numbers, 1 - 2 * (np.bitwise_count(np.arange(length) & row) & 1).astype(np.float64))
    given = generator.integers(-1000, 1000, length).astype(np.float64)
    numbers = given.copy()
    transform(numbers)
    transform(numbers)
    assert np.array_equal(numbers, length * given)


@pytest.mark.parametrize("length", [0, 3, 6, 2**15 + 2**14])
def test_a_length_without_a_matrix_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=f"power of two, got {length}"):
        transform(np.zeros(length))
