"""LREMH: EM that starts from the cells that LASSO finds (Chu, Long and Liu, 2022, Algorithm 2)."""

from stream_ldp.records.estimators.em import climb, iterate
from stream_ldp.records.estimators.lasso import pair_lasso, paper_lasso
from stream_ldp.records.estimators.patterns import FloatArray
from stream_ldp.records.estimators.problem import Fit, Problem
from stream_ldp.records.estimators.solution import Start


class CertifiedLREMH:
    """EM with a learnt prior, from the estimate of LASSO or the previous estimate.

    The objective is concave and a floor keeps pruned cells positive, so the optimum is that of EM: the LASSO changes
    the path to it, and can no longer change the result.
    """

    def fit(self, problem: Problem, start: FloatArray | None) -> Fit:
        """Climb to the mode of the posterior."""
        if start is not None:
            return climb(problem, start, Start.PREVIOUS)
        return climb(problem, pair_lasso(problem), Start.LASSO)


class PaperLREMH:
    """The paper's form of LREMH, which removes the cells that LASSO estimates as 0.

    delta: stop when no cell moves by this much.
    """

    def __init__(self, *, delta: float) -> None:
        self._delta = delta

    def fit(self, problem: Problem, start: FloatArray | None) -> Fit:  # noqa: ARG002
        """Iterate on the remaining cells; the previous estimate is not used."""
        first = paper_lasso(problem.counts, sizes=problem.likelihood.sizes, supports=problem.supports)
        return iterate(problem, first, Start.LASSO, self._delta)
