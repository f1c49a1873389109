"""Whether reports look as the mechanism makes them: a test against clients that send what they like.

An honest report has, in an attribute of r values, one bit that is 1 with probability q* and r - 1 bits that are 1
with p* (Chu, Long and Liu, 2022, eqs. 8 and 9), whichever value is the user's. So the number of its set bits has a
distribution that nobody's data can change, and reports whose numbers are distributed otherwise were not made by
this mechanism: by an attacker who crafts them (Cao, Jia and Gong, 2021; Li et al., 2025, detect by the same
number), or by a client that is broken.

What it cannot see: reports whose numbers of set bits are distributed as honest ones are. An attacker who draws that
number from the honest distribution and spends it on a target bit first, or who runs the honest mechanism on a false
value, is not flagged at any share of the users; no test of reports alone can tell the latter from a user who has
that value. `python -m tests.benchmarks.poisoning` prints what each attack gains and what is flagged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import RRLDP
    from stream_ldp.mechanisms.channel import BitChannel
    from stream_ldp.pipeline.statistics import RowCounts

__all__ = [
    "BATCH_LIMIT",
    "FALSE_ALARM_RATE",
    "Plausibility",
    "batch_scores",
    "bit_count_distribution",
    "check",
    "check_draws",
    "design_effect",
    "uneven_draws",
]

#: Chance that the reports of honest users are flagged, each time they are checked: an estimate with a window a
#: minute, 525,960 a year, has one false alarm in two years.
FALSE_ALARM_RATE = 1e-6

#: Chance that an honest batch is flagged: a worker that counts a thousand batches a second has at most one false
#: alarm in eleven days.
_BATCH_FALSE_ALARM = 1e-9

#: Size of a batch's score that honest reports exceed with that chance at most, from 2 exp(-x^2 / 2).
BATCH_LIMIT = math.sqrt(2 * math.log(2 / _BATCH_FALSE_ALARM))

#: Least expected reports of a cell; smaller ones are pooled with their neighbours. By exact enumeration (10 to 1,000
#: reports, 1 to 50 attributes of 2 to 20 values, six noise levels, up to four cells each) honest reports then have a
#: p-value below 1e-6 with a chance of at most 2.4e-6, or 5.9e-6 where one attribute has fewer than 50 reports. The
#: same cells under Pearson's statistic reach 1.4e-5, and cells of one report 4e-4: it overrates a rare cell.
MIN_EXPECTED = 5.0

#: Least expected reports of each of many equally likely cells, times the fourth root of their number. The corrected
#: statistic is still too large by about 0.35 / e^2 for a cell of e reports (measured at e = 5), and 2^20 cells of 5
#: were flagged every time. At 2 k^(1/4) reports the sum over k cells is off by 0.06 of its standard deviation.
_EXPECTED_OF_MANY = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Plausibility:
    """How well reports agree with the mechanism that is said to have made them.

    statistic: corrected likelihood-ratio statistic of the numbers of set bits, summed over attributes; about
        chi-square distributed for honest reports.
    degrees_of_freedom: of that distribution; 0 where there are too few reports to say anything.
    p_value: chance that honest reports agree no better, in [0, 1].
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float

    @property
    def flagged(self) -> bool:
        """Whether honest reports would look like this less than once in 1 / `FALSE_ALARM_RATE` checks."""
        return self.p_value < FALSE_ALARM_RATE


def bit_count_distribution(size: int, channel: BitChannel) -> NDArray[np.float64]:
    """P(0), ..., P(size) set bits in an honest report of an attribute of `size` values, shape (size + 1,)."""
    distribution = np.array([1 - channel.one, channel.one])
    for _ in range(size - 1):
        distribution = np.convolve(distribution, (1 - channel.zero, channel.zero))
    return distribution


