"""Tests of one user's reports: one to each phase, and none to what the collection never asks."""

import asyncio
import errno
import logging
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiokafka.errors import MessageSizeTooLargeError
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_ldp.client.errors import DeliveryError, MissingTopic
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.store import LedgerError
from stream_ldp.ledger.terms import Assumption, BudgetExceeded, DayBudgetExceeded, Terms
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.mechanisms.randomness.user_partition import partition_words
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.reports import charges, held_sign
from stream_ldp.sets.rounds import Round, RoundRefused
from stream_ldp.sets.sampling import respond
from tests.client.examples import MINUTE_MS
from tests.client.fakes import FakeBroker
from tests.client.item_reports import SECRET, UNLIMITED, reporter
from tests.client.items import (
    EPOCH,
    NOISELESS,
    Timeline,
    film_round,
    films,
    minutes,
    reports_sent,
    secret_asked_in,
)

CLEAR = films(mechanism=NOISELESS)


def rounds() -> list[Round]:
    return [film_round(phase) for phase in (1, 2, 3)]


def publish_epoch(timeline: Timeline) -> None:
    """Publish each later phase ten seconds after its window has begun."""
    for asked in rounds()[1:]:
        timeline.publish(asked, at_ms=asked.start_ms + 10_000)


async def test_a_user_reports_in_exactly_the_phases_that_ask_them(broker: FakeBroker, timeline: Timeline) -> None:
    publish_epoch(timeline)
    reported: list[Round] = []
    async with reporter(timeline, on_report=reported.append) as sender:
        await sender.report({"Alien"})
        await timeline.reach(minutes(3) - 1)
    sent = reports_sent(broker, *rounds())
    assert [each.total for each in sent] == [1, 1, 0]
    assert reported == rounds()[:2]
    assert sender.acknowledged == 2
    assert sender.receipt is not None
    assert sender.receipt.about == ("a set, in phase 2",)
    assert len(sender.receipt.rows) == 1
    assert sender.receipt.spent > sender.receipt.cost > 0
    for each, asked in zip(sent[:2], rounds(), strict=False):
        assert asked.start_ms <= each.times_ms[0] < asked.end_ms - 500
    assert sent[1].times_ms[0] >= rounds()[1].start_ms + 10_000, "before it was asked"


async def test_a_report_is_about_the_set_that_is_held_when_it_is_made(broker: FakeBroker, timeline: Timeline) -> None:
    asked = [film_round(phase, collection=CLEAR) for phase in (1, 2)]
    timeline.publish(asked[1], at_ms=minutes(1))
    secret = secret_asked_in(2, collection=CLEAR)
    async with reporter(timeline, collection=CLEAR, secret=secret) as sender:
        await sender.report({"Brazil"})
        await sender.report(["Gilda", "Heat", "Gilda"])
        await timeline.reach(minutes(1))
        await sender.report({"Eraserhead"})
        await timeline.reach(minutes(2))
    first, second = reports_sent(broker, *asked, collection=CLEAR)
    assert first.supports[[6, 7]].sum() == 1, "both slots are taken"
    assert second.supports[2] == 1, "the last candidate is item 4"


async def test_a_user_with_no_items_and_one_with_all_items_each_send_a_report(
    broker: FakeBroker, timeline: Timeline
) -> None:
    everything = CLEAR.items.names or ()
    for held in (everything[:0], everything):
        async with reporter(timeline, collection=CLEAR) as sender:
            await sender.report(held)
            await timeline.reach(minutes(1))
        timeline.now_ms = minutes(0)
    (sent,) = reports_sent(broker, film_round(1, collection=CLEAR), collection=CLEAR)
    assert sent.total == 2


