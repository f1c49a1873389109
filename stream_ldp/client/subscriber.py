"""Subscribers receive the answers of a collection of any kind as typed messages."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, Generic, Self

from pydantic import ValidationError
from typing_extensions import TypeVar

from stream_ldp.client.errors import MissingTopic, UnreadableAnswer, require_topic
from stream_ldp.client.registration import require_registered
from stream_ldp.collection import Collection
from stream_ldp.collection.located import NAME_PATTERN, meant
from stream_ldp.errors import ParameterError
from stream_ldp.kafka.connection import check_connection
from stream_ldp.kafka.joined_logs import JoinedLogs
from stream_ldp.kafka.log import LogReader, existing_topics
from stream_ldp.kafka.topics import absent
from stream_ldp.kinds import KINDS, chunk_class, kind_of
from stream_ldp.pipeline.answer import Answer, Status
from stream_ldp.pipeline.problem import problem_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from collections.abc import Collection as Container

    from stream_ldp.kafka.settings import Settings
    from stream_ldp.pipeline.kind import Kind

#: Seconds between the commits of a group member: after a crash, answers of at most so long are handed out twice.
COMMIT_INTERVAL = 1.0

AnswerT = TypeVar("AnswerT", bound=Answer, default=Any)


async def readable(
    subscriber: Subscriber[AnswerT], *, on_unreadable: Callable[[UnreadableAnswer], None] | None
) -> AsyncIterator[AnswerT]:
    """Yield the answers of an open subscriber, and pass over the records that are none.

    on_unreadable: called for each of these; None to raise it.
    """
    while True:
        try:
            yield await anext(subscriber)
        except UnreadableAnswer as error:
            if on_unreadable is None:
                raise
            on_unreadable(error)
        except StopAsyncIteration:
            return


class Subscriber(Generic[AnswerT]):
    """A subscriber hands out the answers of a collection, as an asynchronous iterator.

        async with Subscriber("care-survey", Estimate, settings=Settings.load()) as estimates:
            async for estimate in estimates:
                print(estimate.estimate, estimate.window, estimate.joint())

    A topic of answers has one partition, on which the finals of a series follow each other in the order of their
    windows. The answers of open windows are on a topic of their own, which fewer may read. Left out is what is out of
    date: every answer, final or not, of a window that is not newer than that of the last final answer of its series.

    Synthetic records have their own topic, with some thousands in a `SyntheticChunk`. Every chunk of a window is
    handed out once, in order, even if a worker has published it again after a crash.

    Iteration raises UnreadableAnswer for a record that is not an answer; the next step continues after that record.
    """

    def __init__(
        self,
        collection: str | Collection,
        answers: type[AnswerT] | None = None,
        *,
        settings: Settings,
        series: Container[str] | None = None,
        finals_only: bool = False,
        provisional: bool = False,
        silences: bool = False,
        from_beginning: bool = False,
        follow: bool = True,
        group: str | None = None,
    ) -> None:
        """Prepare for one collection.

        collection: a collection, or its name. Of a collection, only answers to what its file asks are handed out.
        answers: the class of the answers, or `SyntheticChunk`; None for that of the collection's kind, which is found
            by the topic that exists where there is only a name.
        series: names of the series to hand out, such as those of estimates; None for all.
        finals_only: leave out answers that a later one replaces, which are those of the earlier phases of an epoch.
        provisional: hand out answers of windows that are still open, too.
        silences: hand out, too, the messages that nobody reported in a window or several, of status `no-reports`; an
            epoch with such a message ends without a result.
        from_beginning: begin with the oldest answer that the topic still has, not with the next one.
        follow: wait for more; otherwise stop where the topic ended when the block was entered.
        group: share the answers with other members of this consumer group, which remembers what has been handed out
            (each answer at least once). Without a group, every subscriber gets all answers.

        Raises:
            TypeError: this is no collection and no name, or no class of answers.
            ParameterError: no collection can have this name.
            ValueError: a group is given, but `follow` is False; or provisional answers are wanted by a group, or with
                `finals_only`, or with a class that is not of answers.
        """
        known = collection if isinstance(collection, Collection) else None
        name = collection if known is None else known.name
        if not isinstance(name, str):
            raise TypeError(f"Subscriber takes a collection or its name, not a {type(collection).__name__}")
        if re.fullmatch(NAME_PATTERN, name) is None:
            raise ParameterError(
                f"{name!r} is not the name of a collection: give the one that its file says after `collection:`"
            )
        if group is not None and not follow:
            raise ValueError("a group member has to follow: it does not know how far the other members have read")
        if provisional and (finals_only or group is not None or answers is chunk_class()):
            raise ValueError(
                "provisional answers are for a subscriber to all answers: not with finals_only, since the next one "
                "replaces each, nor in a group, which would remember answers that nobody replaces"
            )
        self._name = name
        self._known = known
        self._answers: type[Any] | None = kind_of(known).answer if known is not None and answers is None else answers
        self._settings = settings
        self._messages = _messages(name, settings)
        if self._answers is not None and self._answers not in self._messages.values():
            raise TypeError(f"Subscriber takes the class of answers, such as Estimate, not {answers!r}")
        self._series = series
        self._finals_only = finals_only
        self._provisional = provisional
        self._silences = silences
        self._from_beginning = from_beginning
        self._follow = follow
        self._group = group
        self._topic = ""
        self._opened: JoinedLogs | None = None
        self._last_final: dict[tuple[str, str], int] = {}
        self._handed_out: int | None = None
        self._commit_due = 0.0

    async def __aenter__(self) -> Self:
        """Connect and find the place to begin.

        Raises:
            BrokerUnreachable, SettingsError, KafkaError: the brokers cannot be used.
            MissingTopic: the collection has no topic of such answers.
            ForeignAnswers: another collection is registered with the name of the one that was given.
            ParameterError: the name alone does not say which answers, since there are topics of several classes.
        """
        await check_connection(self._settings)
        if self._known is not None:
            await require_registered(self._known, settings=self._settings)
        existing = await existing_topics(self._settings)
        self._topic = self._topic_among(existing)
        topics = [self._topic]
        if self._provisional:
            topics.append(self._provisional_topic(existing))
        logs = JoinedLogs(
            [
                LogReader(topic, settings=self._settings, group=self._group, from_beginning=self._from_beginning)
                for topic in topics
            ],
            follow=self._follow,
        )
        await logs.start()
        self._opened = logs
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """Disconnect. After an exception, a group gets the last answer again, as it may not have been processed."""
        try:
            if error is None:
                await self._commit()
        finally:
            await self._logs.stop()

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
            record = await self._next()
            if record is None:
                raise StopAsyncIteration
            self._handed_out = record.offset + 1
            answer = self._read(record)
            if self._is_news(answer) and self._wants(answer):
                return answer

    @property
    def _logs(self) -> JoinedLogs:
        if self._opened is None:
            raise RuntimeError("the subscriber is not open: use it inside its `async with` block")
        return self._opened

    def _topic_among(self, existing: Container[str]) -> str:
        """Return the topic to read, one of those that exist."""
        flags, messages = self._settings.flags(), self._messages
        of_answers = [topic for topic in messages if messages[topic] is not chunk_class()]
        found = [topic for topic in of_answers if topic in existing]
        wanted = [topic for topic, answers in messages.items() if answers is self._answers] or found
        if len(wanted) > 1:
            raise ParameterError(
                f"{self._name} has answers on {' and '.join(wanted)}: say which, as in "
                f"Subscriber({self._name!r}, {messages[wanted[0]].__name__}, ...)"
            )
        if not wanted:
            if hint := meant(self._name, _answered(existing, self._settings)):
                raise MissingTopic(f"no collection {self._name!r} has a topic of answers{hint}")
            raise MissingTopic(absent(f"{of_answers[0]}, or another one of answers,", flags))
        (topic,) = wanted
        if topic not in existing and self._answers is chunk_class():
            why = "a collection has it whose file asks for synthetic records, by `synthesis: {records: 10000}`; "
            raise MissingTopic(absent(topic, flags, why=why))
        if topic not in existing and found:
            raise MissingTopic(
                f"topic {topic} does not exist, but {found[0]} does, with answers of class "
                f"{messages[found[0]].__name__}"
            )
        require_topic(topic, existing, self._settings)
        return topic

    def _provisional_topic(self, existing: Container[str]) -> str:
        topic = self._settings.topic_names.provisional(self._name)
        if topic not in existing:
            why = "with access to final answers only, use --finals; otherwise, "
            raise MissingTopic(absent(topic, self._settings.flags(), why=why))
        return topic

    async def _next(self) -> Any:
        """Wait for the next record; a group meanwhile takes note of the answer before, which has been processed."""
        if self._group is not None and self._handed_out is not None:
            seconds = max(0.0, self._commit_due - asyncio.get_running_loop().time())
            if (record := await self._logs.next(seconds=seconds)) is not None:
                return record
            await self._commit()
        return await self._logs.next()

    def _read(self, record: Any) -> AnswerT:
        answers: type[Any] = self._messages[self._topic]
        try:
            answer: AnswerT = answers.from_bytes(record.value)
            problem = self._misplaced(answer, final=record.topic == self._topic)
        except ValidationError as error:
            problem = problem_of(error)
        if problem is not None:
            raise UnreadableAnswer(record.topic, record.partition, record.offset, problem, answer=answers.__name__)
        return answer

    def _misplaced(self, answer: AnswerT, *, final: bool) -> str | None:
        """Say why an answer does not belong on its topic, which is one of finals or not; None if it does."""
        if answer.collection != self._name:
            return f"it is of {answer.collection}, not of {self._name}"
        if answer.final is not final:
            return f"it is {'final' if answer.final else 'provisional'}, and such answers are on another topic"
        return None

    def _is_news(self, answer: AnswerT) -> bool:
        # Another version of the collection has windows of its own.
        series = (answer.fingerprint, answer.series)
        last_final = self._last_final.get(series)
        if last_final is not None and answer.window.start_ms <= last_final:
            return False
        if answer.final:
            self._last_final[series] = answer.window.start_ms
        return True

    def _wants(self, answer: AnswerT) -> bool:
        is_silence = answer.status is Status.NO_REPORTS
        return (
            (self._known is None or answer.fingerprint == self._known.fingerprint.hex())
            and (self._series is None or answer.series in self._series)
            and (self._silences if is_silence else answer.settled or not self._finals_only)
        )

    async def _commit(self) -> None:
        self._commit_due = asyncio.get_running_loop().time() + COMMIT_INTERVAL
        if self._group is not None and self._handed_out is not None:
            offset, self._handed_out = self._handed_out, None
            await self._logs.commit(offset)


def _messages(name: str, settings: Settings) -> dict[str, type[Any]]:
    """Return the class of the messages on each topic that may have answers of a collection."""
    names = settings.topic_names
    of_kinds = {names.answers_of(name, kind.collection.topics.answers): kind.answer for kind in KINDS.values()}
    return of_kinds | {names.records(name): chunk_class()}


def _answered(topics: Container[str], settings: Settings) -> list[str]:
    """Return the names of the collections that have one of these topics for their answers."""
    names = {topic.split(".")[1] for topic in topics if topic.count(".") > 1}
    return [name for name in sorted(names) if not _messages(name, settings).keys().isdisjoint(topics)]


async def published_kind(name: str, *, settings: Settings) -> Kind[Any, Any, Any]:
    """Find the kind of a collection by its topic of answers; the first kind if there is none.

    Raises:
        BrokerUnreachable, SettingsError, KafkaError: the brokers cannot be used.
    """
    await check_connection(settings)
    existing = await existing_topics(settings)
    kinds, names = list(KINDS.values()), settings.topic_names
    found = (kind for kind in kinds if names.answers_of(name, kind.collection.topics.answers) in existing)
    return next(found, kinds[0])
