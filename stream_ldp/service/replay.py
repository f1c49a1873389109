"""Answer a window again from the log of reports, as long as the log still holds it."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from stream_ldp.errors import ParameterError, StreamLDPError
from stream_ldp.kafka.connection import check_connection
from stream_ldp.kafka.decompression import MAX_EXPANDED_REPORTS_BYTES
from stream_ldp.kafka.log import AS_WRITTEN, LogReader
from stream_ldp.kafka.topics import absent
from stream_ldp.kafka.unreadable import fault_of
from stream_ldp.kinds import KINDS, kind_of
from stream_ldp.merge_step import MergeStep, next_round
from stream_ldp.pipeline.answer import Status
from stream_ldp.pipeline.recount import Recount, answer_before, differences
from stream_ldp.pipeline.solver_state import with_state
from stream_ldp.service.dead_letters import DeadLetter

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from stream_ldp.collection import Collection, Series
    from stream_ldp.kafka.settings import Settings
    from stream_ldp.pipeline.answer import Answer
    from stream_ldp.pipeline.layout import Layout
    from stream_ldp.pipeline.window_task import WindowTask


class NotReplayed(StreamLDPError, RuntimeError):
    """A window cannot be answered again, or may not be; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """A published final answer beside the one that was computed again.

    differences: where they differ, a line each; none if they are equal.
    """

    published: Any
    recomputed: Any
    differences: tuple[str, ...]


async def compare(
    collection: Collection, *, settings: Settings, window_ms: int | None = None, series: Sequence[str] = ()
) -> list[Comparison]:
    """Compute the final answers of a window again from the log, and compare them with the published ones.

    window_ms: start of the window, event time in milliseconds; None for the last one that has been answered.
    series: names of the series wanted; none for all that have a final answer of this window.

    Raises:
        BrokerUnreachable, SettingsError, KafkaError: the brokers cannot be used.
        NotReplayed: no final answer of this window is published, or the log does not hold its reports any more.
    """
    await check_connection(settings)
    finals = await published_finals(collection, settings=settings)
    _require_one_region(finals, window_ms)
    wanted = [final for final in finals if final.status is Status.ANSWERED and (not series or final.series in series)]
    if window_ms is None:
        window_ms = max((each.window.start_ms for each in wanted), default=None)
    published = {each.series: each for each in wanted if each.window.start_ms == window_ms}
    if not published or window_ms is None:
        raise NotReplayed(
            f"{collection.name}: no final answer of {'this' if wanted else 'any'} window is published\n"
            f"  -> see which are: stream-ldp query {collection.name} --history"
        )
    asked = [each for each in collection.series if each.name in published]
    if unknown := published.keys() - {each.name for each in asked}:
        raise NotReplayed(f"{collection.name}: its file has no estimate {min(unknown)!r}, which is published")
    before = {each.name: answer_before(collection, each, window_ms, finals) for each in asked}
    recount, gone = await _recounted(
        collection, settings=settings, window_ms=window_ms, rounds=[each for each in before.values() if each]
    )
    found = []
    for each in asked:
        task = recount.task(each, before=before[each.name])
        again = MergeStep(collection=collection, task=task).solve()
        first = published[each.name]
        differ = tuple(differences(_document(first), _document(again)))
        if differ and gone is not None:
            # Had it been equal, nothing of the window would have been among what is deleted.
            raise NotReplayed(gone)
        found.append(Comparison(published=first, recomputed=again, differences=differ))
    return found


async def ad_hoc(
    collection: Collection,
    *,
    settings: Settings,
    of: Sequence[str],
    method: str | None = None,
    window_ms: int | None = None,
) -> Any:
    """Compute, from the log, the answer about other attributes than those that the collection's file asks about.

    It comes from the reports of its window alone, without the previous windows.

    of: names of the attributes.
    method: how to estimate; None for the kind's default.
    window_ms: start of the window, event time in milliseconds; None for the last one that has been answered.

    Raises:
        ParameterError: an attribute is not one of the collection's, or its kind has no other answers.
        BrokerUnreachable, SettingsError, KafkaError: the brokers cannot be used.
        NotReplayed: the log does not hold the reports of this window any more, or of too few users.
    """
    narrowed_to = kind_of(collection).narrowed_to
    if narrowed_to is None:
        having = " and ".join(name for name, kind in KINDS.items() if kind.narrowed_to is not None)
        raise ParameterError(
            f"{collection.name} is of {kind_of(collection).name}: only collections of {having} have estimates of "
            "other attributes"
        )
    other = narrowed_to(collection, of, method)
    recount, _ = await recounted(collection, other, settings=settings, window_ms=window_ms)
    (series,) = other.series
    return MergeStep(collection=other, task=recount(series)).solve()