async def test_an_unknown_item_is_not_repeated_and_does_not_change_the_set_held(
    broker: FakeBroker, timeline: Timeline, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with reporter(timeline, collection=CLEAR) as sender:
        await sender.report({"Brazil", "Gilda"})
        with pytest.raises(ValueError, match=r"not among the collection's items") as refusal:
            await sender.report({"Alien", "a telltale film"})
        await timeline.reach(minutes(1))
    assert "telltale" not in str(refusal.value) + caplog.text
    assert "Brazil" not in caplog.text + repr(broker.sent) + repr(sender)
    (sent,) = reports_sent(broker, film_round(1, collection=CLEAR), collection=CLEAR)
    assert sent.supports[[1, 6]].sum() == 1


async def test_a_user_reports_only_after_saying_what_they_hold(broker: FakeBroker, timeline: Timeline) -> None:
    async with reporter(timeline, spread=False) as sender:
        timeline.until_ms = minutes(0.5)
        for _ in range(100):
            await asyncio.sleep(0)
        assert broker.sent == []
        timeline.now_ms = minutes(0.5)
        await sender.report(())
        await timeline.reach(minutes(1))
    assert reports_sent(broker, film_round(1))[0].total == 1


async def test_a_user_who_joins_late_reports_in_the_current_epoch(broker: FakeBroker, timeline: Timeline) -> None:
    publish_epoch(timeline)
    timeline.now_ms = minutes(1.7)
    async with reporter(timeline) as sender:
        await sender.report({"Alien"})
        await timeline.reach(minutes(3) - 1)
    assert [each.total for each in reports_sent(broker, *rounds())] == [0, 1, 0]


async def test_report_times_are_spread_over_what_is_left_of_the_window(
    broker: FakeBroker, timeline: Timeline
) -> None:
    begun = 17_000
    for seed in range(60):
        timeline.now_ms = minutes(0) + begun
        async with reporter(timeline, entropy=SeededEntropy(seed)) as sender:
            await sender.report(())
            await timeline.reach(minutes(1))
    times = np.array(reports_sent(broker, film_round(1))[0].times_ms) - minutes(0)
    assert len(times) == 60
    assert begun <= times.min() <= times.max() < MINUTE_MS - 500
    assert len(set(times)) > 50, "users who come late do not report at once"
    # Seeded; else each quarter is empty with probability 0.75^60 = 3e-8.
    assert np.histogram(times, bins=4, range=(begun, MINUTE_MS - 500))[0].min() > 0


async def test_a_report_that_need_not_be_spread_is_sent_at_once(broker: FakeBroker, timeline: Timeline) -> None:
    timeline.publish(film_round(2), at_ms=minutes(1.25))
    async with reporter(timeline, spread=False) as sender:
        await sender.report(())
        await timeline.reach(minutes(2))
    first, second = reports_sent(broker, film_round(1), film_round(2))
    assert first.times_ms == [minutes(0)]
    assert second.times_ms == [minutes(1.25)]


async def test_the_time_of_a_report_is_rounded_to_the_collections_precision(
    broker: FakeBroker, timeline: Timeline
) -> None:
    rough = films(precision="7s")
    timeline.publish(film_round(2, collection=rough), at_ms=minutes(1.25))
    async with reporter(timeline, collection=rough, spread=False) as sender:
        timeline.now_ms = minutes(0) + 6_999
        await sender.report(())
        await timeline.reach(minutes(2))
    first, second = reports_sent(broker, *(film_round(phase, collection=rough) for phase in (1, 2)), collection=rough)
    assert first.times_ms == [minutes(0)]
    assert second.times_ms == [minutes(1) + 14_000]


async def test_a_window_that_is_nearly_over_gets_no_report(broker: FakeBroker, timeline: Timeline) -> None:
    timeline.now_ms = minutes(1) - 500
    async with reporter(timeline, spread=False) as sender:
        await sender.report(())
        await timeline.reach(minutes(1))
    assert broker.sent == []


async def test_a_window_that_the_machine_slept_through_gets_no_report(broker: FakeBroker, timeline: Timeline) -> None:
    for woken in (minutes(1) - 500, minutes(1), minutes(2)):
        timeline.now_ms = minutes(0)
        # Seeded: the report is due after more than a second.
        async with reporter(timeline, entropy=SeededEntropy(1)) as sender:
            await sender.report(())
            await timeline.reach(minutes(0) + 1_000)
            timeline.now_ms = woken
            await timeline.reach(minutes(3) - 1)
    assert broker.sent == []


# Once, whatever happens.


@pytest.fixture
def ledger_file(tmp_path: Path) -> Path:
    """Create a ledger and return its file."""
    PrivacyLedger.create(tmp_path / "ledger", secret=SECRET, terms=UNLIMITED)
    return tmp_path / "ledger"


def opened(path: Path, **terms: Any) -> PrivacyLedger:
    return PrivacyLedger.open(path, secret=SECRET, terms=Terms(**terms) if terms else None)


@pytest.mark.parametrize("back", [0, 30_000, 3 * MINUTE_MS], ids=["at once", "within the window", "an epoch"])
async def test_a_phase_gets_one_report_despite_a_restart_or_a_clock_set_back(
    broker: FakeBroker, timeline: Timeline, ledger_file: Path, back: int
) -> None:
    publish_epoch(timeline)
    async with reporter(timeline, ledger=opened(ledger_file), spread=False) as sender:
        await sender.report({"Alien"})
        await timeline.reach(minutes(2))
    sent = len(broker.sent)
    assert sent == 2
    timeline.now_ms = minutes(2) - 1_000 - back
    async with reporter(timeline, ledger=opened(ledger_file), spread=False) as sender:
        await sender.report({"Brazil"})
        await timeline.reach(minutes(2))
    assert len(broker.sent) == sent
    phases = films().method.phases
    assert opened(ledger_file).spending.epsilon == phases[0].epsilon + phases[1].epsilon


async def test_a_repeated_round_gets_no_second_report(broker: FakeBroker, timeline: Timeline) -> None:
    for seconds in (10, 20, 50):
        timeline.publish(film_round(2), at_ms=minutes(1) + 1_000 * seconds)
    async with reporter(timeline, spread=False) as sender:
        await sender.report(())
        await timeline.reach(minutes(2))
    assert [each.total for each in reports_sent(broker, film_round(1), film_round(2))] == [1, 1]
    assert sender.refused == 0


async def test_a_round_revised_before_its_report_is_due_is_reported_on_as_revised(
    broker: FakeBroker, timeline: Timeline
) -> None:
    before, after = film_round(2), film_round(2, candidates=[1, 3])
    timeline.publish(before, at_ms=minutes(1))
    timeline.publish(after, at_ms=minutes(1) + 1)
    async with reporter(timeline) as sender:
        await sender.report(())
        await timeline.reach(minutes(2))
    assert [each.total for each in reports_sent(broker, film_round(1), before, after)] == [1, 0, 1]


async def test_a_report_leaves_in_its_own_window_although_the_next_round_is_known(
    broker: FakeBroker, timeline: Timeline
) -> None:
    timeline.publish(film_round(2), at_ms=minutes(0))
    async with reporter(timeline) as sender:
        await sender.report(())
        await timeline.reach(minutes(1) - 1)
        assert [each.total for each in reports_sent(broker, film_round(1), film_round(2))] == [1, 0]
        await timeline.reach(minutes(2))
    assert [each.total for each in reports_sent(broker, film_round(1), film_round(2))] == [1, 1]


async def test_a_report_leaves_only_after_it_is_counted(
    broker: FakeBroker, timeline: Timeline, ledger_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive, counted = broker.receive, []

    def received(topic: str, **arguments: Any) -> asyncio.Future[None]:
        counted.append(sum(each.reports for each in opened(ledger_file).spending.phases))
        return receive(topic, **arguments)

    monkeypatch.setattr(broker, "receive", received)
    publish_epoch(timeline)
    async with reporter(timeline, ledger=opened(ledger_file)) as sender:
        await sender.report({"Alien"})
        await timeline.reach(minutes(2))
    assert counted == [1, 2]


async def test_the_end_of_the_block_still_sends_a_report_that_is_being_counted(
    broker: FakeBroker, timeline: Timeline, ledger_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, begun = os.fsync, asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(descriptor: int) -> None:
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.05), loop).result()
        loop.call_soon_threadsafe(begun.set)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    timeline.until_ms = minutes(1)
    async with reporter(timeline, ledger=opened(ledger_file), spread=False) as sender:
        await sender.report({"Alien"})
        await begun.wait()
    assert len(broker.sent) == 1
    assert sender.acknowledged == 1


async def test_an_end_of_the_block_that_is_cancelled_leaves_no_task_behind(
    broker: FakeBroker, timeline: Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting = asyncio.Event()

    async def lifetime(*_: object, **__: object) -> None:
        counting.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio, "to_thread", lifetime)
    sender = await reporter(timeline, spread=False).__aenter__()
    await sender.report({"Alien"})
    await counting.wait()
    ending = asyncio.create_task(sender.__aexit__(None, None, None))
    await asyncio.sleep(0)
    ending.cancel()
    await asyncio.wait([ending])
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert broker.sent == []


@given(st.data())
def test_a_round_is_either_refused_or_can_be_reported_on(data: st.DataObject) -> None:
    asked = film_round(2).model_copy(
        update={
            "phase": data.draw(st.integers(1, 4)),
            "epsilon": data.draw(st.floats(0.01, 3.0)),
            "candidates": data.draw(st.none() | st.lists(st.integers(-1, 8), max_size=9).map(tuple)),
            "padding": data.draw(st.integers(1, 9)),
        }
    )
    asked = asked.model_copy(update={"start_ms": minutes(asked.phase - 1), "end_ms": minutes(asked.phase)})
    try:
        phase = asked.check(films())
    except RoundRefused:
        return
    assert phase.epsilon >= asked.epsilon
    held = data.draw(st.sets(st.integers(0, 7)))
    assert len(respond(films().method, asked.inquiry, ItemSets.of([held]), entropy=SeededEntropy(1))) == 1


# A sample of the users.


async def test_a_user_whom_an_epoch_does_not_ask_sends_nothing_and_is_charged_nothing(
    broker: FakeBroker, timeline: Timeline
) -> None:
    some = ItemCollection.model_validate({**films().document, "sample": 0.25})
    epochs = range(EPOCH, EPOCH + 12)
    asked = [bool(some.method.phases[0].asks(words_of(some, epoch))[0]) for epoch in epochs]
    assert 0 < sum(asked) < len(asked)
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=UNLIMITED)
    async with reporter(timeline, collection=some, ledger=ledger) as sender:
        await sender.report({"Alien"})
        await timeline.reach(minutes(3 * len(asked)))
    (sent,) = reports_sent(broker, film_round(1, collection=some), collection=some)
    assert [(time_ms - minutes(0)) // (3 * MINUTE_MS) for time_ms in sent.times_ms] == [
        place for place, asks in enumerate(asked) if asks
    ]
    assert ledger.spending.epsilon == pytest.approx(sum(asked) * some.method.phases[0].epsilon)


