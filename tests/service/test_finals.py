"""Tests that each final is published once, whoever else merges the collection."""

import asyncio

import pytest

from stream_ldp.kafka.memory import connected
from stream_ldp.kafka.settings import Settings
from stream_ldp.service.metrics import Metrics
from tests.service.mergers import SMALL, SOON, Installation, Writer, entry, rebuilt


async def test_two_workers_that_merge_a_collection_side_by_side_publish_each_final_once(
    installation: Installation,
) -> None:
    mergers = [installation.merger(), installation.merger()]
    for each in mergers:
        await each.take_over(set(range(64)))
        await rebuilt(each)
    for number in range(30):
        await installation.window(number, *mergers)
    async with asyncio.timeout(SOON):
        for each in mergers:
            while not each._owned["small"].merge.has_final(29 * SMALL.window.size_ms):
                await asyncio.sleep(0)
    for each in mergers:
        await each.on_stop()
    finals = await installation.published.finals_of(SMALL, number=30)
    assert finals == [number % 7 + 1 for number in range(30)]


async def test_a_worker_that_was_frozen_publishes_no_final_that_its_successor_has_published(
    installation: Installation,
) -> None:
    frozen, successor = installation.merger(), installation.merger()
    await frozen.take_over(set(range(64)))
    await rebuilt(frozen)
    await installation.window(0, frozen)
    await asyncio.wait_for(installation.published.finals_of(SMALL, number=1), SOON)
    await successor.take_over(set(range(64)))
    await rebuilt(successor)
    await installation.window(1, successor)
    await asyncio.wait_for(installation.published.finals_of(SMALL, number=2), SOON)
    partials_topic = Settings.load().topic_names.partials
    for offset, record in enumerate(installation.broker.available(partials_topic)):
        await frozen.apply(entry(SMALL, offset, record.key or b"", record.value))
    async with asyncio.timeout(SOON):
        while not frozen._owned["small"].merge.has_final(SMALL.window.size_ms):
            await asyncio.sleep(0)
    # What comes next is published by whichever is first.
    await installation.window(2, frozen)
    assert await asyncio.wait_for(installation.published.finals_of(SMALL, number=3), SOON) == [1, 2, 3]
    for each in (frozen, successor):
        await each.on_stop()


async def test_a_final_that_came_before_its_worker_was_shut_out_is_not_published_again(
    installation: Installation, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, merger = Installation(metrics), installation.merger()
    with connected(other.broker):
        quick = other.merger()
        await quick.take_over(set(range(64)))
        await rebuilt(quick)
        await other.window(0, quick)
        await asyncio.wait_for(other.published.finals_of(SMALL, number=1), SOON)
        await quick.on_stop()
    (final,) = [each for each in other.published.records if each.topic.endswith(".estimates")]
    take = Writer.take

    async def late(writer: Writer) -> None:
        await installation.published.write(final)
        await take(writer)

    monkeypatch.setattr(Writer, "take", late)
    await merger.take_over(set(range(64)))
    await rebuilt(merger)
    await installation.window(0, merger)
    async with asyncio.timeout(SOON):
        while not merger._owned["small"].merge.has_final(0):
            await asyncio.sleep(0)
    await merger.on_stop()
    assert await installation.published.finals_of(SMALL, number=1) == [1]
