"""Tests whether reports draw the rows of a Hadamard matrix uniformly, whatever users hold."""

import math

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.plausibility import BATCH_FALSE_ALARM, MIN_EXPECTED, PlausibilityTest, compared

#: Least expected reports of each of many equally likely cells, times the fourth root of their number. The corrected
#: statistic is still too large by about 0.35 / e^2 for a cell of e reports (measured at e = 5), and 2^20 cells of 5
#: were flagged every time. At 2 k^(1/4) reports the sum over k cells is off by 0.06 of its standard deviation.
_EXPECTED_OF_MANY = 2.0


def check_draws(draws: NDArray[np.int64]) -> PlausibilityTest:
    """Test the rows of a Hadamard matrix that reports have drawn.

    draws: how often each row was drawn, int64, shape (m,).

    An honest report draws its rows uniformly, whatever its user holds, so data cannot change their distribution.
    Reports that push an item come from rows in which the item has the sign that they send. The test cannot find
    reports with uniform rows and crafted signs. Neighbouring rows are pooled where reports are few.
    """
    return compared([even_cells(draws)])


def even_cells(draws: NDArray[np.int64 | np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Pool neighbouring rows that reports have drawn, so that each cell has enough of them for a test.

    draws: how often each row was drawn, shape (m,); whole numbers, or weights that sum to an effective number.

    Returns:
        How often the rows of each cell were drawn, and how often honest reports draw them on average, shape (cells,).
    """
    rows, reports = len(draws), float(draws.sum())
    least = max(MIN_EXPECTED, _EXPECTED_OF_MANY * rows**0.25)
    together = math.ceil(min(1.0, least / max(reports, 1)) * rows)
    # The rows that are left over at the end join the cell before them.
    cells = np.arange(0, rows - together + 1, together)
    expected = np.diff(cells, append=rows) * (reports / rows)
    return np.add.reduceat(draws, cells).astype(np.float64), expected


def uneven_draws(indices: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Decide which batches draw rows as honest reports do in less than one of 10^9 batches, bool, shape (batches,).

    indices: bits of the row numbers that were drawn, 0 or 1, uint8, shape (n, bits), one batch after another.
    counts: reports of each batch, int64, shape (batches,), each at least 1, their sum n.

    Each bit of a uniform row number is a fair coin. So among n reports it is set n / 2 times, up to sqrt(n ln(2 bits
    / 10^-9) / 2) more or less (Hoeffding, 1963). 49 reports of one and the same row are found at 20 bits.
    """
    bits = indices.shape[1]
    set_bits = np.add.reduceat(indices, np.cumsum(counts) - counts, axis=0, dtype=np.int64)
    limit = np.sqrt(counts * math.log(2 * bits / BATCH_FALSE_ALARM) / 2)
    return np.asarray(np.any(np.abs(set_bits - counts[:, None] / 2) > limit[:, None], axis=1))
