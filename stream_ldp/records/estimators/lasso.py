"""Regression of debiased bit counts on the cells of the joint (Chu, Long and Liu, 2022, section 4.5).

A cell's column of the design matrix M has a 1 for each count that a user in this cell adds to. The paper's response
holds the counts of single bits, which do not identify the joint: its LASSO finds one of the joints with these
marginals. Ours adds the counts of pairs of bits of two attributes, and weighs each by its standard error. It shrinks
the joint towards the prior's centre C, worth s users, by the Gaussian form of the prior:

    minimise over beta >= 0:  1/2 |(y - M beta) / sd|^2 + s/2 sum_w (beta_w - C_w)^2 / C_w + |beta|_1.

It is then projected to the simplex. One pass over the reports, and no EM on the joint.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_ldp.mechanisms.simplex import on_simplex
from stream_ldp.records.estimators.objective import Objective
from stream_ldp.records.estimators.problem import Fit, Problem
from stream_ldp.records.estimators.solution import Start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy import sparse

    from stream_ldp.mechanisms import Support
    from stream_ldp.pipeline.statistics import RowCounts
    from stream_ldp.records.estimators.patterns import FloatArray

#: Weight of the L1 norm in the paper's form, for frequencies and averaged over the bits; the paper gives no value.
#: Of 0.01, 0.001 and 0.0001 this gives the best start on Adult; on NLTCS they are equally good.
_PAPER_ALPHA = 1e-4
#: Coordinate descent ends when the duality gap is below this share of |y|^2, after tens to hundreds of passes, or
#: after so many passes.
_GAP, _PASSES = 1e-8, 10_000
#: Number of rows unpacked at a time: 32 MB for 64 bits, as float64.
_BLOCK = 2**16
#: Floor of the centre, by which is divided; low enough that cells which the centre rules out stay out.
_MIN_PROBABILITY = 1e-12


class PairLasso:
    """Our form, with pairs of bits and a prior; see the module."""

    def fit(self, problem: Problem, start: FloatArray | None) -> Fit:  # noqa: ARG002
        """Solve once; there is no start."""
        joint, gap = _pair_lasso(problem, most=problem.tolerance)
        return _fit(problem, joint, problem.prior.strength)._replace(certificate=gap)


class PaperLasso:
    """The paper's form, by single bits alone."""

    def fit(self, problem: Problem, start: FloatArray | None) -> Fit:  # noqa: ARG002
        """Solve once; there is no start."""
        joint = paper_lasso(problem.counts, sizes=problem.likelihood.sizes, supports=problem.supports)
        return _fit(problem, joint, 0.0)


def pair_lasso(problem: Problem) -> FloatArray:
    """Estimate the joint from single bits, pairs of bits and the prior."""
    joint, _ = _pair_lasso(problem, most=math.inf)
    return joint


def _pair_lasso(problem: Problem, *, most: float) -> tuple[FloatArray, float]:
    """Return the estimate, and the duality gap: nats, like the objective, which is at most so far above its least.

    most: nats; the wanted gap, if it is smaller than the usual one.
    """
    # Imported here, since SciPy and scikit-learn take seconds to import and only LASSO needs them.
    from scipy import sparse  # noqa: PLC0415

    sizes, prior = problem.likelihood.sizes, problem.prior
    data = _Response.of(problem.counts, sizes=sizes, supports=problem.supports)
    centre = np.maximum(prior.centre.ravel(), _MIN_PROBABILITY)
    spring = np.sqrt(prior.strength / centre)
    design = sparse.vstack([sparse.diags_array(1.0 / data.error) @ _design(sizes), sparse.diags_array(spring)])
    response = np.concatenate([data.frequency / data.error, spring * centre])
    # Lasso averages the squares over the rows, so a penalty of 1 is one of 1 / rows.
    weights, gap = _non_negative(design.tocsc(), response, 1.0 / len(response), centre, most=most)
    return on_simplex(weights).reshape(sizes), gap


