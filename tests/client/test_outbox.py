"""Batches on their way: a lost one is told, none is lost silently, and their number is bounded."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from aiokafka.errors import MessageSizeTooLargeError

from stream_ldp.client.errors import DeliveryError
from stream_ldp.client.reporter import Reporter
from tests.client.examples import MINUTE_MS, collection_of
from tests.client.fakes import FakeBroker
from tests.client.reports import RECORD, SECRET, reporter, unlimited, users
from tests.client.virtual_time import run_in_virtual_time


@asynccontextmanager
async def losing(**options: Any) -> AsyncIterator[Reporter]:
    """Open a reporter that will lose reports: the end of its block raises so, after the assertions of the test."""
    sender = reporter(**options)
    await sender.__aenter__()
    try:
        yield sender
    except BaseException:
        with suppress(DeliveryError):
            await sender.__aexit__(None, None, None)
        raise
    with pytest.raises(DeliveryError):
        await sender.__aexit__(None, None, None)


async def test_a_failed_send_is_raised_by_flush(broker: FakeBroker) -> None:
    broker.error = MessageSizeTooLargeError()

    sender = reporter(max_reports=2)

    async def scenario() -> None:
        async with sender:
            await sender.report_many(users(3), secrets=None)
            await sender.flush()
            pytest.fail("flush returned")

    with pytest.raises(DeliveryError, match=r"3 reports to topic \S+ were not acknowledged: .*TooLarge") as failure:
        await scenario()
    assert failure.value.reports == 3
    assert sender.acknowledged == 0


async def test_a_failed_send_is_raised_by_a_later_report(broker: FakeBroker) -> None:
    broker.error = MessageSizeTooLargeError()

    async def scenario() -> None:
        async with reporter(max_reports=1) as sender:
            for _ in range(100):
                await sender.report(RECORD)
            pytest.fail("report went on")

    with pytest.raises(DeliveryError):
        await scenario()
    assert len(broker.sent) < 100


async def test_a_failed_send_is_raised_by_the_end_of_the_block(broker: FakeBroker) -> None:
    broker.error = MessageSizeTooLargeError()
    with pytest.raises(DeliveryError, match=r"^1 report"):
        async with reporter() as sender:
            await sender.report(RECORD)


async def test_a_failed_send_of_a_lingering_batch_is_raised(broker: FakeBroker) -> None:
    broker.error = MessageSizeTooLargeError()

    async def scenario() -> None:
        async with reporter(linger=0.001) as sender:
            await sender.report(RECORD)
            async with asyncio.timeout(30):
                await broker.arrival.wait()

    with pytest.raises(DeliveryError):
        await scenario()


async def test_an_error_of_the_application_does_not_hide_lost_reports(broker: FakeBroker) -> None:
    broker.error = MessageSizeTooLargeError()

    async def scenario() -> None:
        async with reporter() as sender:
            await sender.report(RECORD)
            raise LookupError("of the application")

    with pytest.raises(DeliveryError) as failure:
        await scenario()
    assert isinstance(failure.value.__context__, LookupError)


async def test_what_was_reported_before_an_error_of_the_application_is_sent(broker: FakeBroker) -> None:
    async def scenario() -> None:
        async with reporter() as sender:
            await sender.report(RECORD)
            raise LookupError("of the application")

    with pytest.raises(LookupError):
        await scenario()
    assert broker.decoded().counts.tolist() == [1]


async def test_while_the_block_ends_no_report_is_taken_that_would_never_leave(broker: FakeBroker) -> None:
    broker.holding = True
    sender = await reporter().__aenter__()
    await sender.report(RECORD)
    ending = asyncio.create_task(sender.__aexit__(None, None, None))
    while not broker.sent:
        await asyncio.sleep(0)
    for late in (sender.report(RECORD), sender.report_many(users(1), secrets=None)):
        with pytest.raises(RuntimeError, match=r"not open"):
            await late
    broker.release()
    await ending
    assert sender.acknowledged == broker.decoded().counts.sum() == 1


async def test_a_report_that_was_under_way_when_the_block_ended_is_not_said_to_be_taken(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = asyncio.Event()

    async def in_thread(work: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        await spent.wait()
        return work(*arguments, **options)

    monkeypatch.setattr(asyncio, "to_thread", in_thread)
    secret = bytes(32)
    sender = await reporter().__aenter__()
    reporting = asyncio.create_task(sender.report_many(users(1), secrets=[secret], ledgers=[unlimited(secret)]))
    await asyncio.sleep(0.0)
    await sender.__aexit__(None, None, None)
    spent.set()
    with pytest.raises(RuntimeError, match=r"not open"):
        await reporting
    assert broker.sent == []


async def test_an_error_that_is_not_kafkas_is_raised_too(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    def receive(topic: str, **arguments: Any) -> None:
        raise AssertionError("inside the producer")

    monkeypatch.setattr(broker, "receive", receive)
    with pytest.raises(DeliveryError, match=r"inside the producer"):
        async with reporter() as sender:
            await sender.report(RECORD)


async def test_a_batch_that_is_never_acknowledged_is_lost_and_closing_does_not_wait_for_it(
    broker: FakeBroker,
) -> None:
    broker.holding = True
    with pytest.raises(DeliveryError, match=r"no answer within 0.01 s"):
        async with reporter(delivery_timeout=0.01) as sender:
            await sender.report(RECORD)
    assert broker.stopped == ["sender", "client"], "the producer's own stop waits forever"


async def test_after_a_loss_every_call_raises_it_before_it_takes_or_spends_anything(broker: FakeBroker) -> None:
    broker.error = MessageSizeTooLargeError()
    ledger = unlimited(SECRET)
    async with losing(ledger=ledger, max_reports=10) as sender:
        await sender.report(RECORD)
        with pytest.raises(DeliveryError, match=r"^1 report"):
            await sender.flush()
        broker.error = None
        spent = ledger.spending
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: sender.report(RECORD),
            lambda: sender.report_series([]),
            lambda: sender.report_many(users(1), secrets=None),
            lambda: sender.report_many(users(30), secrets=None),
            lambda: sender.report_many([], secrets=None),
            sender.flush,
        ]
        for call in calls:
            with pytest.raises(DeliveryError, match=r"^1 report"):
                await call()
        assert ledger.spending == spent
    assert len(broker.sent) == 1


async def test_every_report_that_was_taken_is_acknowledged_or_counted_as_lost(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive, now = broker.receive, [0]

    def receive_two(topic: str, **arguments: Any) -> asyncio.Future[None]:
        broker.error = MessageSizeTooLargeError() if len(broker.sent) == 2 else None
        return receive(topic, **arguments)

    monkeypatch.setattr(broker, "receive", receive_two)
    async with losing(max_reports=10, clock=lambda: now[0]) as sender:
        await sender.report_many(users(20), secrets=None)
        assert await sender.flush() == 20
        await sender.report_many(users(3), secrets=None)
        now[0] = MINUTE_MS
        # The first three leave, since the pane is over, and are lost; the next one waits for its batch to fill.
        await sender.report_many(users(1), secrets=None)
        for _ in range(10):
            await asyncio.sleep(0)
        with pytest.raises(DeliveryError, match=r"^4 reports .*; 1 of them were never sent") as lost:
            await sender.report_many(users(25), secrets=None)
        assert (sender.acknowledged, lost.value.reports, lost.value.unsent) == (20, 4, 1)
    assert len(broker.sent) == 3


async def test_batches_on_their_way_are_abandoned_with_the_first_that_is_lost(broker: FakeBroker) -> None:
    broker.holding = True
    async with losing(max_reports=10) as sender:
        await sender.report_many(users(50), secrets=None)
        broker.error = MessageSizeTooLargeError()
        await sender.report_many(users(10), secrets=None)
        with pytest.raises(DeliveryError, match=r"^60 reports"):
            await sender.flush()
        assert broker.stopped == ["sender", "client"], "the producer is abandoned with what it has taken"


@pytest.mark.parametrize("linger", [0.2, 3600.0], ids=["batches leave by the timer", "batches leave when full"])
def test_when_the_broker_freezes_the_loss_is_raised_as_soon_as_the_delivery_times_out(
    broker: FakeBroker, linger: float
) -> None:
    broker.holding = True

    taken = 0

    async def report_for_ever(sender: Reporter) -> None:
        nonlocal taken
        while True:
            await sender.report_many(users(3), secrets=None)
            taken += 3
            await asyncio.sleep(0.05)

    async def scenario() -> None:
        async with losing(linger=linger, max_reports=50, delivery_timeout=5.0) as sender:
            with pytest.raises(DeliveryError, match=r"no answer within 5 s") as lost:
                async with asyncio.timeout(60):
                    await report_for_ever(sender)
            # The first batch left after 0.2 s by the timer, or after 0.85 s when it was full.
            assert 5.0 <= asyncio.get_running_loop().time() < 6.0
            assert lost.value.reports == taken
            sent = len(broker.sent)
        assert len(broker.sent) == sent

    run_in_virtual_time(scenario())


def test_a_loss_that_nobody_asks_about_ends_the_timer_and_is_logged(
    broker: FakeBroker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.holding = True

    async def scenario() -> None:
        async with losing(linger=0.2, max_reports=50, delivery_timeout=5.0) as sender:
            await sender.report_many(users(3), secrets=None)
            await asyncio.sleep(5.1)
            await sender.report_many(users(3), secrets=None)
            await asyncio.sleep(60.0)
            assert "are lost, and no more are sent: no answer within 5 s" in caplog.text
            broker.release()
            with pytest.raises(DeliveryError, match=r"^6 reports .*; 3 of them were never sent"):
                await sender.report_many(users(3), secrets=None)
        assert len(broker.sent) == 1, "the timer sends nothing after a loss"

    run_in_virtual_time(scenario())


async def test_a_closed_reporter_leaves_nothing_behind(broker: FakeBroker) -> None:
    sender = reporter()
    async with sender:
        await sender.report(RECORD)
    reference = weakref.ref(sender)
    del sender
    gc.collect()
    assert reference() is None
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_reporting_waits_while_too_many_batches_are_in_flight(broker: FakeBroker) -> None:
    broker.holding = True
    async with reporter(max_reports=10, max_in_flight=3) as sender:
        reporting = asyncio.create_task(sender.report_many(users(1_000), secrets=None))
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(broker.sent) == 3
        assert not reporting.done()
        broker.release()
        await reporting
    assert broker.decoded().counts.sum() == 1_000


async def test_lingering_batches_do_not_exceed_the_bound_on_batches_in_flight(broker: FakeBroker) -> None:
    broker.holding = True
    async with reporter(linger=0.0, max_in_flight=2) as sender:
        for _ in range(50):
            await sender.report(RECORD)
            await asyncio.sleep(0.0001)
        assert len(broker.sent) == 2
        broker.arrival.clear()
        broker.release()
        async with asyncio.timeout(30):
            await broker.arrival.wait()
        assert broker.decoded().counts.sum() == 50, "what had waited left by itself"


async def test_several_tasks_may_share_a_reporter(broker: FakeBroker) -> None:
    async with reporter(max_reports=3, max_in_flight=2) as sender:
        await asyncio.gather(*(sender.report_many(users(7), secrets=None) for _ in range(20)))
    assert broker.decoded().counts.sum() == 140


async def test_a_caller_that_is_cancelled_while_it_waits_takes_no_report_with_it(broker: FakeBroker) -> None:
    broker.holding = True
    async with reporter(max_reports=10, max_in_flight=2) as sender:
        # The reports of this caller share their batch with those of the one that will be cancelled.
        await sender.report_many(users(5), secrets=None)
        reporting = asyncio.create_task(sender.report_many(users(65), secrets=None))
        for _ in range(100):
            await asyncio.sleep(0)
        reporting.cancel()
        await asyncio.gather(reporting, return_exceptions=True)
        broker.release()
        await sender.flush()
        # Two batches were on their way and the third waited for room; it holds half of what the first caller gave.
        assert sender.acknowledged == broker.decoded().counts.sum() == 5 + 3 * 10


@pytest.mark.parametrize(("ahead_ms", "told"), [(50 * 365 * 86_400_000, True), (61_000, True), (59_000, False)])
async def test_a_clock_that_is_far_ahead_of_the_brokers_is_reported_once(
    broker: FakeBroker, caplog: pytest.LogCaptureFixture, ahead_ms: int, told: bool
) -> None:
    exact = collection_of(window="grace: 5s, time_precision: 1ms")
    broker.appends_at_ms = 1_000
    async with reporter(exact, max_reports=1, clock=lambda: 1_000 + ahead_ms) as sender:
        for _ in range(3):
            await sender.report(RECORD)
    warnings = [record.getMessage() for record in caplog.records if "clock" in record.getMessage()]
    assert len(warnings) == told
    assert not told or f"clock is {ahead_ms / 1_000:.0f} s ahead of the brokers'" in warnings[0]