async def recounted(
    collection: Collection, other: Collection, *, settings: Settings, window_ms: int | None = None
) -> tuple[Callable[[Series], WindowTask[Any, Any]], int]:
    """Count the reports of a window again, for other questions than those of the collection's file.

    other: a collection with the same reports.
    window_ms: start of the window, event time in milliseconds; None for the last one that has been answered.

    Returns:
        What makes a task of one of the other collection's series, and the start of the window.

    Raises:
        ParameterError: no window begins then.
        BrokerUnreachable, SettingsError, KafkaError: the brokers cannot be used.
        NotReplayed: the log does not hold the reports of this window any more, or of too few users.
    """
    await check_connection(settings)
    finals = [
        each
        for each in await published_finals(collection, settings=settings)
        if each.status is Status.ANSWERED and window_ms in (None, each.window.start_ms)
    ]
    _require_one_region(finals, window_ms)
    if window_ms is None:
        window_ms = max((final.window.start_ms for final in finals), default=None)
        if window_ms is None:
            raise NotReplayed(f"{collection.name}: no window has a final answer yet: say which window is meant")
    if window_ms % collection.window.pane_ms:
        raise ParameterError(
            f"no window of {collection.name} begins then: they begin at whole multiples of "
            f"{collection.window.pane_ms / 1000:g} s since 1970-01-01 UTC"
        )
    recount, gone = await _recounted(other, settings=settings, window_ms=window_ms, rounds=())

    def task(series: Series) -> WindowTask[Any, Any]:
        return recount.task(series, before=None)

    asked = task(other.series[0])
    if gone is not None and asked.reports not in [
        each.reports for each in finals if each.window.start_ms == window_ms
    ]:
        raise NotReplayed(gone)
    if not asked.reports or MergeStep(collection=other, task=asked).is_withheld():
        raise NotReplayed(
            f"{collection.name}: the window has so few users that nothing is published of it: `min_reports` is "
            f"{collection.floor:,}"
        )
    return task, window_ms


def _require_one_region(finals: Sequence[Answer], window_ms: int | None) -> None:
    """Check that these brokers have all reports of the finals of a window, or of any."""
    for final in finals:
        if final.sources is not None and window_ms in (None, final.window.start_ms):
            regions = ", ".join(part.region for part in final.sources)
            raise NotReplayed(
                f"{final.collection}: its final answers are of the regions {regions}, and these brokers have the "
                "reports of one of them alone: no answer can be computed again from them"
            )


async def published_finals(collection: Collection, *, settings: Settings) -> list[Answer]:
    """Read the final answers of a collection, the first of each series and window.

    Raises:
        NotReplayed: the collection has no topic of answers.
    """
    kind, topic = kind_of(collection), settings.topic_names.answers(collection)
    found: dict[tuple[str, int], Answer] = {}
    async with LogReader(topic, settings=settings).opened(check=partial(_require, topic, settings)) as reader:
        async for record in reader.read_to_end():
            if record.value is None:
                continue
            try:
                answer: Answer = kind.answer.from_record(record.value, record.headers)
            except ValueError:
                continue  # a worker passes it over as well, and says so
            if answer.final and answer.fingerprint == collection.fingerprint.hex():
                found.setdefault((answer.series, answer.window.start_ms), answer)
    return list(found.values())


