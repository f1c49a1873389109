"""This module holds the base of subscribers: it reads a topic of answers, and leaves out repeats."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, Generic, Self

from pydantic import ValidationError

from stream_ldp.client.answer_source import ANSWER_SOURCES
from stream_ldp.client.errors import MissingTopic, require_topic
from stream_ldp.collection.located import NAME_PATTERN
from stream_ldp.errors import ParameterError
from stream_ldp.kafka.connection import check_connection
from stream_ldp.kafka.log import LogReader
from stream_ldp.pipeline.answer import AnswerT, Status
from stream_ldp.pipeline.problem import problem_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection as Container
    from types import TracebackType

    from stream_ldp.client.answer_source import AnswerSource
    from stream_ldp.client.errors import UnreadableAnswer
    from stream_ldp.kafka.settings import Settings

__all__ = ["AnswerSubscriber"]

#: Seconds between the commits of a group member: after a crash, answers of at most so long are handed out twice.
COMMIT_INTERVAL = 1.0


class AnswerSubscriber(Generic[AnswerT]):
    """A subscriber hands out the answers of a collection, as an asynchronous iterator.

    A topic of answers has one partition, on which the finals of a series follow each other in the order of their
    windows. Repeats by a delayed worker are left out: every answer, final or not, of a window that is not newer than
    that of the last final answer of its series.

    Iteration raises UnreadableAnswer for a record that is not an answer; the next step continues after that record.
    """

    def __init__(
        self,
        collection: str,
        answers: AnswerSource[AnswerT],
        *,
        wanted: Callable[[AnswerT], bool],
        silences: bool,
        settings: Settings,
        from_beginning: bool,
        follow: bool,
        group: str | None,
    ) -> None:
        """Prepare for one collection.

        answers: the kind of its answers.
        wanted: decides whether to hand out an answer that is not a repeat.
        silences, from_beginning, follow, group: see `Subscriber`.

        Raises:
            TypeError: the collection is not given by its name.
            ParameterError: no collection can have this name.
            ValueError: a group is given, but `follow` is False.
        """
        if not isinstance(collection, str):
            raise TypeError(
                f"{type(self).__name__} takes the name of a collection, not a {type(collection).__name__}"
            )
        if re.fullmatch(NAME_PATTERN, collection) is None:
            raise ParameterError(
                f"{collection!r} is not the name of a collection: give the one that its file says after `collection:`"
            )
        if group is not None and not follow:
            raise ValueError("a group member has to follow: it does not know how far the other members have read")
        self._collection = collection
        self._answers = answers
        self._wanted = wanted
        self._silences = silences
        self._settings = settings
        self._follow = follow
        self._in_group = group is not None
        self._topic = answers.topic(settings.topic_names, collection)
        self._reader = LogReader(self._topic, settings=settings, group=group, from_beginning=from_beginning)
        # The wait for the next record of a group; a caller that is cancelled leaves it to the next one.
        self._coming: asyncio.Task[Any] | None = None
        self._end: int | None = None
        self._last_final: dict[tuple[str, str], int] = {}
        self._handed_out: int | None = None
        self._commit_due = 0.0

    async def __aenter__(self) -> Self:
        """Connect and find the place to begin.

        Raises:
            BrokerUnreachable, SettingsError, KafkaError: the brokers cannot be used.
            MissingTopic: the collection's topic for this kind of answers does not exist.
        """
        await check_connection(self._settings)
        try:
            await self._reader.start(check=self._require_topic)
            if not self._follow:
                self._end = await self._reader.end()
        except BaseException:
            await self._reader.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Disconnect. After an exception, a group gets the last answer again, as it may not have been processed."""
        try:
            if error is None:
                await self._commit()
        finally:
            if self._coming is not None:
                self._coming.cancel()
            await self._reader.stop()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AnswerT:
        """Return the next answer that is wanted.

        Raises:
            UnreadableAnswer: the next record is not an answer of this collection.
        """
        while True:
            if asyncio.get_running_loop().time() >= self._commit_due:
                await self._commit()
            record = await (self._next() if self._end is None else self._reader.next_before(self._end))
            if record is None:
                raise StopAsyncIteration
            self._handed_out = record.offset + 1
            answer = self._read(record)
            says_something = self._silences or answer.status is Status.ANSWERED
            if self._is_news(answer) and says_something and self._wanted(answer):
                return answer

    async def _next(self) -> Any:
        """Wait for the next record; a group meanwhile takes note of the answer before, which has been processed."""
        if not self._in_group:
            return await self._reader.next()
        if self._coming is None:
            self._coming = asyncio.create_task(self._reader.next())
        if self._handed_out is not None:
            seconds = self._commit_due - asyncio.get_running_loop().time()
            arrived, _ = await asyncio.wait([self._coming], timeout=max(0.0, seconds))
            if not arrived:
                await self._commit()
        await asyncio.wait([self._coming])
        coming, self._coming = self._coming, None
        return coming.result()

    def _read(self, record: Any) -> AnswerT:
        try:
            answer = self._answers.read(record.value)
        except ValidationError as error:
            raise self._unreadable(record, problem_of(error)) from error
        if answer.collection != self._collection:
            raise self._unreadable(record, f"it is of {answer.collection}, not of {self._collection}")
        return answer

    def _unreadable(self, record: Any, problem: str) -> UnreadableAnswer:
        return self._answers.unreadable(self._topic, record.partition, record.offset, problem)

    def _is_news(self, answer: AnswerT) -> bool:
        # Another version of the collection has windows of its own.
        series = (answer.fingerprint, answer.series)
        last_final = self._last_final.get(series)
        if last_final is not None and answer.window.start_ms <= last_final:
            return False
        if answer.final:
            self._last_final[series] = answer.window.start_ms
        return True

    def _require_topic(self, existing: Container[str]) -> None:
        """Check that the topic exists; if the collection has another kind of answers, name the right subscriber."""
        for other in ANSWER_SOURCES:
            topic = other.topic(self._settings.topic_names, self._collection)
            if self._topic not in existing and topic in existing:
                raise MissingTopic(
                    f"topic {self._topic} does not exist, but {topic} does: read it with {other.reader}"
                )
        require_topic(self._topic, existing, self._settings)

    async def _commit(self) -> None:
        self._commit_due = asyncio.get_running_loop().time() + COMMIT_INTERVAL
        if self._in_group and self._handed_out is not None:
            offset, self._handed_out = self._handed_out, None
            await self._reader.commit(offset)
