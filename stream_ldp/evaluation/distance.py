"""How far an estimated joint distribution is from the true one, and how far its errors can be trusted."""

import numpy as np
from numpy.typing import NDArray

#: Smallest cell whose interval is scored, as a share of the users: far below, a cell is a few users.
_COVERED_CELL = 0.01
#: Standard errors to either side of a 95 % interval.
_NOMINAL = 1.96
#: Half of the mean absolute error of a normal distribution, in its standard errors: sqrt(2 / pi) / 2.
_HALF_ABSOLUTE = 0.399


def average_variation_distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Compute half the sum of |P - Q| over the cells, in [0, 1] (Chu, Long and Liu, 2022, eq. 12)."""
    return 0.5 * float(np.abs(first - second).sum())


def coverage(estimate: NDArray[np.float64], standard_error: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    """Compute the share of the cells that are within their 95 % interval, in [0, 1].

    Cells are those with 1 % of the users or more; if none has as many, the largest ones. All arrays have one shape.
    """
    large = truth >= min(_COVERED_CELL, truth.max())
    return float((np.abs(estimate - truth) <= _NOMINAL * standard_error)[large].mean())


def width(standard_error: NDArray[np.float64], *, distance: float) -> float:
    """Compute the average variation distance that standard errors let expect, over the one that was measured.

    It is 1 where errors are as large as stated, and 0 for a distance of 0, which has no ratio.
    """
    return _HALF_ABSOLUTE * float(standard_error.sum()) / distance if distance else 0.0


def joint_metrics(
    estimate: NDArray[np.float64], standard_error: NDArray[np.float64], truth: NDArray[np.float64]
) -> dict[str, float]:
    """Compute the average variation distance of a joint distribution, its coverage and width, and rmse of a cell."""
    avd = average_variation_distance(estimate, truth)
    return {
        "avd": avd,
        "coverage": coverage(estimate, standard_error, truth),
        "width": width(standard_error, distance=avd),
        "rmse": float(np.sqrt(np.mean((estimate - truth) ** 2))),
    }


def joint_of(people: NDArray[np.integer], sizes: tuple[int, ...]) -> NDArray[np.float64]:
    """Compute the joint distribution of records, shape `sizes`.

    people: valid value indices, shape (n, attributes).
    """
    cells = np.ravel_multi_index(tuple(people.T), sizes)
    return np.bincount(cells, minlength=int(np.prod(sizes))).reshape(sizes) / len(people)
