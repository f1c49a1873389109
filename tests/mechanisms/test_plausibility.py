"""The test that all mechanisms share: counts against what honest reports give on average."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from stream_ldp.mechanisms.plausibility import FALSE_ALARM_RATE, UNTESTED, PlausibilityTest, compared


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
