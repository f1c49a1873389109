"""Receiving estimates, typed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError
from pydantic import ValidationError

from stream_ldp.client.errors import NotAnEstimate, require_topic
from stream_ldp.connection import check_connection
from stream_ldp.estimate import Estimate
from stream_ldp.topics import TopicNames

if TYPE_CHECKING:
    from collections.abc import Collection as Container
    from types import TracebackType

    from stream_ldp.settings import Settings

__all__ = ["Subscriber"]

#: Seconds between the commits of a group member: at most so much is handed out twice after a crash.
COMMIT_INTERVAL = 1.0


class Subscriber:
    """The estimates of a collection, as an asynchronous iterator.

        async with Subscriber("care-survey", settings=Settings.load(), finals_only=True) as estimates:
            async for estimate in estimates:
                print(estimate.estimate, estimate.window, estimate.joint())

    An estimates topic has one partition, on which the finals of an estimate follow each other in the order of their
    windows. What a delayed worker repeats is left out: an estimate, final or not, of a window that is not newer than
    the last final one.

    Iteration raises NotAnEstimate for a record that is none; the next step goes on behind it.
    """

    def __init__(
        self,
        collection: str,
        *,
        settings: Settings,
        estimates: Container[str] | None = None,
        finals_only: bool = False,
        from_beginning: bool = False,
        follow: bool = True,
        group: str | None = None,
    ) -> None:
        """estimates: names of those wanted; None for all.

        finals_only: leave out the estimates of windows that are still open.
        from_beginning: begin with the oldest estimate that the topic still has, not with the next one.
        follow: wait for more; otherwise end where the topic ends as it is entered.
        group: share the estimates with other members of this consumer group, which remembers what has been handed
            out (each at least once). Without it, every subscriber gets all.

        Raises:
            ValueError: a group that does not follow.
        """
        if group is not None and not follow:
            raise ValueError("a group member follows: where the others have got to is not known to it")
        self._topic = TopicNames(prefix=settings.topic_prefix).estimates(collection)
        self._settings = settings
        self._estimates = estimates
        self._finals_only = finals_only
        self._from_beginning = from_beginning
        self._follow = follow
        self._group = group
        self._partition = TopicPartition(self._topic, 0)
        self._consumer: Any = None
        self._end: int | None = None
        self._last_final: dict[tuple[str, str], int] = {}
        self._handed_out: int | None = None
        self._commit_due = 0.0

    async def __aenter__(self) -> Self:
        """Connect and find the place to begin.

        Raises:
            BrokerUnreachable, SettingsError, KafkaError: the brokers cannot be used.
            MissingTopic: the collection's estimates topic does not exist.
        """
        await check_connection(self._settings)
        self._consumer = AIOKafkaConsumer(
            **self._settings.client_options(),
            group_id=self._group,
            enable_auto_commit=False,
            auto_offset_reset="earliest" if self._from_beginning else "latest",
        )
        try:
            await self._consumer.start()
            require_topic(self._topic, await self._consumer.topics(), self._settings)
            await self._find_place()
        except BaseException:
            await self._consumer.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Disconnect. After an exception, a group gets the last estimate again: it may not have been dealt with."""
        try:
            if error is None:
                await self._commit()
        finally:
            await self._consumer.stop()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Estimate:
        """The next estimate that is wanted.

        Raises:
            NotAnEstimate: the next record is none.
        """
        while True:
            if asyncio.get_running_loop().time() >= self._commit_due:
                await self._commit()
            if self._end is not None and await self._consumer.position(self._partition) >= self._end:
                raise StopAsyncIteration
            record = await self._consumer.getone()
            self._handed_out = record.offset + 1
            try:
                estimate = Estimate.from_bytes(record.value)
            except ValidationError as error:
                raise NotAnEstimate(self._topic, record.partition, record.offset, _explained(error)) from error
            if self._is_wanted(estimate):
                return estimate

    def _is_wanted(self, estimate: Estimate) -> bool:
        if self._estimates is not None and estimate.estimate not in self._estimates:
            return False
        # Another version of the collection has windows of its own.
        series = (estimate.fingerprint, estimate.estimate)
        last_final = self._last_final.get(series)
        if last_final is not None and estimate.window.start_ms <= last_final:
            return False
        if estimate.final:
            self._last_final[series] = estimate.window.start_ms
        return estimate.final or not self._finals_only

    async def _find_place(self) -> None:
        if self._group is not None:
            self._consumer.subscribe([self._topic])
            return
        self._consumer.assign([self._partition])
        # At once, not with the first fetch: an estimate published in between would be missed.
        if not self._from_beginning:
            await self._consumer.seek_to_end(self._partition)
        if not self._follow:
            self._end = (await self._consumer.end_offsets([self._partition]))[self._partition]

    async def _commit(self) -> None:
        self._commit_due = asyncio.get_running_loop().time() + COMMIT_INTERVAL
        if self._group is None or self._handed_out is None:
            return
        offset, self._handed_out = self._handed_out, None
        try:
            await self._consumer.commit({self._partition: offset})
        except (CommitFailedError, IllegalStateError):
            # The partition went to another member of the group, which begins where the last commit was.
            return


def _explained(error: ValidationError) -> str:
    """The first problem, and how many there are."""
    problems = error.errors(include_url=False, include_input=False)
    place = ".".join(map(str, problems[0]["loc"]))
    others = f" (and {len(problems) - 1} more problems)" if len(problems) > 1 else ""
    return f"{place}: {problems[0]['msg']}{others}".removeprefix(": ")
