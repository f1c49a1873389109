"""Compression: the channel of least epsilon for a distortion and a number of outputs, by linear programmes.

A channel may lose epsilon if no output is more than e^epsilon times as likely for one input as for another. Of all
such channels, a linear programme finds the one of least distortion; the least epsilon is found by bisection (Xiong,
Sarwate and Mandayam, 2016). The distortion is the expected one of the input that has most of it, so that it holds
whatever the population is.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError
from stream_ldp.extras import imported
from stream_ldp.mechanisms import ChannelResponse
from stream_ldp.mechanisms.channel import exact_rows

#: What a distortion may be measured by, by the name in a collection file.
MEASURES = ("hamming", "squared")

#: Most values, and outputs, of a channel that is solved for: a programme has an unknown for each pair of both.
MAX_VALUES = 64

#: Epsilon is a multiple of 2^-20 before the table is rounded, far above the error of a programme's solution, so that
#: every solver finds the same. Above the largest one, e^-epsilon is near that error.
_STEPS_PER_NAT = 2**20
_MAX_EPSILON = 14

#: Probabilities below are taken for 0: the errors of a programme's solution.
_ZERO_PROBABILITY = 1e-7


def distortions(size: int, alphabet: int, measure: str) -> NDArray[np.float64]:
    """Return how far each output is from each value, float64, shape (size, alphabet).

    hamming: output y stands for value y, and is 1 away from any other value.
    squared: values are numbered in order, and output y stands for the middle of those from size y / alphabet to
        size (y + 1) / alphabet; the distortion is the square of the difference.
    """
    values = np.arange(size)
    if measure == "hamming":
        others: NDArray[np.bool_] = values[:, None] != np.arange(alphabet)
        return others.astype(np.float64)
    edges = np.arange(alphabet + 1) * size // alphabet
    middles = (edges[:-1] + edges[1:] - 1) / 2
    squared: NDArray[np.float64] = (values[:, None] - middles) ** 2
    return squared


@lru_cache
def least_epsilon(distortion: float, *, size: int, alphabet: int, measure: str) -> ChannelResponse:
    """Return the channel from `size` values to `alphabet` outputs of least epsilon for a distortion.

    measure: one of `MEASURES`, see `distortions`.

    Raises:
        ParameterError: no channel has so little distortion or needs so much, or there are too many values.
    """
    if not (2 <= size <= MAX_VALUES and 2 <= alphabet <= size):
        raise ParameterError(
            f"a channel is solved for 2 to {MAX_VALUES} values and at most as many outputs, got {size} and {alphabet}"
        )
    costs = distortions(size, alphabet, measure)
    least, most = float(costs.min(axis=1).max()), _solved(costs, 0.0)[0]
    if distortion < least:
        raise ParameterError(
            f"no channel from {size} values to {alphabet} outputs has a distortion of {distortion:g}, {measure}: it "
            f"is at least {least:g}"
        )
    if distortion >= most:
        raise ParameterError(
            f"a distortion of {distortion:g}, {measure}, is that of reports that say nothing: give less than {most:g}"
        )
    low, high = 0, _MAX_EPSILON * _STEPS_PER_NAT
    if (reached := _solved(costs, _MAX_EPSILON)[0]) > distortion:
        raise ParameterError(
            f"a distortion of {distortion:g}, {measure}, takes more than epsilon {_MAX_EPSILON}, which reaches "
            f"{reached:.4g}: give more distortion"
        )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _solved(costs, middle / _STEPS_PER_NAT)[0] <= distortion else (middle, high)
    epsilon = high / _STEPS_PER_NAT
    channel = _solved(costs, epsilon)[1]
    largest = channel.max(axis=0)
    # What the errors of the solution have put beyond the odds of epsilon is put back.
    channel = np.where(largest > _ZERO_PROBABILITY, np.maximum(channel, largest * math.exp(-epsilon)), 0.0)
    channel /= channel.sum(axis=1, keepdims=True)
    return ChannelResponse(table=exact_rows(channel.tolist()))


def _solved(costs: NDArray[np.float64], epsilon: float) -> tuple[float, NDArray[np.float64]]:
    """Find the channel of least distortion with at most this epsilon.

    The unknowns are the probabilities, the least probability of each output, and the distortion.
    """
    # Not imported above: a client that solves for no channel need not wait for the solver.
    sparse, linprog = imported("scipy.sparse", extra="worker"), imported("scipy.optimize", extra="worker").linprog

    inputs, outputs = costs.shape
    pairs, ones = np.arange(costs.size), np.ones(costs.size)
    unknowns = costs.size + outputs + 1
    least = costs.size + pairs % outputs

    def pairwise(of_pair: float, of_least: float) -> Any:
        entries = np.concatenate([of_pair * ones, of_least * ones])
        return sparse.coo_array(
            (entries, (np.tile(pairs, 2), np.concatenate([pairs, least]))), shape=(costs.size, unknowns)
        )

    rows = pairs // outputs
    worst = sparse.coo_array(
        (
            np.concatenate([costs.reshape(-1), -np.ones(inputs)]),
            (
                np.concatenate([rows, np.arange(inputs)]),
                np.concatenate([pairs, np.full(inputs, unknowns - 1)]),
            ),
        ),
        shape=(inputs, unknowns),
    )
    solution = linprog(
        np.eye(unknowns)[-1],
        A_ub=sparse.vstack([pairwise(-1.0, 1.0), pairwise(1.0, -math.exp(epsilon)), worst]),
        b_ub=np.zeros(2 * costs.size + inputs),
        A_eq=sparse.coo_array((ones, (rows, pairs)), shape=(inputs, unknowns)),
        b_eq=np.ones(inputs),
        method="highs",
    )
    if not solution.success:
        raise ParameterError(f"no channel of epsilon {epsilon} was found: {solution.message}")
    return float(solution.fun), solution.x[: costs.size].reshape(costs.shape)
