"""The paper's EM is EM by its definition."""

from __future__ import annotations

import numpy as np

from stream_ldp.records.estimators import estimator
from tests.records.estimators.examples import draw, latent, likelihood_table


def test_the_papers_em_is_em_by_its_definition() -> None:
    sizes = (2, 3)
    counts, channel = draw(latent(sizes, seed=1), 500, f=0.4, seed=1, response=(0.5, 0.75))
    table = likelihood_table(counts, sizes=sizes, channel=channel)
    joint, iterations = np.full(6, 1 / 6), 0
    while True:
        posterior = table * joint
        posterior /= posterior.sum(axis=1, keepdims=True)
        after = counts.counts @ posterior / counts.reports
        iterations += 1
        moved = np.abs(after - joint).max()
        joint = after
        if moved < 0.001:
            break
    solution = estimator("em", stop="paper", delta=0.001).estimate(
        counts, sizes=sizes, supports=[channel] * len(sizes)
    )
    np.testing.assert_allclose(solution.joint.ravel(), joint, rtol=0, atol=1e-12)
    assert solution.iterations == iterations
