"""A method that wraps another one has its name, items and k, and shares that lie alike within a part of the users."""

from __future__ import annotations

import pytest

from stream_ldp.mechanisms import RESOLUTION
from stream_ldp.sets.methods import METHODS
from stream_ldp.sets.methods.wrapped import Wrapped
from stream_ldp.sets.phases import Method
from tests.sets.methods.examples import build


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