def design_effect(mechanism: RRLDP, *, reports_per_user: float) -> float:
    """Upper bound of how much the variance of counts grows because users report more than once.

    reports_per_user: for users with m_1, m_2, ... reports in what is checked, sum m^2 / sum m: how many reports the
        user of an average report has sent. No report says so; whoever runs the clients knows their interval.

    The reports of a user share the permanent response and are otherwise independent. For a function h of the numbers
    of set bits, m of them have variance m Var h + m (m - 1) Var E[h | permanent response], and the last is at most
    rho Var h with rho the squared maximal correlation of permanent and reported bits: for independent bits the
    largest one of a single bit (Witsenhausen, 1975), which for binary variables is their plain correlation. With
    a = P(permanent bit is 1) and s = P(reported bit is 1), rho = a (1 - a) (q - p)^2 / (s (1 - s)). It is 1 without
    an instantaneous response, where a user's reports are copies, and small with f.

    Raises:
        ValueError: fewer than one report per user.
    """
    if reports_per_user < 1:
        raise ValueError(f"a user who is counted has sent at least 1 report, got reports_per_user={reports_per_user}")
    p, q = mechanism.response
    channel = mechanism.channel()
    covariance = mechanism.flip * (1 - mechanism.flip) * (q - p) ** 2
    shared = max(covariance / (rate * (1 - rate)) for rate in (channel.one, channel.zero))
    return 1 + (reports_per_user - 1) * shared


def check(
    counts: RowCounts, *, sizes: Sequence[int], channel: BitChannel, design_effect: float = 1.0
) -> Plausibility:
    """Test the reports of a window, or of any other collection of reports, against their channel.

    counts: of rows whose bits are those of attributes of these sizes, in this order. Float weights that sum to
        Kish's effective number of reports give the counts the variance of that many reports, so the statistic has
        the same limit; the accuracy measured at `MIN_EXPECTED` is that of whole counts.
    design_effect: bound of the growth of variance where users report repeatedly, from the function of that name; the
        statistic is divided by it, which is conservative (Rao and Scott, 1981). With 1, trust a flag only if no user
        reports twice in what is checked, remembered windows included. Windows that share users share their permanent
        responses too: the less the instantaneous response adds, the more a false alarm of one comes back in the next.

    Each attribute's numbers of set bits are compared with `bit_count_distribution`, cells of fewer than
    `MIN_EXPECTED` reports pooled; attributes are independent, so their statistics add. The sum is divided by the
    factor that makes its mean that of chi-square (Williams, 1976): the p-value's accuracy stands at `MIN_EXPECTED`.
    With too few reports for two cells anywhere, none included, nothing is tested and the p-value is 1.

    The cost is that of the distinct rows. Raises:
        ValueError: the sizes do not add up to the bits of a row.
    """
    if sum(sizes) != counts.bits:
        raise ValueError(f"attributes of sizes {tuple(sizes)} do not make rows of {counts.bits} bits")
    first_bits = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    set_bits = np.add.reduceat(counts.unpacked(), first_bits, axis=1, dtype=np.int64)
    reports = counts.reports / design_effect
    compared = []
    for attribute, size in enumerate(sizes):
        expected = reports * bit_count_distribution(size, channel)
        observed = np.bincount(set_bits[:, attribute], weights=counts.counts, minlength=size + 1) / design_effect
        cells = _pooled(expected)
        compared.append((np.add.reduceat(observed, cells), np.add.reduceat(expected, cells)))
    return _compare(compared)


def check_draws(draws: NDArray[np.int64]) -> Plausibility:
    """Test the rows of a Hadamard matrix that reports have drawn.

    draws: how often each row was drawn, int64, shape (m,).

    An honest report draws its rows uniformly, whatever its user holds, so nobody's data can change their
    distribution; reports that push an item come from the rows in which that item has the sign they send. What it
    cannot see: reports with uniform rows and crafted signs. Neighbouring rows are pooled where reports are few.
    """
    rows, reports = len(draws), int(draws.sum())
    least = max(MIN_EXPECTED, _EXPECTED_OF_MANY * rows**0.25)
    together = math.ceil(min(1.0, least / max(reports, 1)) * rows)
    # What is left over at the end joins the cell before it.
    cells = np.arange(0, rows - together + 1, together)
    expected = np.diff(cells, append=rows) * (reports / rows)
    return _compare([(np.add.reduceat(draws, cells).astype(np.float64), expected)])