async def _recounted(
    collection: Collection, *, settings: Settings, window_ms: int, rounds: Sequence[Answer]
) -> tuple[Recount, str | None]:
    """Count the reports of a window again, and say why some may be gone; None if the log has all of them.

    rounds: final answers; those that determine what a later phase asked say how its batches are laid out.
    """
    topic = settings.topic_names.reports(collection.name)
    refused = await _refused(collection, settings=settings)
    partitions = await _partitions(topic, settings=settings)
    recount = Recount(collection, layouts=_layouts(collection, rounds), window_ms=window_ms, partitions=partitions)
    gone = None
    for partition in partitions:
        gone = gone or await _gone(topic, partition, since_ms=recount.appended_from_ms, settings=settings)
        log = LogReader(
            topic,
            partition=partition,
            settings=settings,
            isolation=AS_WRITTEN,
            most_expanded=MAX_EXPANDED_REPORTS_BYTES,
        )
        async with log.opened(since_ms=recount.appended_from_ms) as reader:
            async for records in reader.turns_to_end():
                recount.add(
                    partition,
                    [
                        (record.offset, record.timestamp, record.value)
                        for record in records
                        if record.value is not None
                        and fault_of(record) is None
                        and (topic, partition, record.offset) not in refused
                    ],
                )
                if records[-1].timestamp > recount.appended_until_ms:
                    break
    return recount, gone


def _layouts(collection: Collection, rounds: Sequence[Answer]) -> list[Layout]:
    asked = [next_round(collection, answer) for answer in rounds]
    return [kind_of(collection).layout(collection), *(each.layout for each in asked if each is not None)]


async def _partitions(topic: str, *, settings: Settings) -> list[int]:
    async with LogReader(topic, settings=settings).opened(check=partial(_require, topic, settings)) as reader:
        return await reader.partitions()


class _RefusedPlaces:
    """The places of the records that were refused when they came, as runs of offsets: a flood has very many."""

    def __init__(self) -> None:
        # By topic and partition: first offsets, ascending, and the offset behind the last of each run.
        self._runs: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
        self._begins: dict[tuple[str, int], list[int]] = {}

    def add(self, letter: DeadLetter) -> None:
        """Take note of a dead letter."""
        place, begin, end = letter.run
        runs = self._runs[place]
        runs[begin] = max(end, runs.get(begin, end))
        self._begins.pop(place, None)

    def __contains__(self, record: tuple[str, int, int]) -> bool:
        topic, partition, offset = record
        runs = self._runs.get((topic, partition), {})
        if (topic, partition) not in self._begins:
            # Runs of two owners may overlap: each is made as long as what begins before it.
            longest = 0
            for begin in sorted(runs):
                runs[begin] = longest = max(longest, runs[begin])
            self._begins[topic, partition] = sorted(runs)
        begins = self._begins[topic, partition]
        before = bisect_right(begins, offset)
        return before > 0 and offset < runs[begins[before - 1]]


async def _refused(collection: Collection, *, settings: Settings) -> _RefusedPlaces:
    """Return the places of the records that were refused when they came: they have not counted."""
    topic = settings.topic_names.dead_letters(collection.name)
    found = _RefusedPlaces()
    async with LogReader(topic, settings=settings).opened(check=partial(_require, topic, settings)) as reader:
        async for record in reader.read_to_end():
            try:
                found.add(DeadLetter.of(record))
            except ValueError:
                continue  # somebody else's record; `dead-letters list` shows it
    return found


async def _gone(topic: str, partition: int, *, since_ms: int, settings: Settings) -> str | None:
    """Say why a partition may not have all that was appended since a time; None if it has."""
    async with LogReader(topic, partition=partition, settings=settings) as reader:
        begins, end = await reader.position(), await reader.end()
        if not begins:
            return None
        if begins < end:
            async for record in reader.read_to_end():
                if record.timestamp <= since_ms:
                    return None
                break
    return (
        f"topic {topic}, partition {partition}: the log no longer holds the window: its first {begins:,} records "
        "have been deleted, and some of them may have been reports of the window"
    )


def _require(topic: str, settings: Settings, existing: Container[str]) -> None:
    if topic not in existing:
        raise NotReplayed(absent(topic, settings.flags()))


def _document(answer: Answer) -> Any:
    """Return the content of an answer, and the state that it passes to the next one."""
    return json.loads(with_state(answer.to_bytes(), answer.headers))
