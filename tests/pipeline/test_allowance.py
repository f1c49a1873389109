"""Tests of an allowance of time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.pipeline.allowance import Allowance

PERIOD_S, SHARE = 2.0, 0.5


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 100)), max_size=30))
def test_all_that_is_spent_is_within_the_share_but_for_the_limit_and_the_last_excess(
    spending: list[tuple[float, float]],
) -> None:
    """Whoever looks for the allowance first, and spends only if some is left, keeps within it."""
    allowance, now, spent = Allowance(share=SHARE, period_s=PERIOD_S, now=0.0), 0.0, 0.0
    for pause, seconds in spending:
        now += pause
        if allowance.left_s(now=now) > 0:
            assert spent <= SHARE * now + SHARE * PERIOD_S + 1e-6
            allowance.spend(seconds, now=now)
            spent += seconds


def test_what_is_not_spent_is_saved_for_one_period_only() -> None:
    allowance = Allowance(share=SHARE, period_s=PERIOD_S, now=0.0)
    assert allowance.left_s(now=100.0) == 1.0
    allowance.spend(4.0, now=100.0)
    assert allowance.left_s(now=100.0) == -3.0
    assert allowance.left_s(now=106.0) == pytest.approx(0.0)
