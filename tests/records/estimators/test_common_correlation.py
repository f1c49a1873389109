"""Tests of the common correlation: many noisy pairs tell of it, and pairs without one of none."""

from __future__ import annotations

import numpy as np

from stream_ldp.records.estimators.common_correlation import CommonCorrelation

PAIRS, PRECISIONS = 10, np.linspace(2.0, 6.0, 10)


def learn(true: float, seed: int) -> CommonCorrelation:
    noise = np.random.default_rng(seed).normal(0.0, 1.0, PAIRS) / np.sqrt(PRECISIONS)
    return CommonCorrelation.learn(true + noise, PRECISIONS)


def test_many_pairs_tell_of_a_correlation_of_which_each_tells_next_to_nothing() -> None:
    """Each has an error of half a correlation, and all together of 0.16: no seed of 20 is off by four of those."""
    for sign in (1.0, -1.0):
        learnt = [learn(0.5 * sign, seed) for seed in range(20)]
        assert sum(each.evidence > 0.0 for each in learnt) >= 15
        assert 0.3 < sign * np.mean([each.mean for each in learnt]) < 0.5


def test_without_correlation_the_evidence_is_against_one_and_little_is_believed() -> None:
    learnt = [learn(0.0, seed) for seed in range(40)]
    # Noise as large as 1.3 of its standard deviation feigns one, which one seed in five has.
    assert sum(each.evidence < 0.0 for each in learnt) >= 25
    assert np.mean([abs(each.mean) for each in learnt]) < 0.1


def test_pairs_without_noise_tell_the_correlation_itself() -> None:
    assert abs(CommonCorrelation.learn(np.full(3, -0.3), np.full(3, 1e9)).mean + 0.3) < 1e-6
