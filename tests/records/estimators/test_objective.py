"""The certificate bounds what is left to gain, and vanishes where nothing is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_ldp.mechanisms import Support
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import FloatArray, squarem
from stream_ldp.records.estimators.likelihood import Likelihood
from stream_ldp.records.estimators.objective import Objective, Point
from stream_ldp.records.estimators.squarem import ascend
from tests.records.estimators.examples import TINY_SIZES, channels, drawn_rows, joints

#: Nats; rounding moves the values of these objectives by less than a thousandth of it.
TOLERANCE = 1e-6


@given(
    data=st.data(),
    sizes=st.sampled_from(TINY_SIZES),
    channel=channels,
    strength=st.sampled_from([0.0, 1e-3, 1.0, 30.0, 1e4]),
)
def test_no_joint_beats_a_point_by_more_than_its_certificate(
    data: st.DataObject, sizes: tuple[int, ...], channel: Support, strength: float
) -> None:
    subject = Likelihood.of(data.draw(drawn_rows(sizes)), sizes=sizes, supports=[channel] * len(sizes))
    point_of, centre, rival = (_inside(data.draw(joints(sizes))) for _ in range(3))
    objective = Objective(likelihood=subject, centre=centre, strength=strength)
    point = objective.at(point_of)
    best = max(objective.at(rival).value, _long_em(objective, point_of).value)
    assert best - point.value <= objective.certificate(point) + 1e-9 * max(1.0, abs(best))


@pytest.mark.parametrize("strength", [0.0, 3.0])
def test_the_certificate_of_identical_reports_is_exactly_what_can_be_gained(strength: float) -> None:
    """Ten reports that say 0 and nothing else: the bound holds with equality, so a smaller one would be false."""
    counts = RowCounts.of(np.full((10, 1), 0b01, dtype=np.uint8), bits=2)
    subject = Likelihood.of(counts, sizes=(2,), supports=[Support.of_bits(one=0.75, zero=0.5)] * len((2,)))
    objective = Objective(likelihood=subject, centre=np.array([0.5, 0.5]), strength=strength)
    point = objective.at(np.array([0.5, 0.5]))
    grid = np.linspace(0, 1, 100_001)[1:-1]
    best = max(objective.at(np.array([p, 1 - p])).value for p in grid[::100])
    assert best - point.value <= objective.certificate(point)
    assert objective.certificate(point) == pytest.approx(best - point.value, rel=0.01)


@given(
    data=st.data(),
    sizes=st.sampled_from(TINY_SIZES),
    channel=channels,
    strength=st.sampled_from([0.0, 1e-3, 30.0]),
    share=st.sampled_from([0.0, 1e-3, 0.5, 1.0]),
)
def test_slopes_say_of_two_points_what_their_values_do(
    data: st.DataObject, sizes: tuple[int, ...], channel: Support, strength: float, share: float
) -> None:
    subject = Likelihood.of(data.draw(drawn_rows(sizes)), sizes=sizes, supports=[channel] * len(sizes))
    start, centre, far = (_inside(data.draw(joints(sizes))) for _ in range(3))
    objective = Objective(likelihood=subject, centre=centre, strength=strength)
    begin, end = objective.at(start), objective.at((1.0 - share) * start + share * far)
    least = 1e-9 * max(1.0, abs(begin.value))
    if objective.falls(begin, end):
        assert end.value < begin.value + least
    else:
        assert end.value > begin.value - least


def test_values_of_two_points_on_either_side_of_the_maximum_are_compared() -> None:
    """Neither slope decides there: away from one the objective rises, and towards the other it falls."""
    counts = RowCounts(bits=2, rows=np.array([[1], [2]], dtype=np.uint8), counts=np.array([5, 5], dtype=np.int64))
    subject = Likelihood.of(counts, sizes=(2,), supports=[Support.of_bits(one=0.75, zero=0.25)])
    objective = Objective(likelihood=subject, centre=np.array([0.5, 0.5]), strength=1.0)
    near, far = objective.at(np.array([0.4, 0.6])), objective.at(np.array([0.7, 0.3]))
    assert objective.falls(near, far)
    assert not objective.falls(far, near)


@given(
    data=st.data(),
    sizes=st.sampled_from(TINY_SIZES),
    channel=channels,
    strength=st.sampled_from([0.0, 1e-3, 30.0]),
    share=st.sampled_from([0.1, 0.9, 1.001, 10.0]),
)
def test_a_certificate_is_left_out_only_where_it_is_above_what_is_sought(
    data: st.DataObject, sizes: tuple[int, ...], channel: Support, strength: float, share: float
) -> None:
    subject = Likelihood.of(data.draw(drawn_rows(sizes)), sizes=sizes, supports=[channel] * len(sizes))
    point_of, centre = (_inside(data.draw(joints(sizes))) for _ in range(2))
    objective = Objective(likelihood=subject, centre=centre, strength=strength)
    point = objective.at(point_of)
    exact = objective.certificate(point)
    found = objective.certificate(point, sought=share * exact + 1e-9)
    assert found == exact or (found == np.inf and share < 1.0)


@settings(max_examples=30)
@given(
    data=st.data(),
    sizes=st.sampled_from(TINY_SIZES),
    channel=channels,
    strength=st.sampled_from([0.2, 1.0, 30.0]),
)
def test_the_certificate_vanishes_at_the_maximum(
    data: st.DataObject, sizes: tuple[int, ...], channel: Support, strength: float
) -> None:
    """The prior is worth at least a fifth of the reports.

    An EM step then leaves about N / (N + s) = 5 / 6 of what is to gain, and no round of two evaluations leaves more:
    1e-20 of it is left after 500. Against a prior that is worth less, some ascents end at their limit.
    """
    subject = Likelihood.of(data.draw(drawn_rows(sizes)), sizes=sizes, supports=[channel] * len(sizes))
    centre = _inside(data.draw(joints(sizes)))
    objective = Objective(likelihood=subject, centre=centre, strength=strength * subject.reports)
    ascent = ascend(objective, objective.centre, tolerance=TOLERANCE)
    assert ascent.certificate <= TOLERANCE
    assert _long_em(objective, ascent.point.joint).value - ascent.point.value <= TOLERANCE


def test_an_ascent_that_ends_at_its_limit_says_how_much_there_may_be_to_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prior that is worth one of 1,350 reports, which tell little, lets an EM step leave nearly all of the gain."""
    rows = np.array([[0], [32], [92], [100], [106], [109], [118]], dtype=np.uint8)
    counts = RowCounts(bits=7, rows=rows, counts=np.array([150.0, *[200.0] * 6]))
    channel = Support.of_bits(one=0.54, zero=0.1)
    subject = Likelihood.of(counts, sizes=(3, 2, 2), supports=[channel] * 3)
    objective = Objective(likelihood=subject, centre=np.full((3, 2, 2), 1 / 12), strength=1.0)
    assert ascend(objective, objective.centre, tolerance=TOLERANCE).certificate <= TOLERANCE
    monkeypatch.setattr(squarem, "_SLOW", 500)
    ascent = ascend(objective, objective.centre, tolerance=TOLERANCE)
    assert ascent.evaluations >= 500
    gained = _long_em(objective, ascent.point.joint).value - ascent.point.value
    assert TOLERANCE < gained <= ascent.certificate < 0.1


def _inside(joint: FloatArray) -> FloatArray:
    return 0.95 * joint + 0.05 / joint.size


def _long_em(objective: Objective, start: FloatArray) -> Point:
    point = objective.at(start)
    for _ in range(200):
        point = objective.at(point.step)
    return point
