"""A client does not trust the rounds it is sent: these tests show which it follows, passes over and refuses."""

import logging
from collections.abc import Callable

import pytest

from stream_ldp.client.round_feed import closes_ms
from stream_ldp.sets.rounds import Round
from tests.client.examples import MINUTE_MS
from tests.client.fakes import FakeBroker
from tests.client.item_reports import reporter
from tests.client.items import (
    EPOCH,
    Timeline,
    film_round,
    minutes,
    reports_sent,
)

FORGED: dict[str, Callable[[Round], Round]] = {
    "of another collection": lambda asked: asked.model_copy(update={"collection_fingerprint": "0" * 32}),
    "dearer": lambda asked: asked.model_copy(update={"epsilon": asked.epsilon * 1.01}),
    "a phase that there is not": lambda asked: asked.model_copy(update={"phase": 4}),
    "another window": lambda asked: asked.model_copy(update={"start_ms": asked.start_ms - 1}),
    "a window of another length": lambda asked: asked.model_copy(update={"end_ms": asked.end_ms + MINUTE_MS}),
    "a candidate twice": lambda asked: asked.model_copy(update={"candidates": (1, 2, 1)}),
    "a candidate that there is not": lambda asked: asked.model_copy(update={"candidates": (1, 8)}),
    "a negative candidate": lambda asked: asked.model_copy(update={"candidates": (1, -1)}),
    "no candidates": lambda asked: asked.model_copy(update={"candidates": ()}),
    "all items, again": lambda asked: asked.model_copy(update={"candidates": None, "padding": 2}),
    "more slots than candidates": lambda asked: asked.model_copy(update={"padding": 4}),
    "far ahead": lambda asked: film_round(2, epoch=EPOCH + 2),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED.keys())
async def test_a_forged_round_gets_no_report_and_a_later_honest_one_does(
    broker: FakeBroker, timeline: Timeline, caplog: pytest.LogCaptureFixture, forge: Callable[[Round], Round]
) -> None:
    timeline.publish(forge(film_round(2)), at_ms=minutes(1))
    timeline.publish(film_round(2), at_ms=minutes(1.5))
    async with reporter(timeline, spread=False) as sender:
        await sender.report({"Alien"})
        await timeline.reach(minutes(1.5) - 1)
        assert [each.total for each in reports_sent(broker, film_round(1))] == [1]
        assert sender.refused == 1
        await timeline.reach(minutes(2))
    assert [each.total for each in reports_sent(broker, film_round(1), film_round(2))] == [1, 1]
    (warning,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "rounds offset 0 gets no report: " in warning.getMessage()


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b"\xff", b'{"schema_version": 2}'])
async def test_a_record_that_is_not_a_round_is_passed_over(
    broker: FakeBroker, timeline: Timeline, garbage: bytes
) -> None:
    timeline.publish(garbage, at_ms=minutes(1))
    timeline.publish(film_round(2), at_ms=minutes(1))
    async with reporter(timeline) as sender:
        await sender.report({"Alien"})
        await timeline.reach(minutes(2))
    assert sender.refused == 1
    assert sender.acknowledged == 2


async def test_rounds_that_are_over_get_no_report_and_do_not_count_as_refused(
    broker: FakeBroker, timeline: Timeline
) -> None:
    # Late on the topic, and of an older version of the collection.
    timeline.publish(film_round(2), at_ms=minutes(2))
    timeline.publish(film_round(2).model_copy(update={"collection_fingerprint": "0" * 32}), at_ms=minutes(2))
    async with reporter(timeline) as sender:
        await sender.report({"Alien"})
        await timeline.reach(minutes(3) - 1)
    assert [each.total for each in reports_sent(broker, film_round(1))] == [1]
    assert sender.refused == 0


@pytest.mark.parametrize(("length_ms", "margin_ms"), [(60_000, 500), (5_000, 500), (2_000, 200)])
def test_a_round_closes_half_a_second_before_its_end_or_a_tenth_of_a_short_window(
    length_ms: int, margin_ms: int
) -> None:
    asked = film_round(2)
    short = asked.model_copy(update={"end_ms": asked.start_ms + length_ms})
    assert closes_ms(short) == short.end_ms - margin_ms
