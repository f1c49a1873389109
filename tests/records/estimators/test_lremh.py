"""LREMH: what it makes of the cells that the LASSO leaves."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.mechanisms import Support
from stream_ldp.records.estimators import Solution, estimator
from tests.records.estimators.examples import draw


def solve(method: str, stop: str, counts: object, sizes: tuple[int, ...], channel: Support) -> Solution:
    return estimator(method, stop=stop, delta=0.001).estimate(counts, sizes=sizes, supports=[channel] * len(sizes))  # type: ignore[arg-type]


# The coordinate descent of LASSO may end after its most passes, of which scikit-learn warns.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_cells_that_the_lasso_prunes_stay_dead_in_the_papers_lremh_and_live_in_ours() -> None:
    sizes = (2, 2, 2, 2, 2)
    truth = np.random.default_rng(1).dirichlet(np.full(32, 0.3)).reshape(sizes)
    counts, channel = draw(truth, 20_000, f=0.1, seed=1)
    pruned = solve("lasso", "paper", counts, sizes, channel).joint == 0
    assert truth[pruned].sum() > 0.01
    assert np.all(solve("lremh", "paper", counts, sizes, channel).joint[pruned] == 0)
    np.testing.assert_allclose(solve("lremh", "certificate", counts, sizes, channel).joint, truth, atol=0.02)
