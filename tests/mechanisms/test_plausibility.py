"""The test that all mechanisms share: counts against what honest reports give on average."""

import numpy as np
import pytest
from scipy import stats

from stream_ldp.mechanisms import BloomResponse, OptimisedUnaryResponse, UnaryResponse
from stream_ldp.mechanisms.plausibility import FALSE_ALARM_RATE, UNTESTED, PlausibilityTest, compared, total_score


def test_p_values_of_honest_counts_are_uniform() -> None:
    """Seeded; Kolmogorov-Smirnov at 1e-6 on 2,000 pairs of independent multinomial counts."""
    rng = np.random.default_rng(1)
    chances = [np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.9])]
    found = [
        compared([(rng.multinomial(500, chance).astype(np.float64), 500 * chance) for chance in chances])
        for _ in range(2_000)
    ]
    assert {each.degrees_of_freedom for each in found} == {3}
    assert stats.kstest([each.p_value for each in found], "uniform").pvalue > 1e-6


def test_counts_that_honest_reports_hardly_ever_give_are_flagged() -> None:
    expected = np.array([500.0, 500.0])
    assert not compared([(np.array([500.0, 500.0]), expected)]).flagged
    assert compared([(np.array([600.0, 400.0]), expected)]).flagged


def test_where_nothing_can_be_compared_nothing_is_said() -> None:
    assert compared([]) == compared([(np.array([7.0]), np.array([7.0]))]) == UNTESTED
    assert not UNTESTED.flagged


@pytest.mark.parametrize(("p_value", "flagged"), [(FALSE_ALARM_RATE, False), (0.99 * FALSE_ALARM_RATE, True)])
def test_a_flag_is_as_rare_as_it_says(p_value: float, flagged: bool) -> None:
    assert PlausibilityTest(statistic=1.0, degrees_of_freedom=1, p_value=p_value).flagged is flagged


@pytest.mark.parametrize("oracle", [UnaryResponse(size=8, epsilon=1.0), OptimisedUnaryResponse(size=8, epsilon=3.0)])
@pytest.mark.parametrize("reports", [1, 10, 300])
def test_honest_set_bits_are_flagged_no_oftener_than_is_said(oracle: UnaryResponse, reports: int) -> None:
    """Exact: the law of the number of set bits is that of two binomial ones."""
    p, q = oracle.support
    own, others = stats.binom.pmf(np.arange(reports + 1), reports, p), 7 * reports
    law = np.convolve(own, stats.binom.pmf(np.arange(others + 1), others, q))
    least, largest, variance = (reports * each for each in oracle.set_bits())
    scores = [total_score(float(total), least=least, largest=largest, variance=variance) for total in range(len(law))]
    for limit in (3.0, 4.89):
        assert law[np.abs(scores) > limit].sum() <= 2 * stats.norm.sf(limit)
    assert compared([], scores=[max(scores)]).flagged == (max(scores) > stats.norm.isf(FALSE_ALARM_RATE / 2))


def test_bloom_filters_of_fewer_buckets_than_hashes_are_honest() -> None:
    least, largest, variance = BloomResponse(size=8, hashes=2, lifetime=4.0).set_bits()
    assert total_score(50 * (least + largest) / 2, least=50 * least, largest=50 * largest, variance=variance) == 0
    assert total_score(400.0, least=50 * least, largest=50 * largest, variance=50 * variance) > 8
    assert total_score(0.0, least=50 * least, largest=50 * largest, variance=50 * variance) < -8