def uneven_draws(indices: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of many batches draw rows as honest reports draw less than once in 10^9 batches, shape (batches,).

    indices: bits of the row numbers that were drawn, 0 or 1, uint8, shape (n, bits), one batch after another.
    counts: reports of each batch, int64, shape (batches,), each at least 1, their sum n.

    Each bit of a uniform row number is a fair coin, so among n reports it is set n / 2 times, up to
    sqrt(n ln(2 bits / 10^-9) / 2) more or less (Hoeffding, 1963). 49 reports of one and the same row are found at 20
    bits.
    """
    bits = indices.shape[1]
    set_bits = np.add.reduceat(indices, np.cumsum(counts) - counts, axis=0, dtype=np.int64)
    limit = np.sqrt(counts * math.log(2 * bits / _BATCH_FALSE_ALARM) / 2)
    return np.asarray(np.any(np.abs(set_bits - counts[:, None] / 2) > limit[:, None], axis=1))


def _compare(compared: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]]) -> Plausibility:
    """Test independent multinomial counts, each (observed, expected) of one sum; see `check`."""
    # Here and not above: who reads a collection tests nothing, and need not wait for the import of SciPy.
    from scipy.special import chdtrc, kl_div  # noqa: PLC0415

    deviance, bias, degrees_of_freedom = 0.0, 0.0, 0
    for observed, expected in compared:
        if len(expected) > 1:
            reports = float(expected.sum())
            deviance += 2 * float(kl_div(observed, expected).sum())
            bias += (float((reports / expected).sum()) - 1) / (6 * reports)
            degrees_of_freedom += len(expected) - 1
    if not degrees_of_freedom:
        return Plausibility(statistic=0.0, degrees_of_freedom=0, p_value=1.0)
    statistic = deviance / (1 + bias / degrees_of_freedom)
    return Plausibility(
        statistic=statistic,
        degrees_of_freedom=degrees_of_freedom,
        p_value=float(chdtrc(degrees_of_freedom, statistic)),
    )


def batch_scores(
    rows: NDArray[np.uint8],
    counts: NDArray[np.int64],
    *,
    sizes: Sequence[int],
    channel: BitChannel,
    design_effect: float = 1.0,
) -> NDArray[np.float64]:
    """How far the set bits of each of many batches are from what the channel lets expect, shape (batches,).

    rows: packed reports of all batches one after another, uint8, shape (n, ceil(sum of sizes / 8)).
    counts: reports of each batch, int64, shape (batches,), each at least 1, their sum n.
    design_effect: as for `check`; it matters most where a batch holds one user's reports.

    A positive score says too many bits, a negative one too few; `BATCH_LIMIT` is the size to worry at. With S set
    bits, mean M and variance V, both known, the score is (S - M) / sqrt(V + |S - M| / 3): a z score, widened so that
    P(|score| >= x) <= 2 exp(-x^2 / 2) for every number of reports and every channel, which is Bernstein's inequality
    (Boucheron, Lugosi and Massart, 2013, Corollary 2.11). A plain z reaches ten in one of a hundred single reports
    of a binary attribute at f = 0.01 without an instantaneous response. The bound assumes that users report once;
    with a design effect it holds in the limit of large batches. Reports padded to the expected total of set bits
    leave no trace here, only in `check`.

    Measured at 0.8 ns a report of 16 bits, 12 ns of 104. Raises:
        ValueError: a batch is empty, or there are more or fewer rows than the counts say.
    """
    if len(counts) and counts.min() < 1:
        raise ValueError("every batch needs at least 1 report")
    if counts.sum() != len(rows):
        raise ValueError(f"{len(rows)} rows for batches of {counts.sum()} reports in all")
    attributes, bits = len(sizes), sum(sizes)
    mean = attributes * channel.one + (bits - attributes) * channel.zero
    variance = attributes * channel.one * (1 - channel.one) + (bits - attributes) * channel.zero * (1 - channel.zero)
    first_bytes = (np.cumsum(counts) - counts) * rows.shape[1]
    set_bits = np.add.reduceat(np.bitwise_count(rows).ravel(), first_bytes, dtype=np.int64)
    excess = set_bits - mean * counts
    return excess / np.sqrt(design_effect * (variance * counts + np.abs(excess) / 3))  # type: ignore[no-any-return]


def _pooled(expected: NDArray[np.float64]) -> NDArray[np.int64]:
    """First members of groups of neighbours that expect `MIN_EXPECTED` reports each; one group if there are fewer."""
    firsts, held = [0], 0.0
    for cell, reports in enumerate(expected.tolist()):
        if held >= MIN_EXPECTED:
            firsts.append(cell)
            held = 0.0
        held += reports
    if held < MIN_EXPECTED and len(firsts) > 1:
        # What is left over at the end joins the group before it.
        firsts.pop()
    return np.array(firsts)
