"""Tests of how much each client may send."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.gateway.limiter import Limiter


def test_a_client_may_send_a_burst_and_then_at_the_rate() -> None:
    limiter = Limiter(rate=2, burst=3)
    assert [limiter.wait("a", now=0) for _ in range(4)] == [0, 0, 0, 0.5]
    assert limiter.wait("a", now=0.5) == 0
    assert limiter.wait("a", now=0.5) == 0.5


def test_clients_do_not_share_an_allowance() -> None:
    limiter = Limiter(rate=1, burst=1)
    assert [limiter.wait(client, now=0) for client in "aab"] == [0, 1, 0]


def test_a_silence_fills_the_allowance_and_no_more() -> None:
    limiter = Limiter(rate=1, burst=2)
    limiter.wait("a", now=0)
    assert [limiter.wait("a", now=1_000) for _ in range(3)] == [0, 0, 1]


def test_the_memory_of_clients_is_bounded_and_the_longest_silent_goes_first() -> None:
    limiter = Limiter(rate=1, burst=1, clients=2)
    for client in ("a", "b", "a", "c"):
        limiter.wait(client, now=0)
    assert len(limiter._buckets) == 2
    assert limiter.wait("a", now=0) > 0, "a was seen after b, and is remembered"


@given(st.lists(st.floats(0, 10), min_size=1, max_size=60), st.floats(0.1, 20), st.integers(1, 10))
def test_no_pattern_of_requests_gets_more_than_the_burst_and_the_rate(
    gaps: list[float], rate: float, burst: int
) -> None:
    limiter, now, taken = Limiter(rate=rate, burst=burst), 0.0, 0
    for gap in gaps:
        now += gap
        taken += limiter.wait("a", now=now) == 0
    assert taken <= burst + rate * now + 1e-6


@given(st.floats(0.1, 20), st.integers(1, 10))
def test_the_wait_that_is_reported_is_enough(rate: float, burst: int) -> None:
    limiter = Limiter(rate=rate, burst=burst)
    for _ in range(burst):
        limiter.wait("a", now=0)
    wait = limiter.wait("a", now=0)
    assert wait > 0
    assert limiter.wait("a", now=wait * (1 + 1e-9)) == 0
