"""The period after which the numbers of windows come again, as those of day and night do.

For each lag, windows are compared with those so many windows before, in standard errors. Where they are nearer to
those than to the windows just before, by more than chance allows over all lags, numbers alternate with that period.
"""

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

#: Periods that have to be seen before one is believed: the second could repeat the first by chance.
CYCLES = 3
#: Chance that a period is found, over all lags, where consecutive windows are no further apart than others.
_CHANCE = 0.01
#: Most of the squared distance to the window before that may be left to the one a period before. What windows learn
#: from each other makes consecutive ones alike, so that this is missed rather than found by chance.
_LEFT = 0.5
#: What another lag may have more than the best for the shorter one to be taken: multiples of a period are as good.
_AS_GOOD = 1.25


def period_of(numbers: NDArray[np.float64], errors: NDArray[np.float64], *, most: int) -> int | None:
    """Find the number of windows after which numbers come again; None if they do not, or it cannot be said.

    numbers: what windows that follow each other have estimated, shape (windows, numbers).
    errors: standard errors, of the same shape, each above 0.
    most: longest period, in windows.
    """
    lags = range(2, min(most, len(numbers) // CYCLES) + 1)
    if not lags:
        return None
    distances = {lag: _distances(numbers, errors, lag) for lag in lags}
    before = _distances(numbers, errors, 1)
    found = {}
    for lag, each in distances.items():
        gained = before[lag - 1 :] - each
        error = float(gained.std(ddof=1)) / len(gained) ** 0.5
        enough = NormalDist().inv_cdf(1 - _CHANCE / len(lags)) * error
        if gained.mean() > enough and each.mean() < _LEFT * before[lag - 1 :].mean():
            found[lag] = float(each.mean())
    if not found:
        return None
    least = min(found.values())
    return next(lag for lag, left in found.items() if left <= _AS_GOOD * least)


def _distances(numbers: NDArray[np.float64], errors: NDArray[np.float64], lag: int) -> NDArray[np.float64]:
    """Return the mean squared distance of each window to the one so many windows before, in units of its variance."""
    squares = (numbers[lag:] - numbers[:-lag]) ** 2 / (errors[lag:] ** 2 + errors[:-lag] ** 2)
    found: NDArray[np.float64] = squares.mean(axis=1)
    return found
