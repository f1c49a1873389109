"""Tests of the hidden factor: many noisy pairs tell of few loadings, and pairs without a factor of none."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.records.estimators.factor import Factor

if TYPE_CHECKING:
    from stream_ldp.records.estimators import FloatArray

LOADINGS = [np.array([0.7]), np.array([0.5, -0.3]), np.array([0.6]), np.array([0.4, 0.2]), np.array([0.6])]


def observed(
    pairs: dict[tuple[int, int], FloatArray], *, precision: float, seed: int
) -> tuple[dict[tuple[int, int], FloatArray], dict[tuple[int, int], FloatArray]]:
    """Add noise to coefficients."""
    rng = np.random.default_rng(seed)
    noisy = {pair: true + rng.normal(0.0, precision**-0.5, true.shape) for pair, true in pairs.items()}
    return noisy, {pair: np.full(true.shape, precision) for pair, true in pairs.items()}


def test_the_products_of_the_loadings_are_nearer_to_the_pairs_than_their_estimates() -> None:
    """Of 20 seeds: the squared error of 36 coefficients that 7 loadings determine is a third of their noise or so."""
    pairs = {(i, j): np.outer(LOADINGS[i], LOADINGS[j]) for i, j in combinations(range(5), 2)}
    errors, noise = [], []
    for seed in range(20):
        found, precisions = observed(pairs, precision=100.0, seed=seed)
        factor = Factor.learn(found, precisions)
        assert factor.evidence > 0.0
        for (i, j), true in pairs.items():
            errors.append(np.sum((np.outer(factor.loadings[i], factor.loadings[j]) - true) ** 2))
            noise.append(np.sum((found[i, j] - true) ** 2))
    assert np.sum(errors) < 0.5 * np.sum(noise)


def test_without_dependence_the_evidence_is_against_a_factor() -> None:
    pairs = {(i, j): np.zeros((1, 1)) for i, j in combinations(range(4), 2)}
    against = [Factor.learn(*observed(pairs, precision=50.0, seed=seed)).evidence < 0.0 for seed in range(40)]
    # A factor that noise feigns: five of 40 would be one in eight.
    assert sum(against) >= 35


def test_the_loadings_of_the_same_pairs_are_the_same_to_the_last_bit() -> None:
    pairs = {(i, j): np.outer(LOADINGS[i], LOADINGS[j]) for i, j in combinations(range(3), 2)}
    first, second = (Factor.learn(*observed(pairs, precision=10.0, seed=1)) for _ in range(2))
    assert all((a == b).all() for a, b in zip(first.loadings, second.loadings, strict=True))
