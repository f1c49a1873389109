"""The clients for programs that are not asynchronous: each call waits until its work is done."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from stream_ldp.pipeline.answer import AnswerT

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from numpy.typing import NDArray

    from stream_ldp.client.reporter import Reporter
    from stream_ldp.client.subscriber import Subscriber
    from stream_ldp.ledger.receipt import Receipt

_Result = TypeVar("_Result")


def run_blocking(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run the work to its end, and return what it returns.

    It has an event loop and a thread of its own, so that it also runs where a loop is running already, as in a
    notebook.
    """
    context = contextvars.copy_context()
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(lambda: context.run(asyncio.run, work)).result()


class _Synchronous:
    """An asynchronous client inside a `with` block, on an event loop in a thread of its own.

    The loop runs between calls as well, so that a client goes on sending. Threads may share the client.
    """

    def __init__(self, client: AbstractAsyncContextManager[Any]) -> None:
        self._entered = client
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._process: int | None = None

    def __enter__(self) -> Self:
        """Connect; see the client, also for what it raises."""
        ready: Future[None] = Future()
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="stream-ldp client", daemon=True)
        self._thread.start()
        ready.result()
        try:
            self._wait(self._entered.__aenter__())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *raised: Any) -> None:
        """Disconnect; see the client, also for what it raises."""
        try:
            self._wait(self._entered.__aexit__(*raised))
        finally:
            self._end()

    def _wait(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run the work on the loop, and wait for it; whatever interrupts the waiting cancels the work."""
        if self._loop is None:
            work.close()
            raise RuntimeError(f"the {type(self).__name__} is not open: use it inside its `with` block")
        if os.getpid() != self._process:
            # The thread is in the process that opened it alone, so nobody would ever do the work.
            work.close()
            raise RuntimeError(
                f"the {type(self).__name__} was opened before this process was forked: open one in each process"
            )
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _run(self, ready: Future[None]) -> None:
        serving = self._serve(ready)
        try:
            asyncio.run(serving)
        except BaseException as error:
            if ready.done():
                raise
            # There is no loop, as where a process has too many open files: a caller would wait for it without end.
            ready.set_exception(error)
        finally:
            serving.close()

    async def _serve(self, ready: Future[None]) -> None:
        """Keep the loop running until the end of the block; what is still under way is then cancelled."""
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        ready.set_result(None)
        await self._stopping.wait()

    def _end(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None and self._stopping is not None and self._thread is not None:
            loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()


class SyncReporter(_Synchronous):
    """A reporter for programs that are not asynchronous.

        with SyncReporter(Reporter(survey, settings=Settings.load(), secret=secret, ledger=ledger)) as reporter:
            reporter.report({"bathing": "no", "mobility": "some"})

    Its methods do what those of `Reporter` do, raise what they raise, and wait until they return.
    """

    def __init__(self, reporter: Reporter) -> None:
        """Take a reporter, which nothing else uses."""
        super().__init__(reporter)
        self._reporter = reporter

    @property
    def acknowledged(self) -> int:
        """Number of reports that the brokers have acknowledged."""
        return self._reporter.acknowledged

    @property
    def receipt(self) -> Receipt | None:
        """That of the last report of the one user, for the user alone; None before the first."""
        return self._reporter.receipt

    def report(self, record: Mapping[str, Any] | Iterable[Any]) -> Receipt | None:
        return self._wait(self._reporter.report(record))

    def report_series(self, records: NDArray[Any] | Sequence[Sequence[Any]]) -> Receipt | None:
        return self._wait(self._reporter.report_series(records))

    def report_many(self, records: Any, *, secrets: Sequence[bytes] | None, **options: Any) -> int:
        """See `Reporter.report_many`, also for the options."""
        return self._wait(self._reporter.report_many(records, secrets=secrets, **options))

    def stopped(self) -> None:
        self._wait(self._reporter.stopped())

    def flush(self) -> int:
        return self._wait(self._reporter.flush())


class SyncSubscriber(_Synchronous, Generic[AnswerT]):
    """A subscriber for programs that are not asynchronous, to the answers of any kind of collection.

    with SyncSubscriber(Subscriber("care-survey", Estimate, settings=Settings.load(), finals_only=True)) as estimates:
        for estimate in estimates:
            print(estimate.window, estimate.joint())
    """

    def __init__(self, subscriber: Subscriber[AnswerT]) -> None:
        """Take a subscriber, which nothing else uses."""
        super().__init__(subscriber)
        self._subscriber = subscriber

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> AnswerT:
        """Wait for the next answer that is wanted, and return it; see `Subscriber`."""
        answer: list[AnswerT] = self._wait(self._next())
        if not answer:
            raise StopIteration
        return answer[0]

    async def _next(self) -> list[AnswerT]:
        """Return the next answer, or nothing at the end."""
        try:
            return [await anext(self._subscriber)]
        except StopAsyncIteration:
            return []