def words_of(collection: ItemCollection, epoch: int) -> NDArray[np.uint32]:
    return partition_words([SECRET], fingerprint=collection.fingerprint, epoch=epoch)


# What may be spent.


async def test_a_cheap_phase_gets_a_report_although_a_dearer_one_exceeds_the_budget(
    broker: FakeBroker, timeline: Timeline, caplog: pytest.LogCaptureFixture
) -> None:
    publish_epoch(timeline)
    cheap, dear = films().method.phases[1].epsilon, films().method.phases[0].epsilon
    assert cheap < dear
    async with reporter(timeline, terms=Terms(budget=cheap)) as sender:
        await sender.report({"Alien"})
        await timeline.reach(minutes(1))
        await sender.report({"Brazil"})
        await timeline.reach(minutes(2))
        await sender.report({"Brazil"})
    assert [each.total for each in reports_sent(broker, *rounds())] == [0, 1, 0]
    assert "phase 1 of epoch 9500000 gets no report: to report this would cost 1.200 nats" in caplog.text


@pytest.mark.parametrize("left", [0.0, 0.3])
async def test_a_spent_budget_raises_an_error_and_is_never_exceeded(
    broker: FakeBroker, timeline: Timeline, left: float
) -> None:
    publish_epoch(timeline)
    spent = films().method.phases[0].epsilon + films().method.phases[1].epsilon
    async with reporter(timeline, terms=Terms(budget=spent + left)) as sender:
        await sender.report({"Alien"})
        waiting = asyncio.create_task(sender.stopped())
        timeline.until_ms = minutes(6)
        with pytest.raises(BudgetExceeded):
            await waiting
        with pytest.raises(BudgetExceeded):
            await sender.report({"Brazil"})
    assert sender.acknowledged == 2


