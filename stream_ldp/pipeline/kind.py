"""A kind of collection as one object: all that the service has to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from stream_ldp.collection import Collection
from stream_ldp.pipeline.answer import AnswerT
from stream_ldp.pipeline.question import SeriesT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import BaseModel

    from stream_ldp.pipeline.layout import Layout
    from stream_ldp.pipeline.question import Question

__all__ = ["POPULATIONS", "Iteration", "Kind", "Planner", "RoundMessage", "Rounds"]

CollectionT = TypeVar("CollectionT", bound=Collection)
CollectionT_contra = TypeVar("CollectionT_contra", bound=Collection, contravariant=True)

#: Sizes of population that a plan tells the error for, unless others are asked for.
POPULATIONS = (1_000, 10_000, 100_000, 1_000_000)


class Planner(Protocol[CollectionT_contra]):
    """Works out the cost of a collection before it runs."""

    def __call__(self, collection: CollectionT_contra, *, populations: Sequence[int] = POPULATIONS) -> Any:
        """A plan; what it says is the kind's own affair.

        populations: numbers of users, or of reports in a window, to tell the error for.
        """
        ...


class RoundMessage(Protocol):
    """What is asked of the clients in one window, as a record of a rounds topic.

    fingerprint: what the batches that answer it carry.
    key: record key.
    """

    @property
    def fingerprint(self) -> bytes: ...

    @property
    def key(self) -> bytes: ...

    def to_bytes(self) -> bytes:
        """The record's value."""
        ...


RoundT = TypeVar("RoundT", bound=RoundMessage)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rounds(Generic[CollectionT, AnswerT, RoundT]):
    """How a kind asks what depends on what was answered before.

    read: the round in a record; raises ValueError where there is none that the collection may ask.
    layout: of the batches that answer a round.
    after: the round that follows from a final answer; None where none does.
    """

    read: Callable[[CollectionT, bytes], RoundT]
    layout: Callable[[CollectionT, RoundT], Layout]
    after: Callable[[CollectionT, AnswerT], RoundT | None]


class Iteration(Protocol):
    """How an answer was iterated to.

    start: what the iteration started from.
    iterations: evaluations of the EM map.
    certified: whether the answer is certified to be within tolerance.
    """

    @property
    def start(self) -> str: ...

    @property
    def iterations(self) -> int: ...

    @property
    def certified(self) -> bool: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind(Generic[CollectionT, SeriesT, AnswerT]):
    """A kind of collection.

    name: by which tables of other rooms know it.
    collection: the class of its collections, whose `topics` and `series` belong to the kind as well.
    mechanisms: every `mechanism.kind` that a file of this kind may name.
    keys: keys that tell a file of this kind where it names none.
    layout: of the batches under a collection's own fingerprint.
    solve: answers a question; heavy, so it belongs on a thread of its own.
    answer: the class of its answers.
    messages: all that it publishes with a schema, its answers among them.
    plan: what a collection costs before it runs.
    rounds: how later questions are asked; None where all is asked in the collection's file.
    fit: how an answer was iterated to, for the metrics; None where answers are computed at once.
    """

    name: str
    collection: type[CollectionT]
    mechanisms: tuple[str, ...]
    keys: tuple[str, ...] = ()
    layout: Callable[[CollectionT], Layout]
    solve: Callable[[CollectionT, Question[SeriesT, AnswerT]], AnswerT]
    answer: type[AnswerT]
    messages: tuple[type[BaseModel], ...] = ()
    plan: Planner[CollectionT]
    rounds: Rounds[CollectionT, AnswerT, Any] | None = None
    fit: Callable[[AnswerT], Iteration] | None = None
