"""Solve questions on threads, in the order of a queue that is fair to all collections.

Threads suffice: NumPy and scikit-learn release the interpreter's lock in all that takes long, and /livez answers
within 100 ms (p99) while wide estimates are solved: see `python -m tests.benchmarks.liveness`.
"""

import asyncio
import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from stream_ldp.collection import Collection
from stream_ldp.pipeline.solve_queue import Job, SolveQueue
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.service.metrics import SolveMetrics

T = TypeVar("T")

#: Added to the niceness of a thread that solves: the event loop, with ingest and health, comes first. With four
#: solves on two processors, /livez answers after 1 ms instead of 13 (median), and 55 instead of 105 (p99).
_NICENESS = 10

#: Seconds by which a timer of the event loop may be early, and more.
_CLOCK_SECONDS = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class Solved(Generic[T]):
    """What was made, and the time in seconds that it took, without the wait for its turn."""

    made: T
    seconds: float


class Solver:
    """A solver answers the questions of the collections of one worker."""

    def __init__(self, *, metrics: SolveMetrics, places: int | None = None) -> None:
        """Begin without questions.

        places: number of solves of about the same length that run at a time; by default half as many as there are
            processors.
        """
        self._metrics = metrics
        self._queue = SolveQueue(places=places or max(1, (os.cpu_count() or 1) // 2))
        self._turns: dict[Job, asyncio.Future[None]] = {}
        # By collection and series: the time, in seconds, that its last solve took.
        self._seconds: dict[tuple[str, str], float] = {}
        self._next_move: asyncio.TimerHandle | None = None

    async def work(self, collection: Collection, task: WindowTask[Any, Any], work: Callable[[], T]) -> Solved[T]:
        """Make something of the windows of a task, such as its answer, when its turn has come.

        It is given up if this is cancelled while it waits; once it has begun, it is made to its end, for nobody.
        """
        (found,) = await self.work_together(collection, [(task, work)])
        if isinstance(found, Exception):
            raise found
        return found

    async def work_together(
        self, collection: Collection, works: Sequence[tuple[WindowTask[Any, Any], Callable[[], T]]]
    ) -> list[Solved[T] | Exception]:
        """Make something of each of several tasks, or nothing, one after the other in one turn; see `work`.

        Returns:
            What was made of each, or what that raised.
        """
        tasks = [task for task, _ in works]
        job = Job(
            collection=collection.name,
            final=any(task.final for task in tasks),
            expected_s=sum(self._seconds.get((collection.name, task.series.name), 0.0) for task in tasks),
            patience_s=min(task.series.every_ms for task in tasks) / 1_000,
        )
        turn = self._turns[job] = asyncio.get_running_loop().create_future()
        queued_at = time.monotonic()
        self._queue.put(job, now=queued_at)
        self._begin()
        try:
            await turn
        except asyncio.CancelledError:
            self._end(job)
            raise
        self._metrics.solve_wait.labels(collection.name).observe(time.monotonic() - queued_at)
        found = await self._on_thread(job, [work for _, work in works])
        for task, each in zip(tasks, found, strict=True):
            if not isinstance(each, Exception) and each.made is not None:
                self._seconds[collection.name, task.series.name] = each.seconds
                self._metrics.solve_duration.labels(collection.name).observe(each.seconds)
        return found

    def _begin(self) -> None:
        """Let all whose turn it is begin."""
        while (job := self._queue.take(now=time.monotonic())) is not None:
            turn = self._turns.pop(job)
            if not turn.done():
                turn.set_result(None)
        self._observe()
        if self._next_move is not None:
            self._next_move.cancel()
        self._next_move = None
        if self._queue.queued and (at := self._queue.next_move(now=time.monotonic())) is not None:
            # A little later, since the loop's clock is coarse.
            delay = max(0.0, at - time.monotonic()) + _CLOCK_SECONDS
            self._next_move = asyncio.get_running_loop().call_later(delay, self._begin)

    def _end(self, job: Job) -> None:
        self._turns.pop(job, None)
        self._queue.remove(job)
        self._begin()

    async def _on_thread(self, job: Job, works: Sequence[Callable[[], T]]) -> list[Solved[T] | Exception]:
        """Do some works on a thread of their own, which does not keep the process from ending."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[list[Solved[T] | Exception]] = loop.create_future()

        def end(found: list[Solved[T] | Exception], error: BaseException | None) -> None:
            self._end(job)
            if result.cancelled():
                return
            if error is None:
                result.set_result(found)
            else:
                result.set_exception(error)

        def run() -> None:
            found: list[Solved[T] | Exception] = []
            failure = None
            try:
                _lower_priority()
                found.extend(map(_timed, works))
            except BaseException as error:  # noqa: BLE001  raised where the answers are awaited
                failure = error
            if not loop.is_closed():
                loop.call_soon_threadsafe(end, found, failure)

        try:
            threading.Thread(target=run, name=f"solve-{job.collection}", daemon=True).start()
        except RuntimeError:  # There may be no more threads now, and its place is for the next one.
            self._end(job)
            raise
        return await result

    def _observe(self) -> None:
        for gauge, jobs in (
            (self._metrics.solves_queued, self._queue.queued),
            (self._metrics.solves_running, self._queue.running),
        ):
            for final, kind in ((True, "final"), (False, "provisional")):
                gauge.labels(kind).set(sum(job.final is final for job in jobs))


def _timed(work: Callable[[], T]) -> Solved[T] | Exception:
    """Do some work, and return what it has made, or what it has raised."""
    began = time.monotonic()
    try:
        return Solved(made=work(), seconds=time.monotonic() - began)
    except Exception as error:  # noqa: BLE001  it is of this work alone
        return error


def _lower_priority() -> None:
    """Let this thread come after the event loop, where that is possible."""
    if sys.platform == "linux":  # elsewhere, threads have no niceness of their own
        # A sandbox may forbid it: what is solved then is as right, and takes its share of the processor.
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), os.nice(0) + _NICENESS)
