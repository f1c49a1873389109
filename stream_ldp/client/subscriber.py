"""This module receives the answers of each kind of collection as typed messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from stream_ldp.client.answer_source import ESTIMATES, MARGINALS, PLACES, RANKINGS, RECORDS, STRINGS
from stream_ldp.client.answer_subscriber import AnswerSubscriber
from stream_ldp.client.errors import MissingTopic
from stream_ldp.kafka.topics import absent
from stream_ldp.pipeline.answer import AnswerT, Status
from stream_ldp.places.answer import PlaceCounts
from stream_ldp.records.answer import Estimate
from stream_ldp.sampled.answer import Marginals
from stream_ldp.sets.answer import Ranking
from stream_ldp.strings.answer import StringRanking
from stream_ldp.synthesis.chunk import SyntheticChunk

if TYPE_CHECKING:
    from collections.abc import Collection as Container

    from stream_ldp.client.answer_source import AnswerSource
    from stream_ldp.kafka.settings import Settings

__all__ = [
    "MarginalsSubscriber",
    "PlaceSubscriber",
    "RankingSubscriber",
    "RecordsSubscriber",
    "StringSubscriber",
    "Subscriber",
]


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
            ESTIMATES,
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
            RANKINGS,
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

    _source = MARGINALS


class StringSubscriber(WindowSubscriber[StringRanking]):
    """A subscriber to the most frequent strings of a collection of them.

        async with StringSubscriber("words", settings=Settings.load(), finals_only=True) as rankings:
            async for ranking in rankings:
                print(ranking.window, [(each.string, each.raw) for each in ranking.strings or ()])

    Iteration raises NotAStringRanking for a record that is none; the next step continues after that record.
    """

    _source = STRINGS


class PlaceSubscriber(WindowSubscriber[PlaceCounts]):
    """A subscriber to the counts of a collection of places.

        async with PlaceSubscriber("visits", settings=Settings.load(), finals_only=True) as counts:
            async for each in counts:
                print(each.window, dict(zip(each.places, each.projected)))

    Iteration raises NotPlaceCounts for a record that holds none; the next step continues after that record.
    """

    _source = PLACES


class RecordsSubscriber(WindowSubscriber[SyntheticChunk]):
    """A subscriber to the synthetic records of a collection, some thousands at a time.

        async with RecordsSubscriber("care-survey", settings=Settings.load()) as records:
            async for chunk in records:
                print(chunk.window, chunk.chunk, chunk.chunks, chunk.columns()["bathing"][:10])

    Every chunk of a window is handed out once, in order, also if a worker has published it again after a crash.
    Iteration raises NotSyntheticRecords for a record that holds none; the next step continues after that record.
    """

    _source = RECORDS

    def _require_topic(self, existing: Container[str]) -> None:
        """Check that the topic exists; a collection has answers on another topic whether or not it has records."""
        if self._topic not in existing:
            why = "a collection has it whose file asks for synthetic records, by `synthesis: {records: 10000}`; "
            raise MissingTopic(absent(self._topic, self._settings.flags(), why=why))
