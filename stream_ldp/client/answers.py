"""Fetch the answers that a collection's topic holds, of any kind of collection."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as Container
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, overload

from stream_ldp.client.errors import UnreadableAnswer
from stream_ldp.client.figure import figure_of
from stream_ldp.client.subscriber import Subscriber, readable
from stream_ldp.client.synchronous import run_blocking
from stream_ldp.client.table import Table, table_of
from stream_ldp.pipeline.answer import Answer, moment
from stream_ldp.pipeline.cells import LEVEL
from stream_ldp.pipeline.selection import Selection
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from datetime import datetime

    from stream_ldp.collection import Collection
    from stream_ldp.collection.labels import Labels
    from stream_ldp.kafka.settings import Settings


@dataclass(frozen=True, slots=True, repr=False)
class Answers(Sequence["Answer"]):
    """The answers of a collection, oldest first.

    found: each an `Estimate`, a `Ranking`, `Marginals`, or the message of another kind.
    """

    found: tuple[Any, ...]

    @overload
    def __getitem__(self, place: int) -> Any: ...

    @overload
    def __getitem__(self, place: slice) -> Answers: ...

    def __getitem__(self, place: int | slice) -> Any:
        return Answers(self.found[place]) if isinstance(place, slice) else self.found[place]

    def __len__(self) -> int:
        return len(self.found)

    def labelled(self, labels: Labels) -> Answers:
        """Return them as people read them, with labels in place of values.

        labels: by attribute and value, as a collection has them: `answers.labelled(collection.labels)`.
        """
        return Answers(tuple(each.labelled(labels) for each in self.found))

    def __repr__(self) -> str:
        """Say what they are, on one line: a notebook shows it of each."""
        if not self.found:
            return "<no answers>"
        what = " and ".join(dict.fromkeys(each.series for each in self.found))
        first, last = (moment(each.window.start_ms) for each in (self.found[0], self.found[-1]))
        return f"<{quantity(len(self.found), 'answer')} of {self.found[0].collection} ({what}), {first} to {last}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.table()._repr_html_()}"

    def plot(self, *, level: float = LEVEL, of: str | Sequence[str] = (), given: str | Sequence[str] = ()) -> Any:
        """Draw their numbers with their intervals, and return the `matplotlib.figure.Figure`.

        One window is drawn as bars, and several as lines over time, which break where a window is missing.

        level, of, given: as `table` takes them.

        Raises:
            MissingExtra: matplotlib is not installed.
            ParameterError: as `table`, or there is nothing to draw.
        """
        return figure_of(self.found, level=level, of=_names(of), given=_names(given))

    def table(
        self,
        *,
        level: float = LEVEL,
        of: str | Sequence[str] = (),
        given: str | Sequence[str] = (),
        between: tuple[float, float] | None = None,
        within: Mapping[str, tuple[float, float]] | None = None,
        brief: bool = False,
    ) -> Table:
        """Return their numbers as a table, for pandas, Parquet, CSV or JSON.

        level: probability with which an interval from `low` to `high` holds the true number.
        of: attributes whose marginal distribution is wanted, or the only one; none for all attributes of the answers.
            Answers of estimates that do not have them are left out if others do.
        given: attributes for each of whose values the distribution of `of` is wanted.
        between: two numbers: the shares of users between them, and their means, are wanted, of all attributes that
            have a range.
        within: two numbers for each of some attributes: the share of users of whom all are between theirs is wanted,
            for each value of `of`.
        brief: whether the many points of a distribution are put together to a few bins of round numbers.

        Raises:
            ParameterError: the level is not between 0 and 1, or no answer has such a distribution.
        """
        selection = Selection(of=_names(of), given=_names(given), between=between, within=within)
        return table_of(self.found, selection=selection, level=level, brief=brief)


async def fetch_answers(
    collection: str | Collection,
    *,
    settings: Settings,
    series: Container[str] | None = None,
    provisional: bool = False,
    last: int | None = 1,
    since: datetime | None = None,
    until: datetime | None = None,
    on_unreadable: Callable[[UnreadableAnswer], None] | None = None,
) -> Answers:
    """Fetch answers that the collection's topic holds by now.

    collection: a collection of any kind, or its name.
    series: names of the series wanted, which are those of its estimates; None for all.
    provisional: whether to return answers that a later one replaces, too: answers of open windows, which have their
        own topic, and answers of the earlier phases of an epoch.
    last: number of the newest answers of each series to return; None for all that the topic still has.
    since, until: return answers of windows that begin at this time or later, and end at that one or earlier.
    on_unreadable: called for each record that is not an answer, which is then passed over; None to raise it.

    Raises:
        BrokerUnreachable, SettingsError, KafkaError: the brokers cannot be used.
        MissingTopic: the collection has no topic of answers.
        ForeignAnswers: another collection is registered with this name.
        UnreadableAnswer: a record is not an answer.
        ValueError: `last` is not positive, or a time has no time zone.
    """
    if last is not None and last < 1:
        raise ValueError(f"last must be at least 1, got {last}")
    since_ms, until_ms = _ms(since, -math.inf), _ms(until, math.inf)
    subscriber: Subscriber[Any] = Subscriber(
        collection,
        settings=settings,
        series=series,
        finals_only=not provisional,
        provisional=provisional,
        from_beginning=True,
        follow=False,
    )
    async with subscriber:
        found = await _newest(
            subscriber,
            wanted=lambda answer: answer.window.start_ms >= since_ms and answer.window.end_ms <= until_ms,
            last=last,
            on_unreadable=on_unreadable,
        )
    return Answers(tuple(sorted(found, key=lambda answer: answer.window.start_ms)))


def query(collection: str | Collection, *, settings: Settings, **options: Any) -> Answers:
    """Fetch answers, and wait for them: `fetch_answers` for programs that are not asynchronous, and for notebooks.

        query("care-survey", settings=Settings.load(), last=None).table().to_pandas()

    The options, and what it raises, are those of `fetch_answers`.
    """
    return run_blocking(fetch_answers(collection, settings=settings, **options))


async def _newest(
    subscriber: Subscriber[Any],
    *,
    wanted: Callable[[Answer], bool],
    last: int | None,
    on_unreadable: Callable[[UnreadableAnswer], None] | None,
) -> list[Answer]:
    """Return the newest answers of each series; a provisional one gives way to the next of its window."""
    kept: dict[tuple[str, str], deque[Answer]] = {}
    async for answer in readable(subscriber, on_unreadable=on_unreadable):
        if not wanted(answer):
            continue
        answers = kept.setdefault((answer.fingerprint, answer.series), deque(maxlen=last))
        for earlier in [each for each in answers if not each.final]:
            if earlier.window == answer.window or (
                answer.final and earlier.window.start_ms <= answer.window.start_ms
            ):
                answers.remove(earlier)
        answers.append(answer)
    return [answer for answers in kept.values() for answer in answers]


def _names(names: str | Sequence[str]) -> Sequence[str]:
    return (names,) if isinstance(names, str) else names


def _ms(time: datetime | None, otherwise: float) -> float:
    if time is None:
        return otherwise
    if time.tzinfo is None:
        raise ValueError("a time needs a time zone, such as datetime.now(UTC)")
    return time.timestamp() * 1000
