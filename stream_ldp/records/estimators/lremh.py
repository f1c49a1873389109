"""LREMH: LASSO finds the cells to begin with, EM the joint (Chu, Long and Liu, 2022, Algorithm 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.records.estimators.em import climb, iterate
from stream_ldp.records.estimators.lasso import pair_lasso, paper_lasso
from stream_ldp.records.estimators.solution import Start

if TYPE_CHECKING:
    from stream_ldp.records.estimators.likelihood import FloatArray
    from stream_ldp.records.estimators.problem import Fit, Problem

__all__ = ["CertifiedLREMH", "PaperLREMH"]


class CertifiedLREMH:
    """From the LASSO, or from the previous estimate, to the mode of the posterior.

    The objective is concave and a floor keeps pruned cells alive, so the optimum is that of EM: the LASSO chooses the
    road and can no longer spoil its end.
    """

    def fit(self, problem: Problem, start: FloatArray | None) -> Fit:
        """Climb to the mode of the posterior."""
        if start is not None:
            return climb(problem, start, Start.PREVIOUS)
        return climb(problem, pair_lasso(problem), Start.LASSO)


class PaperLREMH:
    """The paper's form: the cells that its LASSO leaves at zero are removed for good.

    delta: stop when no cell moves by as much.
    """

    def __init__(self, *, delta: float) -> None:
        self._delta = delta

    def fit(self, problem: Problem, start: FloatArray | None) -> Fit:  # noqa: ARG002
        """Iterate on the cells left; the previous estimate has no part in it."""
        return iterate(problem, paper_lasso(problem), Start.LASSO, self._delta)
