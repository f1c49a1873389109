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

    from numpy.typing import NDArray

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
    sizes, prior = problem.likelihood.sizes, problem.prior
    data = _Response.of(problem.counts, sizes=sizes, supports=problem.supports)
    centre = np.maximum(prior.centre.ravel(), _MIN_PROBABILITY)
    spring = np.sqrt(prior.strength / centre)
    height, rows = len(data.error), _rows_of_cells(sizes)
    # Behind them, each cell has a row of its own, which holds it to the centre.
    rows = np.column_stack([rows, np.arange(height, height + len(rows))])
    values = np.column_stack([(1.0 / data.error)[rows[:, :-1]], spring])
    response = np.concatenate([data.frequency / data.error, spring * centre])
    # Lasso averages the squares over the rows, so a penalty of 1 is one of 1 / rows.
    weights, gap = _non_negative(rows, values, response, 1.0 / len(response), centre, most=most)
    return on_simplex(weights).reshape(sizes), gap


def paper_lasso(counts: RowCounts, *, sizes: tuple[int, ...], supports: Sequence[Support]) -> FloatArray:
    """Estimate the joint from single bits; cells may be 0, as the paper's LREMH needs.

    The arguments are those of `Estimator.estimate`; there is at least one report.
    """
    singles = sum(sizes)
    response = _Response.of(counts, sizes=sizes, supports=supports).frequency[:singles]
    rows = _rows_of_cells(sizes)[:, : len(sizes)]
    weights, _ = _non_negative(rows, np.ones(rows.shape), response, _PAPER_ALPHA, None, most=math.inf)
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
        sums = np.zeros((counts.bits + 1, counts.bits + 1))
        rows = counts.unpacked()
        for begin in range(0, len(rows), _BLOCK):
            # Behind a column of ones, which makes singles of pairs.
            bits = np.pad(rows[begin : begin + _BLOCK].astype(np.float64), ((0, 0), (1, 0)), constant_values=1.0)
            sums += bits.T @ (counts.counts[begin : begin + _BLOCK, None] * bits)
        # Algorithm 2, line 4, for every report and bit. Of bits, which are 0 or 1, its square is linear as well.
        least, most = -zero / (one - zero), (1.0 - zero) / (one - zero)
        linear = _linear(least, most), _linear(least**2, most**2)
        products, squares = (each @ (sums / counts.reports) @ each.T for each in linear)
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


def _linear(at_zero: FloatArray, at_one: FloatArray) -> FloatArray:
    """Make the matrix that turns bits, behind a 1, into one of two numbers each, behind a 1."""
    matrix = np.diag(np.concatenate([[1.0], at_one - at_zero]))
    matrix[1:, 0] = at_zero
    return matrix


def _rows_of_cells(sizes: tuple[int, ...]) -> NDArray[np.intp]:
    """List the frequencies of the response that a user in each cell adds to, shape (cells, singles and pairs)."""
    values = np.indices(sizes).reshape(len(sizes), -1)
    rows = [np.add(v, offset) for v, offset in zip(values, np.cumsum((0, *sizes)), strict=False)]
    height = sum(sizes)
    for i, j in combinations(range(len(sizes)), 2):
        rows.append(height + values[i] * sizes[j] + values[j])
        height += sizes[i] * sizes[j]
    return np.stack(rows, axis=1)


def _non_negative(
    rows: NDArray[np.intp],
    values: FloatArray,
    response: FloatArray,
    alpha: float,
    start: FloatArray | None,
    *,
    most: float,
) -> tuple[FloatArray, float]:
    """Solve by coordinate descent, from `start` if there is one; return the weights and the duality gap.

    rows, values: of the design's entries, shape (columns, entries of each).
    most: the wanted gap, if it is smaller than `_GAP` allows.
    """
    # Imported here, since SciPy and scikit-learn take seconds to import and only LASSO needs them.
    from scipy import sparse  # noqa: PLC0415
    from sklearn import config_context  # noqa: PLC0415
    from sklearn.linear_model import enet_path  # noqa: PLC0415

    columns, entries = rows.shape
    # 32 bits: scikit-learn takes no wider indices.
    places, bounds = rows.ravel().astype(np.int32), np.arange(0, rows.size + 1, entries, dtype=np.int32)
    design = sparse.csc_array((values.ravel(), places, bounds), shape=(len(response), columns))
    # Not by `Lasso`, nor with validation: to look at the input takes longer than to solve a binary pair.
    with config_context(skip_parameter_validation=True):
        _, weights, gaps = enet_path(
            design,
            response,
            l1_ratio=1.0,
            alphas=[alpha],
            precompute=False,
            coef_init=None if start is None else start.copy(),
            positive=True,
            check_input=False,
            tol=min(_GAP, most / float(response @ response)),
            max_iter=_PASSES,
        )
    # The solver's objective, and so its gap, is a mean over the rows.
    return weights[:, 0], len(response) * float(gaps[0])


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