async def test_a_spent_day_ends_no_reporting_and_the_next_day_pays_again(
    broker: FakeBroker, timeline: Timeline, own_log: pytest.LogCaptureFixture
) -> None:
    own_log.set_level(logging.INFO)
    day = minutes(24 * 60) - minutes(0)
    first = films().method.phases[0].epsilon
    async with reporter(timeline, terms=Terms(budget=100.0, per_day=first), spread=False) as sender:
        await sender.report({"Alien"})
        await timeline.reach(minutes(7))
        assert len(broker.sent) == 1, "of three epochs"
        timeline.now_ms = minutes(0) + day
        await timeline.reach(minutes(1) + day)
        await sender.report({"Brazil"})
    assert len(broker.sent) == 2
    assert "0.000 are left of 1.2 a day, until 00:00 UTC" in own_log.text
    assert not [record for record in own_log.records if record.levelname == "WARNING"]


async def test_a_day_that_pays_for_no_phase_at_all_ends_reporting(broker: FakeBroker, timeline: Timeline) -> None:
    async with reporter(timeline, terms=Terms(budget=100.0, per_day=0.5)) as sender:
        await sender.report({"Alien"})
        timeline.until_ms = minutes(6)
        with pytest.raises(DayBudgetExceeded):
            await sender.stopped()
    assert broker.sent == []


