"""A direct response: which numbers are reports, whose values it takes, and what it costs."""

import numpy as np
import pytest

from stream_ldp.mechanisms import (
    RESOLUTION,
    DirectResponse,
    GivenWords,
    OSEntropy,
)


def test_a_number_beyond_the_choices_is_invalid_in_two_bytes() -> None:
    oracle = DirectResponse(size=300, dummies=1, epsilon=1.0)
    said = np.array([0, 255, 256, 300, 301, 511, 512, 65535])
    rows = said.astype("<u2").view(np.uint8).reshape(-1, 2)
    assert oracle.valid(rows).tolist() == [True, True, True, True, False, False, False, False]


def test_a_value_that_no_user_can_have_is_refused() -> None:
    """As by all randomizers: test_randomizer.py has the others."""
    with pytest.raises(ValueError, match="beyond the 7 values and dummies, 0 to 6"):
        DirectResponse(size=5, dummies=2, epsilon=1.0).perturb(np.array([0, 7]), entropy=OSEntropy())


def test_a_probability_is_a_multiple_of_the_resolution() -> None:
    p, _ = DirectResponse(size=5, epsilon=1.0).support
    assert p * RESOLUTION == DirectResponse(size=5, epsilon=1.0).kept


def test_a_report_has_the_documented_layout() -> None:
    """A number of two bytes, the low one first."""
    direct = DirectResponse(size=300, dummies=1, epsilon=1.0)
    words = GivenWords(np.zeros(4, dtype=np.uint32))
    assert direct.perturb(np.array([258, 300]), entropy=words).tolist() == [[2, 1], [44, 1]]
