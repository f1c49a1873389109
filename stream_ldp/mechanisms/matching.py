"""How many users are found again in the next period of linked reports, by their permanent noise."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Users among whom each is looked for: twice as many take four times as long, a second for 500 bits.
USERS = 400


def matched_share(
    sizes: Sequence[int], *, f: float, p: float, q: float, reports: int, users: int = USERS, seed: int = 0
) -> float:
    """Simulate two periods of linked reports, and return the share of users who are matched across them.

    For each user of the first period, an attacker who reads the reports looks for the user of the second whose
    permanent bits are most likely the same: the one with the largest likelihood ratio of the two counts of ones of
    each bit, as if bits were independent. Users' values are uniform, which is the worst case for a reader.

    sizes: number of values of each attribute.
    f, p, q: the noise, as `RRLDP` has it; p is below q.
    reports: of each user in each period, at least 1.
    users: number of users who report in both periods.
    seed: of the simulation, so that a plan says the same whenever it is printed.
    """
    rng = np.random.default_rng(seed)
    values = np.column_stack([rng.integers(size, size=users) for size in sizes])
    held = values + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    bits = np.zeros((users, sum(sizes)), dtype=np.bool_)
    np.put_along_axis(bits, held, values=True, axis=1)
    bits ^= rng.random(bits.shape) < f / 2
    # P(a permanent bit is 1).
    share = np.repeat(1 / np.array(sizes), sizes)
    one = share * (1 - f / 2) + (1 - share) * f / 2
    first, second = (_odds(rng.binomial(reports, np.where(bits, q, p)), reports=reports, p=p, q=q) for _ in range(2))
    scores = np.zeros((users, users))
    for bit, chance in enumerate(one.tolist()):
        ours, theirs = first[:, bit], second[:, bit]
        both = np.add.outer(ours, theirs) + np.log(chance)
        # What depends on the user of the first period alone decides nothing.
        scores += np.logaddexp(np.log1p(-chance), both) - np.logaddexp(np.log1p(-chance), np.log(chance) + theirs)
    return float((scores.argmax(axis=1) == np.arange(users)).mean())


def _odds(ones: NDArray[np.int64], *, reports: int, p: float, q: float) -> NDArray[np.float64]:
    """Return ln [P(ones | permanent 1) / P(ones | permanent 0)]; of chances of 0, as if they were 10^-9."""
    least = 1e-9
    for_one = np.log(max(q, least)) - np.log(max(p, least))
    for_zero = np.log(max(1 - q, least)) - np.log(max(1 - p, least))
    odds: NDArray[np.float64] = ones * for_one + (reports - ones) * for_zero
    return odds
