"""Rows of a Hadamard matrix that nobody's data can change: honest draws are let through, crafted ones are found."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from stream_ldp.mechanisms import HadamardResponse, SeededEntropy
from stream_ldp.mechanisms.plausibility import FALSE_ALARM_RATE
from stream_ldp.mechanisms.row_draws import check_draws, uneven_draws

#: Bits of the longest row index, and chance of a false alarm that the documentation promises for a batch.
MAX_BITS = 20
BATCH_FALSE_ALARM = 1e-9


def honest_draws(rows: int, reports: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.bincount(rng.integers(rows, size=reports), minlength=rows)


@pytest.mark.parametrize(
    ("bits", "reports_a_row", "windows"), [(4, 20, 400), (12, 5, 100), (16, 5, 40), (16, 0.3, 40)]
)
def test_honest_rows_of_a_large_domain_are_plausible(bits: int, reports_a_row: float, windows: int) -> None:
    """Of many windows, the standardised statistic is 0 on average; seeded, off by 5 of its errors once in 10^6 runs.

    At 2^16 rows of 5 reports the statistic without pooling is too large by 2.3 standard deviations.
    """
    rng = np.random.default_rng(bits)
    found = [check_draws(honest_draws(2**bits, int(2**bits * reports_a_row), rng)) for _ in range(windows)]
    standardised = [
        (each.statistic - each.degrees_of_freedom) / math.sqrt(2 * each.degrees_of_freedom) for each in found
    ]
    assert abs(np.mean(standardised)) < 5 / math.sqrt(windows)
    assert not any(each.flagged for each in found)


def test_honest_rows_of_the_largest_domain_are_not_flagged() -> None:
    rng = np.random.default_rng(20)
    for reports in (2**18, 5 * 2**20):
        assert check_draws(honest_draws(2**20, reports, rng)).p_value > FALSE_ALARM_RATE


def test_p_values_of_few_rows_are_not_too_small() -> None:
    """8 rows, 300 reports, 20,000 windows, seeded: p below 0.001 in 20 of them, more than 45 once in 10^6 runs."""
    draws = np.random.default_rng(3).multinomial(300, np.full(8, 1 / 8), size=20_000)
    assert sum(check_draws(each).p_value < 1e-3 for each in draws) <= 45


@pytest.mark.parametrize("bits", [1, 12, 20])
def test_a_row_that_half_of_the_users_draw_is_flagged(bits: int) -> None:
    """Half of the users, of 100,000, send the row in which their item has a +."""
    rng = np.random.default_rng(bits)
    crafted = honest_draws(2**bits, 50_000, rng)
    crafted[2**bits - 1] += 50_000
    assert check_draws(crafted).flagged


def test_a_row_drawn_a_little_too_often_is_flagged_among_thousands() -> None:
    """4,096 rows of 100 reports; one of them has 300 more, which is no more than 0.07 % of the reports."""
    crafted = honest_draws(4_096, 409_600, np.random.default_rng(1))
    crafted[77] += 300
    assert not check_draws(honest_draws(4_096, 409_600, np.random.default_rng(1))).flagged
    crafted[77] += 300
    assert check_draws(crafted).flagged


@pytest.mark.parametrize("hash_bits", [1, 2])
def test_what_users_hold_does_not_change_the_rows_they_draw(hash_bits: int) -> None:
    """All of 50,000 hold the same item."""
    oracle = HadamardResponse(size=1_000, epsilon=4.0, hash_bits=hash_bits)
    rows = oracle.perturb(np.full(50_000, 999), entropy=SeededEntropy(5))
    assert check_draws(oracle.draws(oracle.sums(rows))).p_value > FALSE_ALARM_RATE


@pytest.mark.parametrize("draws", [[0, 0], [1, 0], [0, 9], [0]])
def test_too_few_reports_to_say_anything_are_not_flagged(draws: list[int]) -> None:
    found = check_draws(np.array(draws))
    assert (found.degrees_of_freedom, found.p_value) == (0, 1.0)


@pytest.mark.parametrize("reports", [1, 10, 48, 49, 60, 100, 300])
def test_an_honest_batch_is_flagged_at_most_once_in_a_billion(reports: int) -> None:
    """Exactly: by the binomial law of one bit, added up over both of its sides and all 20 bits."""
    few = np.arange(reports // 2 + 1)
    bits = np.zeros((len(few), reports, MAX_BITS), dtype=np.uint8)
    bits[:, : reports // 2] = 1
    bits[:, :, 7] = np.arange(reports) < few[:, None]
    flagged = few[uneven_draws(bits.reshape(-1, MAX_BITS), np.full(len(few), reports))]
    chance = 2 * MAX_BITS * stats.binom.cdf(flagged.max(initial=-1), reports, 0.5)
    assert chance <= BATCH_FALSE_ALARM


def test_a_batch_from_a_single_row_is_flagged() -> None:
    """49 reports of one row, of 20 bits, between two honest batches; 48 might be honest."""
    rng = np.random.default_rng(1)
    counts = np.array([200, 49, 1, 48])
    bits = rng.integers(2, size=(counts.sum(), MAX_BITS), dtype=np.uint8)
    for first, last in ((200, 249), (250, 298)):
        bits[first:last] = bits[first]
    assert uneven_draws(bits, counts).tolist() == [False, True, False, False]
