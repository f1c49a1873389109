"""Tests of the solver: several collections, one of which takes very long."""

import asyncio
import threading
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from stream_ldp.kinds import solve
from stream_ldp.pipeline.answer import Answer
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.collection import JointCollection
from stream_ldp.service.metrics import Metrics
from stream_ldp.service.solver import Solved, Solver
from tests.service.harness import SURVEY

SMALL, WIDE, WIDER = (JointCollection.parse(SURVEY.format(name=name)) for name in ("small", "wide", "wider"))

#: Longest wait, in seconds, before a test fails.
SOON = 20.0


def task(collection: JointCollection, *, final: bool = True) -> WindowTask[Any, Any]:
    return Merge(collection, partitions=1).task(0, collection.estimates[0], final=final)


@pytest.fixture
def metrics() -> Metrics:
    return Metrics({"small": 1, "wide": 1, "wider": 1})


async def solved(
    solver: Solver, collection: JointCollection, *, final: bool = True, until: threading.Event | None = None
) -> Solved[Answer]:
    """Solve a question; that lasts until an event is set."""
    asked = task(collection, final=final)

    def work() -> Answer:
        if until is not None:
            until.wait()
        return solve(collection, asked)

    return await solver.work(collection, asked, work)


@pytest.fixture
def finish() -> Iterator[threading.Event]:
    """Return an event that is set when the test ends."""
    done = threading.Event()
    yield done
    done.set()


async def test_a_small_collection_does_not_wait_for_wide_ones(metrics: Metrics, finish: threading.Event) -> None:
    solver = Solver(metrics=metrics.solve, places=1)
    wide = [asyncio.create_task(solved(solver, each, until=finish)) for each in (WIDE, WIDER)]
    await asyncio.sleep(0)
    for _ in range(3):
        found = await asyncio.wait_for(solved(solver, SMALL), SOON)
        assert found.made.collection == "small"
    assert not any(each.done() for each in wide)
    finish.set()
    assert [each.made.collection for each in await asyncio.gather(*wide)] == ["wide", "wider"]


async def test_an_estimate_is_solved_where_threads_may_not_step_back(
    metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.setpriority", refuse)
    found = await asyncio.wait_for(solved(Solver(metrics=metrics.solve), SMALL), SOON)
    assert found.made.collection == "small"


async def test_the_event_loop_keeps_running_while_an_estimate_is_solved(
    metrics: Metrics, finish: threading.Event
) -> None:
    solver = Solver(metrics=metrics.solve)
    solving = asyncio.create_task(solved(solver, WIDE, until=finish))
    for _ in range(100):
        await asyncio.sleep(0.001)
    assert not solving.done()
    finish.set()
    assert (await solving).made.reports == 0


async def test_metrics_tell_the_wait_from_the_solve_and_count_what_waits_and_runs(
    metrics: Metrics, finish: threading.Event
) -> None:
    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(f"stream_ldp_{name}", labels)

    solver = Solver(metrics=metrics.solve, places=1)
    began = time.monotonic()
    wide = asyncio.create_task(solved(solver, WIDE, until=finish))
    wider = asyncio.create_task(solved(solver, WIDER, final=False, until=finish))
    await asyncio.sleep(0)
    queued_by = time.monotonic()
    await asyncio.sleep(0.01)
    assert value("solves_running", kind="final") == 1
    assert value("solves_queued", kind="provisional") == 1
    at_least = time.monotonic() - queued_by
    finish.set()
    seconds = [(await each).seconds for each in (wide, wider)]
    waited = value("solve_wait_seconds_sum", collection="wider")
    took = value("solve_duration_seconds_sum", collection="wider")
    assert waited is not None
    assert waited >= at_least
    assert took == seconds[1]
    assert waited + took <= time.monotonic() - began
    assert [value(name, kind=kind) for name in ("solves_queued", "solves_running") for kind in ("final",)] == [0, 0]


async def test_what_a_solve_raises_reaches_whoever_asked_and_the_next_one_has_its_turn(metrics: Metrics) -> None:
    def broken() -> Answer:
        raise ZeroDivisionError("a bug")

    solver = Solver(metrics=metrics.solve, places=1)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        await solver.work(SMALL, task(SMALL), broken)
    assert (await asyncio.wait_for(solved(solver, SMALL), SOON)).made.reports == 0


async def test_a_solve_that_gets_no_thread_leaves_its_place_to_the_next(
    metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    solver = Solver(metrics=metrics.solve, places=1)
    solver._seconds["small", "bathing-mobility"] = 3_600.0  # the last lane, which no solve leaves
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", full)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            await solved(solver, SMALL)
    assert (await asyncio.wait_for(solved(solver, SMALL), SOON)).made.reports == 0


async def test_works_of_one_turn_are_made_in_order_and_one_that_fails_spoils_no_other(metrics: Metrics) -> None:
    def broken() -> int:
        raise ZeroDivisionError("a bug")

    numbers = count(1)
    solver = Solver(metrics=metrics.solve, places=1)
    works = (lambda: next(numbers), broken, lambda: next(numbers))
    first, failed, last = await solver.work_together(SMALL, [(task(SMALL, final=False), each) for each in works])
    assert [each.made for each in (first, last) if not isinstance(each, Exception)] == [1, 2]
    assert isinstance(failed, ZeroDivisionError)
    assert metrics.registry.get_sample_value("stream_ldp_solve_wait_seconds_count", {"collection": "small"}) == 1
    assert metrics.registry.get_sample_value("stream_ldp_solve_duration_seconds_count", {"collection": "small"}) == 2


async def test_a_question_that_is_given_up_gives_its_turn_to_the_next(
    metrics: Metrics, finish: threading.Event
) -> None:
    """A merge is given up at a rebalance, whether its question waits or is being solved."""
    solver = Solver(metrics=metrics.solve, places=1)
    running = asyncio.create_task(solved(solver, WIDE, until=finish))
    waiting = asyncio.create_task(solved(solver, WIDER, until=finish))
    await asyncio.sleep(0.05)
    for task in (running, waiting):
        task.cancel()
    await asyncio.gather(running, waiting, return_exceptions=True)
    finish.set()
    assert (await asyncio.wait_for(solved(solver, SMALL), SOON)).made.collection == "small"


def test_a_solve_that_runs_does_not_keep_the_process_from_ending(metrics: Metrics, finish: threading.Event) -> None:
    async def leave() -> None:
        task = asyncio.create_task(solved(Solver(metrics=metrics.solve), WIDE, until=finish))
        await asyncio.sleep(0.05)
        task.cancel()

    asyncio.run(leave())
    solves = [thread for thread in threading.enumerate() if thread.name == "solve-wide"]
    assert solves
    assert all(thread.daemon for thread in solves)
    finish.set()
    for thread in solves:
        thread.join(SOON)
        assert not thread.is_alive()
