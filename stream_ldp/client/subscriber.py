"""Receiving estimates and rankings, typed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Self

from pydantic import ValidationError

from stream_ldp.client.errors import MissingTopic, NotAnEstimate, NotARanking, UnreadableAnswer, require_topic
from stream_ldp.kafka.connection import check_connection
from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.topics import TopicNames
from stream_ldp.pipeline.answer import AnswerT
from stream_ldp.records.answer import Estimate
from stream_ldp.sets.answer import Ranking

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection as Container
    from types import TracebackType

    from stream_ldp.kafka.settings import Settings

__all__ = ["AnswerSubscriber", "RankingSubscriber", "Subscriber"]

#: Seconds between the commits of a group member: at most so much is handed out twice after a crash.
COMMIT_INTERVAL = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Answers(Generic[AnswerT]):
    """One kind of answers: its topic, how a record of it is read, what is raised for one that is none, who reads it.

    read: raises ValidationError for what is not an answer of this kind.
    """

    topic: Callable[[TopicNames, str], str]
    read: Callable[[bytes], AnswerT]
    unreadable: type[UnreadableAnswer]
    reader: str


_ESTIMATES = _Answers(
    topic=TopicNames.estimates, read=Estimate.from_bytes, unreadable=NotAnEstimate, reader="Subscriber"
)
_RANKINGS = _Answers(
    topic=TopicNames.heavy_hitters, read=Ranking.from_bytes, unreadable=NotARanking, reader="RankingSubscriber"
)


class AnswerSubscriber(Generic[AnswerT]):
    """The answers of a collection, as an asynchronous iterator.

    A topic of answers has one partition, on which the finals of a series follow each other in the order of their
    windows. What a delayed worker repeats is left out: an answer, final or not, of a window that is not newer than
    the last final one of its series.

    Iteration raises UnreadableAnswer for a record that is none; the next step goes on behind it.
    """

    def __init__(
        self,
        collection: str,
        answers: _Answers[AnswerT],
        *,
        wanted: Callable[[AnswerT], bool],
        settings: Settings,
        from_beginning: bool,
        follow: bool,
        group: str | None,
    ) -> None:
        """wanted: whether to hand out an answer that is news.

        from_beginning, follow, group: see `Subscriber`.

        Raises:
            ValueError: a group that does not follow.
        """
        if group is not None and not follow:
            raise ValueError("a group member follows: where the others have got to is not known to it")
        self._collection = collection
        self._answers = answers
        self._wanted = wanted
        self._settings = settings
        self._follow = follow
        self._in_group = group is not None
        self._topic = answers.topic(settings.topic_names, collection)
        self._reader = LogReader(self._topic, settings=settings, group=group, from_beginning=from_beginning)
        self._end: int | None = None
        self._last_final: dict[tuple[str, str], int] = {}
        self._handed_out: int | None = None
        self._commit_due = 0.0

    async def __aenter__(self) -> Self:
        """Connect and find the place to begin.

        Raises:
            BrokerUnreachable, SettingsError, KafkaError: the brokers cannot be used.
            MissingTopic: the collection's topic of such answers does not exist.
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
        """Disconnect. After an exception, a group gets the last answer again: it may not have been dealt with."""
        try:
            if error is None:
                await self._commit()
        finally:
            await self._reader.stop()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AnswerT:
        """The next answer that is wanted.

        Raises:
            UnreadableAnswer: the next record is none.
        """
        while True:
            if asyncio.get_running_loop().time() >= self._commit_due:
                await self._commit()
            if self._end is not None and await self._reader.position() >= self._end:
                raise StopAsyncIteration
            record = await self._reader.next()
            self._handed_out = record.offset + 1
            try:
                answer = self._answers.read(record.value)
            except ValidationError as error:
                raise self._answers.unreadable(
                    self._topic, record.partition, record.offset, _explained(error)
                ) from error
            if self._is_news(answer) and self._wanted(answer):
                return answer

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
        """Name the right reader where the collection has answers of another kind."""
        for other in (_ESTIMATES, _RANKINGS):
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


class Subscriber(AnswerSubscriber[Estimate]):
    """The estimates of a collection of records.

        async with Subscriber("care-survey", settings=Settings.load(), finals_only=True) as estimates:
            async for estimate in estimates:
                print(estimate.estimate, estimate.window, estimate.joint())

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

        def wanted(estimate: Estimate) -> bool:
            named = estimates is None or estimate.estimate in estimates
            return named and (estimate.final or not finals_only)

        super().__init__(
            collection,
            _ESTIMATES,
            wanted=wanted,
            settings=settings,
            from_beginning=from_beginning,
            follow=follow,
            group=group,
        )


class RankingSubscriber(AnswerSubscriber[Ranking]):
    """The heavy hitters of a collection of item sets.

        async with RankingSubscriber("films", settings=Settings.load(), results_only=True) as rankings:
            async for ranking in rankings:
                print(ranking.epoch, [(each.item, each.frequency) for each in ranking.items])

    Iteration raises NotARanking for a record that is none; the next step goes on behind it.
    """

    def __init__(
        self,
        collection: str,
        *,
        settings: Settings,
        results_only: bool = False,
        from_beginning: bool = False,
        follow: bool = True,
        group: str | None = None,
    ) -> None:
        """results_only: one ranking an epoch, its result; leave out what is known after earlier phases and meanwhile.

        from_beginning, follow, group: as of `Subscriber`.

        Raises:
            ValueError: a group that does not follow.
        """
        super().__init__(
            collection,
            _RANKINGS,
            wanted=lambda ranking: ranking.complete or not results_only,
            settings=settings,
            from_beginning=from_beginning,
            follow=follow,
            group=group,
        )


def _explained(error: ValidationError) -> str:
    """The first problem, and how many there are."""
    problems = error.errors(include_url=False, include_input=False)
    place = ".".join(map(str, problems[0]["loc"]))
    others = f" (and {len(problems) - 1} more problems)" if len(problems) > 1 else ""
    return f"{place}: {problems[0]['msg']}{others}".removeprefix(": ")
