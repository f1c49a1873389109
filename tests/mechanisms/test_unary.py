"""A unary response: where the bit of each value lies."""

import numpy as np

from stream_ldp.mechanisms import GivenWords, UnaryResponse


def test_a_report_has_the_documented_layout() -> None:
    """One bit for each value, from the lowest of the first byte on; a dummy sets none."""
    unary = UnaryResponse(size=9, epsilon=1.0)
    words = GivenWords(np.zeros(27, dtype=np.uint32))
    assert unary.perturb(np.array([8, 1, 9]), entropy=words).tolist() == [[0, 1], [2, 0], [0, 0]]
