"""Optimised unary encoding: what it costs, and how its noise compares."""

import math

import numpy as np
import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import HadamardResponse, OptimisedUnaryResponse, UnaryResponse


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_noise_of_a_value_that_nobody_has_is_that_of_the_paper(epsilon: float) -> None:
    """4 e^epsilon / (e^epsilon - 1)^2 (Wang et al., 2017, section 4.3); less than that of symmetric encoding."""
    odds, nobody = math.exp(epsilon), np.zeros(1)
    noise = OptimisedUnaryResponse(size=64, epsilon=epsilon).noise(nobody)
    assert noise == pytest.approx(4 * odds / (odds - 1) ** 2, rel=1e-6)
    assert noise < UnaryResponse(size=64, epsilon=epsilon).noise(nobody)
    assert noise <= HadamardResponse(size=64, epsilon=epsilon, hash_bits=1).noise(nobody) * (1 + 1e-6)


def test_one_value_has_nothing_to_hide_it_among() -> None:
    with pytest.raises(ParameterError, match="for 2 to 65536 values, got size=1"):
        OptimisedUnaryResponse(size=1, epsilon=1.0)
