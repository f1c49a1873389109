"""Batches on their way: a lost one is told, none is lost silently, and their number is bounded."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest
from aiokafka.errors import MessageSizeTooLargeError

from stream_ldp.client import DeliveryError
from tests.client.examples import MINUTE_MS
from tests.client.fakes import FakeBroker
from tests.client.reports import RECORD, reporter, users


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
    with pytest.raises(DeliveryError, match=r"^1 reports"):
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
    assert broker.stopped == ["sender", "client"], "the producer's own stop waits for ever"


async def test_after_a_loss_nothing_more_is_sent_and_every_report_counts_as_lost(broker: FakeBroker) -> None:
    broker.error = MessageSizeTooLargeError()

    async def scenario() -> None:
        async with reporter(max_reports=1) as sender:
            await sender.report(RECORD)
            with pytest.raises(DeliveryError, match=r"^1 reports"):
                await sender.flush()
            broker.error = None
            for _ in range(3):
                with pytest.raises(DeliveryError):
                    await sender.report(RECORD)

    with pytest.raises(DeliveryError, match=r"^4 reports"):
        await scenario()
    assert len(broker.sent) == 1


async def test_every_batch_of_a_failed_call_counts_as_lost(broker: FakeBroker) -> None:
    broker.error = MessageSizeTooLargeError()
    now = [0]

    async def scenario() -> None:
        async with reporter(max_reports=2, clock=lambda: now[0]) as sender:
            await sender.report_many(users(2), secrets=None)
            with pytest.raises(DeliveryError):
                await sender.flush()
            await sender.report_many(users(1), secrets=None)
            now[0] = MINUTE_MS
            await sender.report_many(users(2), secrets=None)

    with pytest.raises(DeliveryError, match=r"^5 reports"):
        await scenario()


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
