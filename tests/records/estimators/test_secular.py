"""Tests of the secular equation: it has the eigenvectors of the dense matrix, however close the numbers are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.records.estimators import secular
from stream_ldp.records.estimators.secular import eigh_beside

RNG = np.random.default_rng(1)
SHARES = np.maximum(RNG.dirichlet(np.full(60, 0.05)), 1e-12)


@pytest.mark.parametrize("largest", [2**18, 100], ids=["at-once", "in-parts"])
@pytest.mark.parametrize(
    ("diagonal", "direction"),
    [
        (np.array([0.2, 0.7]), np.array([0.6, 0.8])),
        (RNG.random(60), RNG.random(60) + 1e-6),
        (RNG.integers(5, size=60) / 4, np.ones(60)),
        (np.full(7, 0.3), RNG.random(7) + 0.1),
        (np.zeros(5), np.ones(5)),
        (RNG.random(60) * SHARES, np.sqrt(SHARES)),
        (0.5 + 1e-13 * RNG.random(60), -np.ones(60)),
        (np.repeat([0.0, 1e-9, 0.5], 20) + 1e-12 * RNG.random(60), RNG.random(60) + 0.1),
    ],
    ids=["two", "any", "counts", "alike", "nothing", "rare", "close", "clusters"],
)
def test_it_has_the_eigenvectors_of_the_dense_matrix_in_the_plane(
    diagonal: NDArray[np.float64], direction: NDArray[np.float64], largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secular, "_LARGEST", largest)
    direction = direction / np.linalg.norm(direction)
    values, vectors = eigh_beside(diagonal, direction)
    n = len(diagonal)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n - 1), atol=1e-13)
    np.testing.assert_allclose(direction @ vectors, 0.0, atol=1e-13)
    np.testing.assert_allclose(vectors.T @ (diagonal[:, None] * vectors), np.diag(values), atol=1e-14)
    beside = np.eye(n) - np.outer(direction, direction)
    dense = np.linalg.eigvalsh(beside @ np.diag(diagonal) @ beside - np.outer(direction, direction))[1:]
    np.testing.assert_allclose(values, dense, atol=1e-14)
    assert (np.diff(values) >= 0.0).all()