def paper_lasso(counts: RowCounts, *, sizes: tuple[int, ...], supports: Sequence[Support]) -> FloatArray:
    """Estimate the joint from single bits; cells may be 0, as the paper's LREMH needs.

    The arguments are those of `Estimator.estimate`; there is at least one report.
    """
    singles = sum(sizes)
    response = _Response.of(counts, sizes=sizes, supports=supports).frequency[:singles]
    weights, _ = _non_negative(_design(sizes)[:singles].tocsc(), response, _PAPER_ALPHA, None, most=math.inf)
    total = float(weights.sum())
    joint = weights / total if total else np.full(len(weights), 1.0 / len(weights))
    return joint.reshape(sizes)


class _Response(NamedTuple):
    """Debiased frequencies of single bits, then of pairs of bits of two attributes, and their standard errors."""

    frequency: FloatArray
    error: FloatArray

    @classmethod
    def of(cls, counts: RowCounts, *, sizes: tuple[int, ...], supports: Sequence[Support]) -> _Response:
        one = np.repeat([support.one for support in supports], sizes)
        zero = np.repeat([support.zero for support in supports], sizes)
        bits = counts.bits
        products, squares = np.zeros((bits + 1, bits + 1)), np.zeros((bits + 1, bits + 1))
        rows = counts.unpacked()
        for begin in range(0, len(rows), _BLOCK):
            # Algorithm 2, line 4, for every report and bit, behind a column of ones that makes singles of pairs.
            unbiased = (rows[begin : begin + _BLOCK] - zero) / (one - zero)
            x = np.column_stack([np.ones(len(unbiased)), unbiased])
            c = counts.counts[begin : begin + _BLOCK, None] / counts.reports
            products += x.T @ (c * x)
            squares += np.square(x).T @ (c * np.square(x))
        # A bit that never varied has the error of one user, not none.
        variance = np.maximum(squares - products**2, 1.0 / counts.reports) / counts.reports
        ends = np.cumsum((1, *sizes))
        blocks = [np.s_[0, 1:]] + [
            np.s_[ends[i] : ends[i + 1], ends[j] : ends[j + 1]] for i, j in combinations(range(len(sizes)), 2)
        ]
        return cls(
            np.concatenate([products[block].ravel() for block in blocks]),
            np.sqrt(np.concatenate([variance[block].ravel() for block in blocks])),
        )


def _design(sizes: tuple[int, ...]) -> sparse.csr_array:
    """Make M, with a row for each frequency of the response and a column for each cell."""
    from scipy import sparse  # noqa: PLC0415  see pair_lasso

    values = np.indices(sizes).reshape(len(sizes), -1)
    rows = [np.add(v, offset) for v, offset in zip(values, np.cumsum((0, *sizes)), strict=False)]
    height = sum(sizes)
    for i, j in combinations(range(len(sizes)), 2):
        rows.append(height + values[i] * sizes[j] + values[j])
        height += sizes[i] * sizes[j]
    cells = values.shape[1]
    # 32 bits: scikit-learn takes no wider indices.
    down = np.stack(rows).ravel().astype(np.int32)
    across = np.tile(np.arange(cells, dtype=np.int32), len(rows))
    return sparse.csr_array((np.ones(len(down)), (down, across)), shape=(height, cells))


def _non_negative(
    design: sparse.csc_array, response: FloatArray, alpha: float, start: FloatArray | None, *, most: float
) -> tuple[FloatArray, float]:
    """Solve by coordinate descent, from `start` if there is one; return the weights and the duality gap.

    most: the wanted gap, if it is smaller than `_GAP` allows.
    """
    from sklearn.linear_model import Lasso  # noqa: PLC0415  see pair_lasso

    tolerance = min(_GAP, most / float(response @ response))
    lasso = Lasso(
        alpha=alpha, positive=True, fit_intercept=False, tol=tolerance, max_iter=_PASSES, warm_start=start is not None
    )
    if start is not None:
        lasso.coef_ = start.copy()
    weights: FloatArray = lasso.fit(design, response).coef_
    # The solver's objective, and so its gap, is a mean over the rows.
    return weights, len(response) * float(lasso.dual_gap_)


def _fit(problem: Problem, joint: FloatArray, prior_users: float) -> Fit:
    likelihood = Objective(likelihood=problem.likelihood, centre=problem.prior.centre, strength=0.0)
    point = likelihood.at(joint)
    return Fit(
        joint=joint,
        start=Start.LASSO,
        iterations=0,
        certificate=likelihood.certificate(point),
        log_likelihood=point.log_likelihood,
        prior_users=prior_users,
        shrunk=False,
    )
