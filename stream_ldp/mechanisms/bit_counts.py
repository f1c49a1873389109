"""Tests whether reports have as many set bits as RR-LDP gives them, against clients that send what they like.

In an attribute of r values, an honest report has one bit that is 1 with probability q*, and r - 1 bits that are 1
with p* (Chu, Long and Liu, 2022, eqs. 8 and 9), whichever value is the user's. So the number of its set bits has a
distribution that nobody's data can change. If the numbers are distributed otherwise, this mechanism did not make the
reports: an attacker crafts them (Cao, Jia and Gong, 2021; Li et al., 2025, use the same number to detect it), or a
client is broken.

The tests cannot find reports whose numbers of set bits are distributed as those of honest ones. Two attackers are
never flagged, whatever their share of the users: one who draws that number from the honest distribution and sets a
target bit first, and one who runs the honest mechanism on a false value. No test of reports alone can distinguish the
latter from a user who has that value. `python -m tests.benchmarks.poisoning` prints what each attack gains and what
is flagged.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.plausibility import BATCH_FALSE_ALARM, MIN_EXPECTED, PlausibilityTest, compared
from stream_ldp.mechanisms.support import Support

#: Size of a batch's score that honest reports exceed with probability `BATCH_FALSE_ALARM` at most: the x at which
#: 2 exp(-x^2 / 2) is that probability.
BATCH_LIMIT = math.sqrt(2 * math.log(2 / BATCH_FALSE_ALARM))


def bit_count_distribution(size: int, channel: Support) -> NDArray[np.float64]:
    """Return P(0), ..., P(size) set bits in an honest report of an attribute of `size` values, shape (size + 1,)."""
    distribution = np.array([1 - channel.one, channel.one])
    for _ in range(size - 1):
        distribution = np.convolve(distribution, (1 - channel.zero, channel.zero))
    return distribution


def check(
    bits: NDArray[np.uint8],
    counts: NDArray[np.int64 | np.float64],
    *,
    sizes: Sequence[int],
    channel: Support,
    design_effect: float = 1.0,
) -> PlausibilityTest:
    """Test the reports of a window, or of any other collection of reports, against their channel.

    bits: 0 or 1, uint8, shape (n, sum of sizes): those of attributes of these sizes, in this order.
    counts: how often each row came, shape (n,). Float weights that sum to Kish's effective number of reports give the
        counts the variance of that many reports, so the statistic has the same limit; the accuracy measured at
        `MIN_EXPECTED` holds for whole counts.
    design_effect: bound of the growth of variance where users report repeatedly, as from `RRLDP.design_effect`; the
        statistic is divided by it, which is conservative (Rao and Scott, 1981). With 1, trust a flag only if no user
        reports twice in what is checked, remembered windows included. Windows that share users share their permanent
        responses too: the less noise the instantaneous response adds, the more often a false alarm is repeated in the
        next window.

    Each attribute's numbers of set bits are compared with `bit_count_distribution`, cells of fewer than
    `MIN_EXPECTED` reports pooled; attributes are independent, so their statistics add. The sum is divided by the
    factor that makes its mean that of chi-square (Williams, 1976); see `MIN_EXPECTED` for the p-value's accuracy. If
    no attribute has reports enough for two cells, nothing is tested and the p-value is 1.

    The cost grows with the number of distinct rows.

    Raises:
        ValueError: the sizes do not add up to the bits of a row.
    """
    if sum(sizes) != bits.shape[1]:
        raise ValueError(f"attributes of sizes {tuple(sizes)} do not make rows of {bits.shape[1]} bits")
    first_bits = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    set_bits = np.add.reduceat(bits, first_bits, axis=1, dtype=np.int64)
    reports = counts.sum() / design_effect
    sums = []
    for attribute, size in enumerate(sizes):
        expected = reports * bit_count_distribution(size, channel)
        observed = np.bincount(set_bits[:, attribute], weights=counts, minlength=size + 1) / design_effect
        cells = _pooled(expected)
        sums.append((np.add.reduceat(observed, cells), np.add.reduceat(expected, cells)))
    return compared(sums)


def batch_scores(
    rows: NDArray[np.uint8],
    counts: NDArray[np.int64],
    *,
    sizes: Sequence[int],
    channel: Support,
    design_effect: float | NDArray[np.float64] = 1.0,
) -> NDArray[np.float64]:
    """Score how far the set bits of each of many batches are from the channel's expectation, shape (batches,).

    rows: packed reports of all batches one after another, uint8, shape (n, ceil(sum of sizes / 8)).
    counts: reports of each batch, int64, shape (batches,), each at least 1, their sum n.
    design_effect: as for `check`, of all batches or of each; it matters most where a batch holds one user's reports.

    A positive score means too many bits, a negative one too few; beyond `BATCH_LIMIT` a batch is implausible. With S
    set bits, known mean M and known variance V, the score is (S - M) / sqrt(V + |S - M| / 3): a z score, widened by
    Bernstein's inequality (Boucheron, Lugosi and Massart, 2013, Corollary 2.11), so that P(|score| >= x) <= 2
    exp(-x^2 / 2) for every number of reports and every channel. A plain z reaches ten in one of a hundred single
    reports of a binary attribute at f = 0.01 without an instantaneous response. The bound assumes that users report
    once; with a design effect it holds in the limit of large batches. Reports padded to the expected total of set
    bits are not found here, only by `check`.

    It takes 0.8 ns for a report of 16 bits and 12 ns for one of 104, as measured.

    Raises:
        ValueError: a batch is empty, or there are more or fewer rows than the counts say.
    """
    if len(counts) and counts.min() < 1:
        raise ValueError("every batch needs at least 1 report")
    if counts.sum() != len(rows):
        raise ValueError(f"{len(rows)} rows for batches of {counts.sum()} reports in all")
    attributes, bits = len(sizes), sum(sizes)
    mean = attributes * channel.one + (bits - attributes) * channel.zero
    variance = attributes * channel.one * (1 - channel.one) + (bits - attributes) * channel.zero * (1 - channel.zero)
    words = _words(rows)
    firsts = (np.cumsum(counts) - counts) * words.shape[1]
    set_bits = np.add.reduceat(np.bitwise_count(words).ravel(), firsts, dtype=np.int64)
    excess = set_bits - mean * counts
    return excess / np.sqrt(design_effect * (variance * counts + np.abs(excess) / 3))  # type: ignore[no-any-return]


def _words(rows: NDArray[np.uint8]) -> NDArray[np.unsignedinteger[Any]]:
    """Read rows as the largest words that fill them: there are fewer to add up than bytes."""
    size = next(size for size in (8, 4, 2, 1) if rows.shape[1] % size == 0)
    return np.ascontiguousarray(rows).view(f"<u{size}")


def _pooled(expected: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the first cells of runs of neighbours that expect `MIN_EXPECTED` reports each; of one run if too few."""
    firsts, held = [0], 0.0
    for cell, reports in enumerate(expected.tolist()):
        if held >= MIN_EXPECTED:
            firsts.append(cell)
            held = 0.0
        held += reports
    if held < MIN_EXPECTED and len(firsts) > 1:
        # The cells that are left over at the end join the run before them.
        firsts.pop()
    return np.array(firsts)
