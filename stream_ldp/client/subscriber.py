"""This module receives the answers of each kind of collection as typed messages."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

from pydantic import ValidationError

from stream_ldp.client.errors import (
    MissingTopic,
    NotAnEstimate,
    NotARanking,
    NotAStringRanking,
    NotMarginals,
    NotPlaceCounts,
    NotSyntheticRecords,
    UnreadableAnswer,
    require_topic,
)
from stream_ldp.collection.located import NAME_PATTERN
from stream_ldp.errors import ParameterError
from stream_ldp.kafka.connection import check_connection
from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.topics import TopicNames, absent
from stream_ldp.pipeline.answer import AnswerT, Status
from stream_ldp.places.answer import PlaceCounts
from stream_ldp.records.answer import Estimate
from stream_ldp.sampled.answer import Marginals
from stream_ldp.sets.answer import Ranking
from stream_ldp.strings.answer import StringRanking
from stream_ldp.synthesis.chunk import SyntheticChunk

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection as Container
    from types import TracebackType

    from stream_ldp.kafka.settings import Settings

__all__ = [
    "AnswerSource",
    "AnswerSubscriber",
    "MarginalsSubscriber",
    "PlaceSubscriber",
    "RankingSubscriber",
    "RecordsSubscriber",
    "StringSubscriber",
    "Subscriber",
]

#: Seconds between the commits of a group member: after a crash, answers of at most so long are handed out twice.
COMMIT_INTERVAL = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerSource(Generic[AnswerT]):
    """A source of one kind of answers, as its subscriber reads it.

    topic: name of the topic of a collection's answers.
    read: reads the value of a record; raises ValidationError for one that is not an answer of this kind.
    unreadable: error that is raised for such a record.
    reader: name of the subscriber.
    """

    topic: Callable[[TopicNames, str], str]
    read: Callable[[bytes], AnswerT]
    unreadable: type[UnreadableAnswer]
    reader: str


_ESTIMATES = AnswerSource(
    topic=TopicNames.estimates, read=Estimate.from_bytes, unreadable=NotAnEstimate, reader="Subscriber"
)
_RANKINGS = AnswerSource(
    topic=TopicNames.heavy_hitters, read=Ranking.from_bytes, unreadable=NotARanking, reader="RankingSubscriber"
)
_MARGINALS = AnswerSource(
    topic=TopicNames.marginals, read=Marginals.from_bytes, unreadable=NotMarginals, reader="MarginalsSubscriber"
)
_STRINGS = AnswerSource(
    topic=TopicNames.strings, read=StringRanking.from_bytes, unreadable=NotAStringRanking, reader="StringSubscriber"
)
_PLACES = AnswerSource(
    topic=TopicNames.places, read=PlaceCounts.from_bytes, unreadable=NotPlaceCounts, reader="PlaceSubscriber"
)
_RECORDS = AnswerSource(
    topic=TopicNames.records,
    read=SyntheticChunk.from_bytes,
    unreadable=NotSyntheticRecords,
    reader="RecordsSubscriber",
)

#: Every kind of answers, each with its own topic.
_SOURCES: tuple[AnswerSource[Any], ...] = (_ESTIMATES, _RANKINGS, _MARGINALS, _STRINGS, _PLACES)


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
            await self._reader.stop()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AnswerT:
        """Return the next answer that is wanted.

        Raises:
            UnreadableAnswer: the next record is not an answer.
        """
        while True:
            if asyncio.get_running_loop().time() >= self._commit_due:
                await self._commit()
            record = await (self._reader.next() if self._end is None else self._reader.next_before(self._end))
            if record is None:
                raise StopAsyncIteration
            self._handed_out = record.offset + 1
            try:
                answer = self._answers.read(record.value)
            except ValidationError as error:
                raise self._answers.unreadable(
                    self._topic, record.partition, record.offset, _explanation(error)
                ) from error
            says_something = self._silences or answer.status is Status.ANSWERED
            if self._is_news(answer) and says_something and self._wanted(answer):
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
        """Check that the topic exists; if the collection has another kind of answers, name the right subscriber."""
        for other in _SOURCES:
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
    """A subscriber to the estimates of a collection of records.

        async with Subscriber("care-survey", settings=Settings.load(), finals_only=True) as estimates:
            async for estimate in estimates:
                print(estimate.estimate, estimate.window, estimate.joint())

    Iteration raises NotAnEstimate for a record that is not an estimate; the next step continues after that record.
    """

    def __init__(
        self,
        collection: str,
        *,
        settings: Settings,
        estimates: Container[str] | None = None,
        finals_only: bool = False,
        silences: bool = False,
        from_beginning: bool = False,
        follow: bool = True,
        group: str | None = None,
    ) -> None:
        """Prepare for one collection.

        estimates: names of the estimates to hand out; None for all.
        finals_only: leave out the estimates of windows that are still open.
        silences: hand out, too, the messages that nobody reported in a window or several, of status `no-reports`.
        from_beginning: begin with the oldest estimate that the topic still has, not with the next one.
        follow: wait for more; otherwise stop where the topic ended when the block was entered.
        group: share the estimates with other members of this consumer group, which remembers what has been handed
            out (each estimate at least once). Without a group, every subscriber gets all estimates.

        Raises:
            ValueError: a group is given, but `follow` is False.
        """

        def wanted(estimate: Estimate) -> bool:
            named = estimates is None or estimate.estimate in estimates
            return named and (estimate.final or not finals_only)

        super().__init__(
            collection,
            _ESTIMATES,
            wanted=wanted,
            silences=silences,
            settings=settings,
            from_beginning=from_beginning,
            follow=follow,
            group=group,
        )


class RankingSubscriber(AnswerSubscriber[Ranking]):
    """A subscriber to the heavy hitters of a collection of item sets.

        async with RankingSubscriber("films", settings=Settings.load(), results_only=True) as rankings:
            async for ranking in rankings:
                print(ranking.epoch, [(each.item, each.frequency) for each in ranking.items])

    Iteration raises NotARanking for a record that is not a ranking; the next step continues after that record.
    """

    def __init__(
        self,
        collection: str,
        *,
        settings: Settings,
        results_only: bool = False,
        silences: bool = False,
        from_beginning: bool = False,
        follow: bool = True,
        group: str | None = None,
    ) -> None:
        """Prepare for one collection.

        results_only: hand out one ranking of each epoch, its result; leave out those of earlier phases and of windows
            that are still open.
        silences, from_beginning, follow, group: see `Subscriber`; the epoch of a ranking of status `no-reports` ends
            without a result.

        Raises:
            ValueError: a group is given, but `follow` is False.
        """
        super().__init__(
            collection,
            _RANKINGS,
            wanted=lambda ranking: not results_only or ranking.complete or ranking.status is Status.NO_REPORTS,
            silences=silences,
            settings=settings,
            from_beginning=from_beginning,
            follow=follow,
            group=group,
        )


class WindowSubscriber(AnswerSubscriber[AnswerT]):
    """A subscriber to answers of which each window has one."""

    _source: ClassVar[AnswerSource[Any]]

    def __init__(
        self,
        collection: str,
        *,
        settings: Settings,
        finals_only: bool = False,
        silences: bool = False,
        from_beginning: bool = False,
        follow: bool = True,
        group: str | None = None,
    ) -> None:
        """Prepare for one collection.

        finals_only: leave out the answers to windows that are still open.
        silences, from_beginning, follow, group: see `Subscriber`.

        Raises:
            ValueError: a group is given, but `follow` is False.
        """
        super().__init__(
            collection,
            self._source,
            wanted=lambda answer: answer.final or not finals_only,
            silences=silences,
            settings=settings,
            from_beginning=from_beginning,
            follow=follow,
            group=group,
        )


class MarginalsSubscriber(WindowSubscriber[Marginals]):
    """A subscriber to the frequencies and means of a sampled collection.

        async with MarginalsSubscriber("diets", settings=Settings.load(), finals_only=True) as marginals:
            async for each in marginals:
                print(each.window, each.of("diet").estimate)

    Iteration raises NotMarginals for a record that holds none; the next step continues after that record.
    """

    _source = _MARGINALS


class StringSubscriber(WindowSubscriber[StringRanking]):
    """A subscriber to the most frequent strings of a collection of them.

        async with StringSubscriber("words", settings=Settings.load(), finals_only=True) as rankings:
            async for ranking in rankings:
                print(ranking.window, [(each.string, each.raw) for each in ranking.strings or ()])

    Iteration raises NotAStringRanking for a record that is none; the next step continues after that record.
    """

    _source = _STRINGS


class PlaceSubscriber(WindowSubscriber[PlaceCounts]):
    """A subscriber to the counts of a collection of places.

        async with PlaceSubscriber("visits", settings=Settings.load(), finals_only=True) as counts:
            async for each in counts:
                print(each.window, dict(zip(each.places, each.projected)))

    Iteration raises NotPlaceCounts for a record that holds none; the next step continues after that record.
    """

    _source = _PLACES


class RecordsSubscriber(WindowSubscriber[SyntheticChunk]):
    """A subscriber to the synthetic records of a collection, some thousands at a time.

        async with RecordsSubscriber("care-survey", settings=Settings.load()) as records:
            async for chunk in records:
                print(chunk.window, chunk.chunk, chunk.chunks, chunk.columns()["bathing"][:10])

    Every chunk of a window is handed out once, in order, also if a worker has published it again after a crash.
    Iteration raises NotSyntheticRecords for a record that holds none; the next step continues after that record.
    """

    _source = _RECORDS

    def _require_topic(self, existing: Container[str]) -> None:
        """Check that the topic exists; a collection has answers on another topic whether or not it has records."""
        if self._topic not in existing:
            why = "a collection has it whose file asks for synthetic records, by `synthesis: {records: 10000}`; "
            raise MissingTopic(absent(self._topic, self._settings.flags(), why=why))


def _explanation(error: ValidationError) -> str:
    """Describe the first problem, and say how many there are."""
    problems = error.errors(include_url=False, include_input=False)
    place = ".".join(map(str, problems[0]["loc"]))
    others = f" (and {len(problems) - 1} more problems)" if len(problems) > 1 else ""
    return f"{place}: {problems[0]['msg']}{others}".removeprefix(": ")
