"""Sources of randomness that repeat: a request is answered alike, whatever was asked for in between."""

from __future__ import annotations

import numpy as np

from stream_ldp.client.audit.repeatable import RepeatableEntropy


def test_a_request_is_answered_alike_whatever_came_before_it() -> None:
    one, other = RepeatableEntropy(7), RepeatableEntropy(7)
    other.below(np.full(5, 2**31))
    other.subsets(np.array([9]), 4)
    other.shifts(np.array([2**31]), np.array([2]))
    other.outcomes(np.array([[2**31, 2**32]]))
    assert one.integers(np.array([10**6])) == other.integers(np.array([10**6]))


def test_the_same_request_is_answered_anew_each_time_and_by_each_seed() -> None:
    entropy = RepeatableEntropy(7)
    drawn = [int(entropy.integers(np.array([2**32]))[0]) for _ in range(20)]
    drawn += [int(RepeatableEntropy(seed).integers(np.array([2**32]))[0]) for seed in (8, 9)]
    assert len(set(drawn)) == len(drawn)


def test_requests_of_another_shape_have_another_stream() -> None:
    flat = RepeatableEntropy(7).integers(np.full(4, 2**32))
    square = RepeatableEntropy(7).integers(np.full((2, 2), 2**32))
    assert flat.tolist() != square.reshape(-1).tolist()
