"""Tests of the merger of several collections: none waits for another."""

import asyncio
import threading

import pytest

from stream_ldp.kafka import patience
from stream_ldp.kafka.cluster import NoCoordinator
from stream_ldp.service import holding
from stream_ldp.service.merger import Merger
from tests.service.mergers import SMALL, SOON, WIDE, Published, quick_answer, rebuilt, tell


async def test_finals_of_a_small_collection_do_not_wait_for_the_slow_solves_of_another(
    merger: Merger, published: Published, finish: threading.Event
) -> None:
    await tell(merger, WIDE, windows=2)
    await asyncio.sleep(0.1)
    await tell(merger, SMALL, windows=5)
    assert await asyncio.wait_for(published.finals_of(SMALL, number=5), SOON) == [1, 2, 3, 4, 5]
    assert len(published.records) == 5
    finish.set()
    assert await asyncio.wait_for(published.finals_of(WIDE, number=2), SOON) == [1, 2]


async def test_the_event_loop_turns_at_least_once_for_each_final_of_a_backlog(
    merger: Merger, published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_ldp.merge_step.solve", quick_answer)
    await tell(merger, SMALL, windows=50)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    finals = await asyncio.wait_for(published.finals_of(SMALL, number=50), SOON)
    counting.cancel()
    assert finals == list(range(1, 51))
    assert turns > 50


async def test_what_is_merged_and_each_final_answer_is_logged_once_with_its_fields(
    merger: Merger, published: Published, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="stream_ldp"):
        await merger.give_up(set(range(64)))
        await merger.take_over(set(range(64)))
        await tell(merger, SMALL, windows=2)
        await asyncio.wait_for(published.finals_of(SMALL, number=2), SOON)
        await asyncio.sleep(0)
    lines = [each for each in caplog.records if each.__dict__.get("collection") == "small"]
    assert [each.getMessage() for each in lines[:2]] == ["small: gives up its windows", "small: merges its windows"]
    finals = [each for each in lines if "reports" in each.__dict__]
    assert [each.__dict__["reports"] for each in finals] == [1, 2]
    assert (
        finals[1]
        .getMessage()
        .startswith(
            "small/bathing-mobility: final answer of 1970-01-01T00:00:02Z/1970-01-01T00:00:04Z, from 2 reports, "
        )
    )


async def test_windows_that_cannot_be_rebuilt_yet_are_said_with_the_reason_which_is_logged_once(
    merger: Merger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(*_: object) -> dict[str, int]:
        raise NoCoordinator("the group has no coordinator")

    monkeypatch.setattr(patience, "RETRY_SECONDS", 0.0)
    await merger.give_up(set(range(64)))
    with monkeypatch.context() as failing:
        failing.setattr(holding, "released", fails)
        await merger.take_over(set(range(64)))
        async with asyncio.timeout(SOON):
            while "small: rebuilding its windows" in merger.problems():
                await asyncio.sleep(0)
        why = "again, after: NoCoordinator('the group has no coordinator')"
        assert f"small: rebuilding its windows {why}" in merger.problems()
    await rebuilt(merger)
    assert caplog.text.count(f"small: its windows are rebuilt {why}") == 1


async def test_a_collection_whose_merging_is_cancelled_under_it_fails(
    merger: Merger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In silence, its partials would be applied, and no final would ever be published."""

    async def cancelled(*_: object) -> None:
        raise asyncio.CancelledError

    await rebuilt(merger)
    monkeypatch.setattr("stream_ldp.service.finals.Finals.publish_once", cancelled)
    await tell(merger, SMALL, windows=1)
    async with asyncio.timeout(SOON):
        await merger.wait_until_stopped()
    assert str(merger.crash_reason) == "something that it waited for was cancelled"
