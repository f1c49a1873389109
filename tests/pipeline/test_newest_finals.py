"""Tests of the newest finals: which are kept, where they are, and what each window starts from."""

from collections.abc import Iterable

import numpy as np

from stream_ldp.pipeline.answer import Answer, Status, WindowBounds
from stream_ldp.pipeline.newest_finals import NewestFinals
from stream_ldp.pipeline.recount import answer_before
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from tests.client.examples import MINUTE_MS, estimate_of
from tests.pipeline.test_merging import JOINT, MARGINAL, SURVEY


def final(minute: int, *, silent_until: int | None = None, name: str = JOINT.name) -> Estimate:
    bounds = WindowBounds(start_ms=minute * MINUTE_MS, end_ms=(silent_until or minute + 1) * MINUTE_MS)
    status = Status.ANSWERED if silent_until is None else Status.NO_REPORTS
    return estimate_of(estimate=name, window=bounds, status=status)


def minutes(finals: Iterable[Answer]) -> list[int]:
    return [each.window.start_ms // MINUTE_MS for each in finals]


def test_the_two_newest_finals_of_a_series_are_kept_in_whatever_order_they_come() -> None:
    finals = NewestFinals(SURVEY)
    assert minutes(finals.add(final(5), offset=50)) == [5]
    assert sorted(minutes(finals.add(final(3), offset=30))) == [3, 5]
    # The one that is dropped is told as well: what depended on it has changed.
    assert sorted(minutes(finals.add(final(4), offset=40))) == [3, 4, 5]
    assert minutes(finals.of(JOINT.name)) == [4, 5]
    assert sorted(finals.offsets([JOINT, MARGINAL])) == [40, 50]


def test_the_first_final_of_a_window_on_the_log_is_the_one_that_counts() -> None:
    finals, first = NewestFinals(SURVEY), final(5)
    finals.add(first, offset=50)
    finals.add(first.model_copy(update={"reports": 7}), offset=51)
    assert finals.of(JOINT.name) == (first,)
    assert list(finals.offsets([JOINT])) == [50]


def test_that_nobody_reported_is_no_final_to_start_from_and_its_place_is_needed() -> None:
    finals = NewestFinals(SURVEY)
    finals.add(final(5), offset=50)
    assert finals.silent_until(JOINT.name) is None
    assert finals.add(final(6, silent_until=9), offset=60) == []
    assert finals.silent_until(JOINT.name) == 9 * MINUTE_MS
    assert finals.before(9 * MINUTE_MS, JOINT) == final(5)
    assert sorted(finals.offsets([JOINT])) == [50, 60]


def test_of_each_series_the_last_final_before_a_window_is_found() -> None:
    finals = NewestFinals(SURVEY)
    for minute, name in ((4, JOINT.name), (5, JOINT.name), (5, MARGINAL.name)):
        finals.add(final(minute, name=name), offset=minute)
    assert finals.earlier(5 * MINUTE_MS) == {JOINT.name: final(4)}
    assert finals.earlier(6 * MINUTE_MS) == {JOINT.name: final(5), MARGINAL.name: final(5, name=MARGINAL.name)}
    assert minutes(finals.all()) == [4, 5, 5]


def alternating(period: str) -> JointCollection:
    document = SURVEY.document
    return JointCollection.model_validate(document | {"window": document["window"] | {"period": period}})


def test_where_windows_alternate_an_answer_starts_from_the_window_one_period_before() -> None:
    finals = NewestFinals(alternating("3m"))
    for minute in (1, 2, 3, 5):
        finals.add(final(minute), offset=minute)
    starts = {minute: finals.before(minute * MINUTE_MS, JOINT) for minute in (4, 5, 6, 7)}
    # Nobody has reported in the fourth: what starts there starts from the newest.
    assert starts == {4: final(1), 5: final(2), 6: final(3), 7: final(5)}
    assert minutes(finals.of(JOINT.name)) == [1, 2, 3, 5]
    finals.add(final(6), offset=6)
    assert minutes(finals.of(JOINT.name)) == [2, 3, 5, 6]
    assert sorted(finals.offsets([JOINT])) == [2, 3, 5, 6]


def test_a_window_that_is_computed_again_starts_from_the_same_final() -> None:
    known = [final(minute) for minute in (6, 5, 3, 2)]
    assert answer_before(alternating("3m"), JOINT, 8 * MINUTE_MS, known) == final(5)
    assert answer_before(alternating("3m"), JOINT, 7 * MINUTE_MS, known) == final(6)
    assert answer_before(SURVEY, JOINT, 8 * MINUTE_MS, known) == final(6)


def test_a_period_is_found_from_the_finals_alone_also_after_a_restart() -> None:
    """Day and night alternate every minute; finals after a gap are compared among themselves alone."""
    window = {**SURVEY.document["window"], "period": "auto"}
    collection = JointCollection.model_validate({**SURVEY.document, "window": window})
    alternating = []
    for minute in range(12):
        each = final(minute)
        cells = np.roll(np.array(each.probability), minute % 2)
        errors = np.full(cells.shape, 0.001)
        told = {"probability": tuple(cells.tolist()), "standard_error": tuple(errors.tolist())}
        alternating.append(each.model_copy(update=told))
    finals, restarted = NewestFinals(collection), NewestFinals(collection)
    for offset, each in enumerate(alternating):
        finals.add(each, offset=offset)
    for offset, each in reversed(list(enumerate(alternating))):
        restarted.add(each, offset=offset)
    for known in (finals, restarted):
        assert known.before(12 * MINUTE_MS, JOINT) == alternating[10]
        assert len(list(known.offsets([JOINT]))) == 12
    assert answer_before(collection, JOINT, 12 * MINUTE_MS, alternating) == alternating[10]
    late = [final(minute) for minute in (20, 21, 22)]
    for offset, each in enumerate(late, start=20):
        finals.add(each, offset=offset)
    assert finals.before(23 * MINUTE_MS, JOINT) == late[-1]
    assert answer_before(collection, JOINT, 23 * MINUTE_MS, [*alternating, *late]) == late[-1]
