"""This module names what a subscriber reads: for each kind of answers its topic, its messages and their errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from stream_ldp.client.errors import (
    NotAnEstimate,
    NotARanking,
    NotAStringRanking,
    NotMarginals,
    NotPlaceCounts,
    NotSyntheticRecords,
    UnreadableAnswer,
)
from stream_ldp.kafka.topics import TopicNames
from stream_ldp.pipeline.answer import AnswerT
from stream_ldp.places.answer import PlaceCounts
from stream_ldp.records.answer import Estimate
from stream_ldp.sampled.answer import Marginals
from stream_ldp.sets.answer import Ranking
from stream_ldp.strings.answer import StringRanking
from stream_ldp.synthesis.chunk import SyntheticChunk

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ANSWER_SOURCES",
    "ESTIMATES",
    "MARGINALS",
    "PLACES",
    "RANKINGS",
    "RECORDS",
    "STRINGS",
    "AnswerSource",
]


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


ESTIMATES = AnswerSource(
    topic=TopicNames.estimates, read=Estimate.from_bytes, unreadable=NotAnEstimate, reader="Subscriber"
)
RANKINGS = AnswerSource(
    topic=TopicNames.heavy_hitters, read=Ranking.from_bytes, unreadable=NotARanking, reader="RankingSubscriber"
)
MARGINALS = AnswerSource(
    topic=TopicNames.marginals, read=Marginals.from_bytes, unreadable=NotMarginals, reader="MarginalsSubscriber"
)
STRINGS = AnswerSource(
    topic=TopicNames.strings, read=StringRanking.from_bytes, unreadable=NotAStringRanking, reader="StringSubscriber"
)
PLACES = AnswerSource(
    topic=TopicNames.places, read=PlaceCounts.from_bytes, unreadable=NotPlaceCounts, reader="PlaceSubscriber"
)
RECORDS = AnswerSource(
    topic=TopicNames.records,
    read=SyntheticChunk.from_bytes,
    unreadable=NotSyntheticRecords,
    reader="RecordsSubscriber",
)

#: The answers to what collections ask, each kind with its own topic; records beside them are no answers.
ANSWER_SOURCES: tuple[AnswerSource[Any], ...] = (ESTIMATES, RANKINGS, MARGINALS, STRINGS, PLACES)
