"""A half-space response: which vectors it sends, and what the two published rules would have cost."""

import math

import numpy as np
import pytest

from stream_ldp.audit.output_distribution import epsilon_of, realised_distribution
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import HalfSpaceResponse, SeededEntropy
from tests.audit import broken


def signs(dimensions: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return 2 * (np.arange(2**dimensions)[:, None] >> np.arange(dimensions) & 1) - 1


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_means_are_unbiased(dimensions: int, epsilon: float) -> None:
    response = HalfSpaceResponse(dimensions=dimensions, epsilon=epsilon)
    outputs = realised_distribution(response).astype(np.float64)
    assert response.scale * outputs @ signs(dimensions) == pytest.approx(signs(dimensions), abs=1e-12)


@pytest.mark.parametrize(
    ("dimensions", "epsilon", "variance"),
    [(1, 1.0, 4.683), (2, 1.0, 11.08), (3, 1.0, 18.73), (4, 1.0, 22.76), (5, 1.0, 33.30), (2, 2.0, 2.64)],
)
def test_the_variance_at_0_is_the_square_of_the_scale(dimensions: int, epsilon: float, variance: float) -> None:
    assert HalfSpaceResponse(dimensions=dimensions, epsilon=epsilon).scale ** 2 == pytest.approx(variance, rel=2e-3)


@pytest.mark.parametrize("dimensions", [2, 4])
def test_the_published_rules_cost_more_than_they_say_for_even_dimensions(dimensions: int) -> None:
    printed = broken.NeverSendsTies(dimensions=dimensions, epsilon=1.0)
    original = broken.SendsTiesFromBothSides(dimensions=dimensions, epsilon=1.0)
    assert epsilon_of(realised_distribution(printed)) == math.inf
    assert epsilon_of(realised_distribution(original)) == pytest.approx(math.log(1 + math.e), abs=1e-6)


@pytest.mark.parametrize("dimensions", [13, 32])
def test_many_dimensions_need_no_table_of_vectors(dimensions: int) -> None:
    """The means of 200,000 reports are within 6 standard errors, but for one seed in 10^7."""
    response = HalfSpaceResponse(dimensions=dimensions, epsilon=3.0)
    truth = np.where(np.arange(dimensions) % 3 == 0, 1, -1)
    value = int((truth > 0) @ (1 << np.arange(dimensions)))
    rows = response.perturb(np.full(200_000, value), entropy=SeededEntropy(8))
    means = response.means(response.sums(rows).astype(np.float64), reports=200_000)
    assert np.all(np.abs(means - truth) < 6 * response.scale / math.sqrt(200_000))


@pytest.mark.parametrize("dimensions", [0, 33])
def test_impossible_dimensions_are_refused(dimensions: int) -> None:
    with pytest.raises(ParameterError, match="takes 1 to 32 numbers"):
        HalfSpaceResponse(dimensions=dimensions, epsilon=1.0)