async def test_a_clock_that_was_ahead_for_a_while_does_not_mute_a_user(
    broker: FakeBroker, timeline: Timeline, ledger_file: Path
) -> None:
    years = 50 * 365 * 24 * 60
    for reports, minute in enumerate([0, 3 * years, 3], start=1):
        timeline.now_ms = minutes(minute)
        async with reporter(timeline, ledger=opened(ledger_file), spread=False) as sender:
            await sender.report({"Alien"})
            await timeline.reach(minutes(minute + 1))
        assert len(broker.sent) == reports


async def test_reports_to_another_collection_count_against_the_budget(broker: FakeBroker, timeline: Timeline) -> None:
    other = films(epochs="pipelined")
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=Terms(budget=1.9))
    reported = charges(other, ItemSets.of([[0]]), asked=film_round(1, collection=other), secret=SECRET, tag_key=None)
    ledger.spend(reported, time_ms=timeline())
    async with reporter(timeline, ledger=ledger) as sender:
        await sender.report({"Alien"})
        timeline.until_ms = minutes(6)
        with pytest.raises(BudgetExceeded):
            await sender.stopped()
    assert broker.sent == []


# Nothing is lost silently.


async def test_a_lost_report_raises_an_error(broker: FakeBroker, timeline: Timeline) -> None:
    broker.error = MessageSizeTooLargeError()

    async def scenario() -> None:
        async with reporter(timeline) as sender:
            await sender.report({"Alien"})
            timeline.until_ms = minutes(1)
            with pytest.raises(DeliveryError, match=r"^1 report to topic stream-ldp\.films\.reports"):
                await sender.stopped()
            with pytest.raises(DeliveryError):
                await sender.report({"Alien"})

    with pytest.raises(DeliveryError):
        await scenario()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_full_disk_raises_an_error_and_lets_no_report_out(
    broker: FakeBroker, timeline: Timeline, ledger_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)

    async def scenario() -> None:
        async with reporter(timeline, ledger=opened(ledger_file)) as sender:
            await sender.report({"Alien"})
            timeline.until_ms = minutes(1)
            with pytest.raises(LedgerError, match=r"cannot be written, so nothing was sent"):
                await sender.stopped()

    with pytest.raises(LedgerError):
        await scenario()
    assert broker.sent == []


