"""A method that wraps another one has its name, items and k, and shares that lie alike within a part of the users."""

import numpy as np
import pytest

from stream_ldp.mechanisms import RESOLUTION
from stream_ldp.sets.methods import METHODS
from stream_ldp.sets.methods.wrapped import UserSample, Wrapped
from stream_ldp.sets.phases import Method
from tests.sets.methods.examples import answers_of, build


@pytest.mark.parametrize("kind", METHODS)
def test_a_wrapped_method_keeps_what_it_is_and_moves_its_shares(kind: str) -> None:
    method = build(kind)
    wrapped = Wrapped[Method](method)
    assert (wrapped.name, wrapped.domain, wrapped.k) == (method.name, method.domain, method.k)
    assert wrapped.memoising is method.memoising
    begin, end = RESOLUTION // 4, RESOLUTION // 2
    for phase, original in zip(wrapped.phases_within(begin, end), method.phases, strict=True):
        assert phase.share == tuple(begin + word // 4 for word in original.share)
        assert (phase.number, phase.epsilon, phase.asked) == (original.number, original.epsilon, original.asked)
    assert wrapped.phases_within(0, RESOLUTION) == method.phases


@pytest.mark.parametrize("kind", METHODS)
def test_the_phases_ask_the_same_shares_of_the_sample(kind: str) -> None:
    method = build(kind)
    sample = UserSample(method, words=RESOLUTION // 100)
    words = np.linspace(0, RESOLUTION - 1, 100_001).astype(np.uint32)
    asked = [phase.asks(words) for phase in sample.phases]
    assert not any(asks[words >= RESOLUTION // 100].any() for asks in asked)
    for phase, original, asks in zip(sample.phases, method.phases, asked, strict=True):
        assert phase.part == pytest.approx(0.01 * original.part, abs=1e-8)
        assert asks.mean() == pytest.approx(phase.part, abs=2e-5)
        assert phase.epsilon == original.epsilon
    # Phases that ask different users still do.
    for one in range(len(asked)):
        for other in range(one):
            overlap = max(method.phases[one].share[0], method.phases[other].share[0]) < min(
                method.phases[one].share[1], method.phases[other].share[1]
            )
            assert (asked[one] & asked[other]).any() == overlap


@pytest.mark.parametrize("kind", METHODS)
def test_everything_else_is_the_methods_own(kind: str) -> None:
    method = build(kind)
    sample = UserSample(method, words=RESOLUTION // 4)
    assert (sample.name, sample.domain, sample.k) == (method.name, method.domain, method.k)
    inquiry = sample.first()
    assert sample.oracle(inquiry) == method.oracle(inquiry)
    sums = answers_of(method, inquiry, [[1, 2], [1], [3]] * 500)
    ours, _ = sample.solve(inquiry, sums=sums, reports=1_500, before=None)
    theirs, _ = method.solve(inquiry, sums=sums, reports=1_500, before=None)
    assert ours.items.tolist() == theirs.items.tolist()
    assert ours.standard_error.tolist() == theirs.standard_error.tolist()
