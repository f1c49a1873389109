"""Tests of which limits decide a record, and of how those of the next owner follow."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.pipeline.pane_limits import MOST_LIMITS, PaneLimits, at, followed, spans

FEW, MANY = PaneLimits(batches=3), PaneLimits(batches=9)


def test_limits_that_are_the_same_do_not_follow_each_other() -> None:
    assert followed((FEW,), PaneLimits(batches=3), since=7, oldest=0) == (FEW,)
    both = followed((FEW,), MANY, since=7, oldest=0)
    assert [(each.batches, each.since) for each in both] == [(3, 0), (9, 7)]
    # Nothing has come in between, or what had come is lost.
    assert followed(both, FEW, since=7, oldest=0) == (FEW,)
    assert followed(both, FEW, since=5, oldest=0) == (FEW,)


def test_limits_that_decide_nothing_any_more_are_left_out() -> None:
    both = followed((FEW,), MANY, since=7, oldest=0)
    assert followed(both, MANY, since=9, oldest=6) == both
    assert followed(both, MANY, since=9, oldest=7) == both[1:]


def test_no_more_limits_follow_than_a_commit_holds_until_older_ones_are_left_out() -> None:
    limits: tuple[PaneLimits, ...] = (FEW,)
    for since in range(1, 40):
        limits = followed(limits, PaneLimits(batches=since), since=since, oldest=0)
    assert len(limits) == MOST_LIMITS
    assert followed(limits, MANY, since=40, oldest=39)[1:] == (PaneLimits(batches=9, since=40),)


@given(
    sinces=st.lists(st.integers(1, 30), unique=True, max_size=5).map(sorted),
    offsets=st.lists(st.integers(0, 40), unique=True, min_size=1).map(sorted),
)
def test_spans_give_each_record_the_limits_that_hold_at_its_offset(sinces: list[int], offsets: list[int]) -> None:
    limits = tuple(PaneLimits(batches=each + 1, since=each) for each in (0, *sinces))
    found = [
        (each, offset)
        for each, some in spans(limits, np.array(offsets))
        for offset in np.array(offsets)[some].tolist()
    ]
    assert found == [(at(limits, offset), offset) for offset in offsets]
    assert all(at(limits, offset).since == max(each for each in (0, *sinces) if each <= offset) for offset in offsets)