# Misuse raises a clear error.


@pytest.mark.parametrize("topic", ["reports", "rounds"])
async def test_a_missing_topic_is_named_with_the_cure(broker: FakeBroker, timeline: Timeline, topic: str) -> None:
    broker.topics.remove(f"stream-ldp.films.{topic}")
    with pytest.raises(MissingTopic, match=rf"(?s)stream-ldp\.films\.{topic} does not exist.*topics create"):
        async with reporter(timeline):
            pytest.fail("it was opened")
    assert broker.stopped == ["producer"]
    assert timeline.stopped == ([] if topic == "reports" else ["consumer"])


async def test_a_reporter_that_is_not_open_refuses_a_set(broker: FakeBroker, timeline: Timeline) -> None:
    sender = reporter(timeline)
    with pytest.raises(RuntimeError, match=r"not open"):
        await sender.report({"Alien"})
    async with sender:
        await sender.report({"Alien"})
    with pytest.raises(RuntimeError, match=r"not open"):
        await sender.report({"Alien"})
    with pytest.raises(RuntimeError, match=r"not open"):
        await sender.stopped()
    assert broker.stopped == ["producer"]
    assert timeline.stopped == ["consumer"]


async def test_waiting_for_the_end_does_not_outlast_the_block(broker: FakeBroker, timeline: Timeline) -> None:
    async with reporter(timeline) as sender:
        waiting = asyncio.create_task(sender.stopped())
        await asyncio.sleep(0)
    async with asyncio.timeout(30):
        await waiting


def test_the_ledger_of_another_user_is_refused(timeline: Timeline) -> None:
    with pytest.raises(ValueError, match=r"of a user with another secret"):
        reporter(timeline, ledger=PrivacyLedger.in_memory(secret=bytes(32)))


MEMOISED = films(mechanism="{kind: loloha, epsilon: 1, lifetime: 2, k: 2, set_size: 2}")


async def memoised_rows(broker: FakeBroker, timeline: Timeline, held: set[str], **options: Any) -> list[bytes]:
    """Report in one epoch, as a client that starts anew."""
    before, start_ms = len(broker.sent), timeline()
    async with reporter(timeline, collection=MEMOISED, spread=False, **options) as sender:
        await sender.report(held)
        await timeline.reach(start_ms + MINUTE_MS // 2)
    timeline.now_ms = start_ms + MINUTE_MS
    return [arguments["value"][-1:] for _, arguments in broker.sent[before:]]


def row_and_sign(report: bytes) -> tuple[int, int]:
    return report[0] & 7, report[0] >> 3


async def test_memoised_reports_show_one_row_through_fresh_noise_also_after_restarts(
    broker: FakeBroker, timeline: Timeline, tmp_path: Path
) -> None:
    """Of 40 reports, at least 2 have each sign but for one run in 10^5: a sign is kept with a probability of 0.80."""
    ledger = PrivacyLedger.create(tmp_path / "ledger", secret=SECRET, terms=Terms(budget=2.0))
    reports = [
        row_and_sign(row)
        for _ in range(40)
        for row in await memoised_rows(broker, timeline, {"Alien"}, ledger=ledger)
    ]
    assert len(reports) == 40
    assert len({row for row, _ in reports}) == 1
    assert {sign for _, sign in reports} == {0, 1}
    assert 1.99 < ledger.spending.epsilon <= 2.0


async def test_a_set_with_another_sign_gets_no_report_unless_the_user_agrees(
    broker: FakeBroker, timeline: Timeline, caplog: pytest.LogCaptureFixture
) -> None:
    def sign(film: str) -> int:
        return held_sign(MEMOISED, ItemSets.of([MEMOISED.encode({film})]), secret=SECRET)

    names = MEMOISED.items.names or ()
    same, other = ([name for name in names if sign(name) == wanted] for wanted in (sign("Alien"), 1 - sign("Alien")))
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=UNLIMITED)
    assert len(await memoised_rows(broker, timeline, {"Alien"}, ledger=ledger)) == 1
    assert len(await memoised_rows(broker, timeline, {other[0]}, ledger=ledger)) == 0
    assert "another value" in caplog.text
    assert not any(name in caplog.text for name in names)
    assert len(await memoised_rows(broker, timeline, {same[-1]}, ledger=ledger)) == 1
    spent = ledger.spending.epsilon
    ledger.agree(Terms(budget=UNLIMITED.budget, assumption=Assumption.VALUES, max_values=2), change_terms=True)
    assert len(await memoised_rows(broker, timeline, {other[0]}, ledger=ledger)) == 1
    assert ledger.spending.epsilon == pytest.approx(spent + 1.0, abs=1e-6)


async def test_a_user_whose_set_may_change_in_any_way_draws_every_report_afresh(
    broker: FakeBroker, timeline: Timeline
) -> None:
    """All of 30 reports have the same one of 8 rows once in 10^26 runs."""
    fresh = Terms(budget=UNLIMITED.budget, assumption=Assumption.FRESH)
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=fresh)
    reports = [
        row_and_sign(row)
        for _ in range(30)
        for row in await memoised_rows(broker, timeline, {"Alien"}, ledger=ledger)
    ]
    assert len({row for row, _ in reports}) > 1
    assert ledger.spending.epsilon == pytest.approx(30.0, abs=1e-5)
    assert ledger.spending.assumption is Assumption.FRESH


async def test_terms_that_change_while_a_reporter_is_open_hold_for_its_noise_too(
    broker: FakeBroker, timeline: Timeline
) -> None:
    """All of 30 fresh reports have the same one of 8 rows once in 10^26 runs."""
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=UNLIMITED)
    async with reporter(timeline, collection=MEMOISED, spread=False, ledger=ledger) as sender:
        await sender.report({"Alien"})
        await timeline.reach(minutes(0.5))
        ledger.agree(Terms(budget=UNLIMITED.budget, assumption=Assumption.FRESH), change_terms=True)
        await timeline.reach(minutes(30.5))
    rows = [row_and_sign(arguments["value"][-1:])[0] for _, arguments in broker.sent[1:]]
    assert len(rows) == 30
    assert len(set(rows)) > 1
    assert ledger.spending.epsilon == pytest.approx(31.0, abs=1e-4)


async def test_a_day_that_does_not_pay_for_a_first_report_may_pay_for_one_more(
    broker: FakeBroker, timeline: Timeline
) -> None:
    """The second costs 0.642 more than the first."""
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=Terms(budget=5.0, per_day=1.1))
    assert len(await memoised_rows(broker, timeline, {"Alien"}, ledger=ledger)) == 1
    ledger.agree(Terms(budget=5.0, per_day=0.7))
    assert len(await memoised_rows(broker, timeline, {"Alien"}, ledger=ledger)) == 0
    timeline.now_ms += 24 * 60 * MINUTE_MS
    assert len(await memoised_rows(broker, timeline, {"Alien"}, ledger=ledger)) == 1


# Turns.


async def test_a_user_answers_the_rounds_of_one_epoch_in_four(broker: FakeBroker, timeline: Timeline) -> None:
    taking = ItemCollection.model_validate({**films().document, "rotate": 4})
    mine = [bool(taking.has_turn([SECRET], number=epoch)[0]) for epoch in range(EPOCH, EPOCH + 12)]
    assert sum(mine) == 3
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=UNLIMITED)
    async with reporter(timeline, collection=taking, ledger=ledger) as sender:
        await sender.report({"Alien"})
        await timeline.reach(minutes(3 * len(mine)))
    (sent,) = reports_sent(broker, film_round(1, collection=taking), collection=taking)
    assert [(time_ms - minutes(0)) // (3 * MINUTE_MS) for time_ms in sent.times_ms] == [
        place for place, asks in enumerate(mine) if asks
    ]
    (last,) = ledger.spending.turns
    assert (last.fingerprint, last.number) == (taking.fingerprint.hex(), EPOCH + 11 - mine[::-1].index(True))
