"""Tests of what a subscriber hands out, leaves out and refuses, with a topic in memory."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream_ldp.client import subscriber
from stream_ldp.client.errors import MissingTopic, UnreadableAnswer
from stream_ldp.client.subscriber import Subscriber, published_kind
from stream_ldp.client.synchronous import SyncSubscriber
from stream_ldp.errors import ParameterError
from stream_ldp.kafka import log
from stream_ldp.pipeline.answer import Status
from stream_ldp.records.answer import Estimate
from stream_ldp.sets.answer import Ranking
from stream_ldp.synthesis.chunk import SyntheticChunk
from tests.client.answer_topics import SETTINGS, published
from tests.client.examples import collection_of, estimate_of, of_minute
from tests.client.rankings import films, ranking_of, result_of
from tests.synthesis.examples import chunk_of

TOPIC = "stream-ldp.care-survey.estimates"
RANKINGS = "stream-ldp.films.heavy-hitters"


class FakeConsumer:
    """The part of aiokafka's consumer that a subscriber without a group uses, on lists."""

    def __init__(self, logs: dict[str, list[bytes | None]], topics: set[str]) -> None:
        self._logs = logs
        self._topics = topics
        self._topic = ""
        self._position = 0
        self.stopped = False

    async def start(self) -> None:
        return

    async def stop(self) -> None:
        self.stopped = True

    async def topics(self) -> set[str]:
        return self._topics

    def assign(self, partitions: list[Any]) -> None:
        assert [each.partition for each in partitions] == [0]
        (self._topic,) = (each.topic for each in partitions)
        assert self._topic in self._topics

    def seek(self, _: Any, offset: int) -> None:
        self._position = offset

    async def end_offsets(self, partitions: list[Any]) -> dict[Any, int]:
        return {partition: len(self._logs[partition.topic]) for partition in partitions}

    async def position(self, _: Any) -> int:
        return self._position

    async def getone(self) -> Any:
        log = self._logs[self._topic]
        while self._position >= len(log):
            await asyncio.sleep(0.001)
        offset, self._position = self._position, self._position + 1
        return SimpleNamespace(topic=self._topic, partition=0, offset=offset, value=log[offset])

    async def getmany(self, partition: Any, *, timeout_ms: int, max_records: int) -> dict[Any, list[Any]]:
        assert max_records == 1
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return {partition: [await self.getone()]}
        except TimeoutError:
            return {}


class Topic:
    """The only topic of a cluster beside that of provisional answers, in memory, and their subscribers."""

    def __init__(self, name: str = TOPIC) -> None:
        self.log: list[bytes | None] = []
        self.provisional: list[bytes | None] = []
        beside = f"{name.rpartition('.')[0]}.provisional"
        self.logs = {name: self.log, beside: self.provisional}
        self.existing = {name, beside}
        self.consumers: list[FakeConsumer] = []

    def write(self, *answers: Estimate | Ranking | SyntheticChunk) -> None:
        for answer in answers:
            (self.log if answer.final else self.provisional).append(answer.to_bytes())

    def consumer(self, **options: Any) -> FakeConsumer:
        assert options["group_id"] is None
        assert options["enable_auto_commit"] is False
        self.consumers.append(FakeConsumer(self.logs, self.existing))
        return self.consumers[-1]

    async def read(self, **options: Any) -> list[Estimate]:
        async with subscribe(from_beginning=True, follow=False, **options) as estimates:
            return [estimate async for estimate in estimates]

    async def rankings(self, **options: Any) -> list[Ranking]:
        rankings = Subscriber("films", Ranking, settings=SETTINGS, from_beginning=True, follow=False, **options)
        async with rankings:
            return [ranking async for ranking in rankings]

    async def records(self) -> list[SyntheticChunk]:
        chunks = Subscriber("care-survey", SyntheticChunk, settings=SETTINGS, from_beginning=True, follow=False)
        async with chunks:
            return [chunk async for chunk in chunks]


def connected(monkeypatch: pytest.MonkeyPatch, fake: Topic) -> Topic:
    async def reachable(settings: object) -> None:
        return

    monkeypatch.setattr(log, "SturdyConsumer", fake.consumer)
    monkeypatch.setattr(subscriber, "check_connection", reachable)
    return fake


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    """An estimates topic."""
    return connected(monkeypatch, Topic())


@pytest.fixture
def heavy_hitters(monkeypatch: pytest.MonkeyPatch) -> Topic:
    """A heavy-hitters topic."""
    return connected(monkeypatch, Topic(RANKINGS))


def subscribe(**options: Any) -> Subscriber[Estimate]:
    return Subscriber("care-survey", Estimate, settings=SETTINGS, **options)


async def test_estimates_come_typed_and_in_order(topic: Topic) -> None:
    written = [of_minute(0), of_minute(1)]
    topic.write(*written)
    assert await topic.read() == written
    assert all(consumer.stopped for consumer in topic.consumers)


async def test_only_the_estimates_that_are_asked_for_are_handed_out(topic: Topic) -> None:
    one, other = of_minute(0), of_minute(0, estimate="other")
    topic.write(of_minute(0, final=False), one, other, of_minute(0, estimate="third"))
    assert await topic.read(finals_only=True, series=["bathing-mobility", "other"]) == [one, other]
    assert await topic.read(finals_only=True, series=[]) == []


async def test_that_nobody_reported_is_handed_out_to_those_who_want_to_know(topic: Topic) -> None:
    silent = of_minute(1, status=Status.NO_REPORTS, reports=0)
    topic.write(of_minute(0), silent, of_minute(2))
    assert await topic.read() == [of_minute(0), of_minute(2)]
    assert await topic.read(silences=True, finals_only=True) == [of_minute(0), silent, of_minute(2)]
    assert await topic.read(silences=True, series=["other"]) == []


async def test_a_final_estimate_is_handed_out_once_and_no_provisional_one_after_it(topic: Topic) -> None:
    final, newer = of_minute(1), of_minute(2, final=False)
    delayed = [of_minute(1, final=False), of_minute(0, final=False), of_minute(1), of_minute(0)]
    topic.write(final, *delayed, newer)
    assert await topic.read() == [final]
    assert await topic.read(provisional=True) == [final, newer]


async def test_estimates_do_not_hide_each_other(topic: Topic) -> None:
    written = [
        of_minute(5),
        of_minute(0, fingerprint="0" * 32),
        of_minute(0, estimate="other", final=False),
    ]
    topic.write(*written)
    assert await topic.read(provisional=True) == written


async def test_a_provisional_estimate_of_a_window_that_is_open_may_be_revised(topic: Topic) -> None:
    written = [of_minute(0, final=False, reports=reports) for reports in (1, 2, 3)]
    topic.write(*written)
    assert await topic.read(provisional=True) == written
    assert await topic.read() == []


async def test_answers_of_open_windows_and_final_ones_come_while_they_are_followed(topic: Topic) -> None:
    topic.write(of_minute(0), of_minute(1, final=False))
    async with subscribe(from_beginning=True, provisional=True) as estimates:
        assert [await anext(estimates) for _ in range(2)] == [of_minute(0), of_minute(1, final=False)]
        for news in (of_minute(2, final=False), of_minute(2), of_minute(3, final=False)):
            waiting = asyncio.ensure_future(anext(estimates))
            await asyncio.sleep(0)
            topic.write(news)
            assert await waiting == news


async def test_a_caller_who_gives_up_waiting_loses_no_answer(topic: Topic) -> None:
    async with subscribe(from_beginning=True, provisional=True) as estimates:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(estimates), 0.01)
        topic.write(of_minute(0), of_minute(1, final=False))
        assert [await anext(estimates) for _ in range(2)] == [of_minute(0), of_minute(1, final=False)]


@pytest.mark.parametrize("final", [False, True])
async def test_an_answer_on_the_topic_of_the_others_is_not_believed(topic: Topic, final: bool) -> None:
    (topic.provisional if final else topic.log).append(of_minute(0, final=final).to_bytes())
    with pytest.raises(UnreadableAnswer, match=r"(final|provisional), and such answers are on another topic"):
        await topic.read(provisional=True)
    topic.existing -= {"stream-ldp.care-survey.provisional"}
    if final:
        assert await topic.read() == []
    else:
        with pytest.raises(UnreadableAnswer):
            await topic.read()


async def test_who_may_read_finals_alone_is_reported_how(topic: Topic) -> None:
    topic.existing -= {"stream-ldp.care-survey.provisional"}
    with pytest.raises(MissingTopic, match=r"provisional does not exist, .*\n.* finals? .*--finals"):
        await topic.read(provisional=True)
    topic.write(of_minute(0))
    assert await topic.read() == [of_minute(0)]


@pytest.mark.parametrize("others", [{"finals_only": True}, {"group": "readers"}])
def test_provisional_answers_are_refused_where_they_would_be_left_out_or_remembered(others: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="provisional answers are for a subscriber to all answers"):
        subscribe(provisional=True, **others)


@pytest.mark.parametrize("stranger", [b"{}", b"\x00", None, estimate_of().to_bytes()[:-2]])
async def test_a_record_that_is_not_an_estimate_is_named_and_reading_goes_on_after_it(
    topic: Topic, stranger: bytes | None
) -> None:
    topic.write(of_minute(0))
    topic.log.append(stranger)
    topic.write(of_minute(1))
    async with subscribe(from_beginning=True, follow=False) as estimates:
        assert await anext(estimates) == of_minute(0)
        with pytest.raises(
            UnreadableAnswer, match=rf"topic {TOPIC}, partition 0, offset 1: not an answer \(Estimate\): "
        ) as refusal:
            await anext(estimates)
        assert (refusal.value.topic, refusal.value.partition, refusal.value.offset) == (TOPIC, 0, 1)
        assert await anext(estimates) == of_minute(1)


async def test_without_the_history_only_later_estimates_are_handed_out(topic: Topic) -> None:
    topic.write(of_minute(0))
    async with subscribe() as estimates:
        topic.write(of_minute(1))
        async with asyncio.timeout(30):
            assert await anext(estimates) == of_minute(1)


async def test_a_missing_topic_is_named_with_the_cure(topic: Topic) -> None:
    topic.existing.clear()
    with pytest.raises(MissingTopic, match=r"(?s)care-survey\.estimates does not exist.*topics create"):
        await topic.read()
    assert all(consumer.stopped for consumer in topic.consumers)


@pytest.mark.parametrize(("answers", "found"), [("heavy-hitters", "Ranking"), ("marginals", "Marginals")])
async def test_a_missing_topic_is_named_with_the_answers_that_there_are(
    topic: Topic, answers: str, found: str
) -> None:
    topic.existing = {f"stream-ldp.care-survey.{answers}"}
    with pytest.raises(
        MissingTopic, match=rf"estimates does not exist, but .*{answers} does, with answers of class {found}"
    ):
        await topic.read()
    assert all(consumer.stopped for consumer in topic.consumers)


async def test_a_name_alone_finds_the_answers_that_there_are(heavy_hitters: Topic) -> None:
    heavy_hitters.write(result_of(3))
    async with Subscriber("films", settings=SETTINGS, from_beginning=True, follow=False) as answers:
        assert [each async for each in answers] == [result_of(3)]
    with pytest.raises(MissingTopic, match=r"missing\.estimates, or another one of answers, does not exist"):
        await Subscriber("missing", settings=SETTINGS).__aenter__()
    with pytest.raises(MissingTopic, match=r"no collection 'flims' has a topic of answers; did you mean 'films'\?"):
        await Subscriber("flims", settings=SETTINGS).__aenter__()


async def test_a_name_with_answers_of_two_classes_needs_one_of_them(heavy_hitters: Topic) -> None:
    heavy_hitters.existing |= {"stream-ldp.films.places"}
    with pytest.raises(ParameterError, match=r"say which, as in Subscriber\('films', Ranking"):
        await Subscriber("films", settings=SETTINGS).__aenter__()


def test_a_collection_gives_its_answers_and_refuses_those_of_another_file() -> None:
    other, mine = of_minute(0, fingerprint="0" * 32), of_minute(1)
    with published(other, mine):
        assert received(collection_of()) == [mine]
        assert received("care-survey") == [other, mine]


def received(collection: Any) -> list[Any]:
    with SyncSubscriber(Subscriber(collection, settings=SETTINGS, from_beginning=True, follow=False)) as answers:
        return list(answers)


async def test_a_named_collection_is_of_the_kind_whose_answers_it_has() -> None:
    with published(collection=films()):
        assert (await published_kind("films", settings=SETTINGS)).name == "sets"
        assert (await published_kind("unheard-of", settings=SETTINGS)).name == "records"


async def test_each_chunk_of_records_is_handed_out_once_in_order(topic: Topic) -> None:
    chunks = [chunk_of(of_minute(minute), chunk=number) for minute in (0, 1) for number in (0, 1)]
    first, second, third, fourth = chunks
    # One worker died after the first chunk of the second window, and a delayed one repeats the first window.
    topic.write(first, second, third, third, fourth, first, second)
    records = "stream-ldp.care-survey.records"
    topic.existing, topic.logs[records] = {records}, topic.log
    assert await topic.records() == chunks


async def test_a_collection_without_records_has_no_topic_of_them(topic: Topic) -> None:
    with pytest.raises(MissingTopic, match=r"records does not exist, .*\n.* file asks for .* `synthesis: "):
        await topic.records()


async def test_rankings_come_typed_and_can_be_limited_to_results(heavy_hitters: Topic) -> None:
    written = [ranking_of(epoch=3, phase=1), result_of(3), ranking_of(epoch=4, phase=1)]
    heavy_hitters.write(*written)
    assert await heavy_hitters.rankings() == written
    assert await heavy_hitters.rankings(finals_only=True) == [result_of(3)]


async def test_an_epoch_without_a_result_is_handed_out_with_the_results_to_those_who_want_to_know(
    heavy_hitters: Topic,
) -> None:
    silent = ranking_of(epoch=3, phase=2, status=Status.NO_REPORTS, reports=0, complete=False)
    heavy_hitters.write(ranking_of(epoch=3, phase=1), silent, result_of(4))
    assert await heavy_hitters.rankings(finals_only=True) == [result_of(4)]
    assert await heavy_hitters.rankings(finals_only=True, silences=True) == [silent, result_of(4)]


async def test_a_delayed_ranking_is_left_out_and_the_phases_do_not_hide_each_other(heavy_hitters: Topic) -> None:
    news = [result_of(3), ranking_of(epoch=3, phase=1), ranking_of(epoch=4, phase=1, final=False)]
    delayed = [result_of(3), result_of(3, final=False), ranking_of(epoch=2, phase=1)]
    heavy_hitters.write(*news, *delayed)
    assert await heavy_hitters.rankings(provisional=True) == news


async def test_a_record_that_is_not_a_ranking_is_named(heavy_hitters: Topic) -> None:
    heavy_hitters.write(estimate_of())
    with pytest.raises(
        UnreadableAnswer, match=rf"{RANKINGS}, partition 0, offset 0: not an answer \(Ranking\): method: Field"
    ):
        await heavy_hitters.rankings()


def test_a_group_member_that_does_not_follow_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a group member has to follow"):
        Subscriber("care-survey", settings=SETTINGS, group="readers", follow=False)


def test_what_is_no_collection_and_no_class_of_answers_is_refused() -> None:
    with pytest.raises(TypeError, match="Subscriber takes a collection or its name, not a PosixPath"):
        Subscriber(Path("/survey.yaml"), settings=SETTINGS)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes the class of answers, such as Estimate, not <class 'dict'>"):
        Subscriber("care-survey", dict, settings=SETTINGS)  # type: ignore[type-var]


def test_the_name_of_a_file_is_refused_in_place_of_that_of_a_collection() -> None:
    with pytest.raises(ParameterError, match=r"'survey\.yaml' is not the name of a collection: give the one"):
        Subscriber("survey.yaml", settings=SETTINGS)


async def test_the_answer_of_another_collection_is_refused_and_reading_goes_on() -> None:
    strange = estimate_of().model_copy(update={"collection": "other"})
    with published(strange, estimate_of()):
        async with Subscriber("care-survey", settings=SETTINGS, from_beginning=True, follow=False) as estimates:
            with pytest.raises(
                UnreadableAnswer, match=r"offset 0: not an answer \(Estimate\): it is of other, not of care-survey"
            ):
                await anext(estimates)
            assert [each async for each in estimates] == [estimate_of()]


class Member:
    """The reader of a member of a group: what it reads comes one by one, and it keeps what is committed."""

    def __init__(self) -> None:
        self.coming: asyncio.Queue[Any] = asyncio.Queue()
        self.commits: asyncio.Queue[int] = asyncio.Queue()

    def write(self, minute: int) -> None:
        value = of_minute(minute).to_bytes()
        self.coming.put_nowait(SimpleNamespace(topic=TOPIC, partition=0, offset=minute, value=value))

    async def next(self) -> Any:
        return await self.coming.get()

    async def commit(self, offset: int) -> None:
        self.commits.put_nowait(offset)

    async def start(self) -> None:
        return

    async def stop(self) -> None:
        return


@pytest.fixture
def member(monkeypatch: pytest.MonkeyPatch) -> Member:
    monkeypatch.setattr(subscriber, "COMMIT_INTERVAL", 0.01)
    member = Member()
    monkeypatch.setattr(subscriber, "LogReader", lambda *_, **__: member)
    return member


@pytest.fixture
async def answers(member: Member) -> AsyncIterator[Subscriber[Estimate]]:
    """Answers for that member."""
    with published():
        async with Subscriber("care-survey", Estimate, settings=SETTINGS, group="readers") as answers:
            yield answers


async def test_a_member_of_a_group_that_waits_for_an_answer_has_told_that_the_last_one_is_processed(
    member: Member, answers: Subscriber[Estimate]
) -> None:
    async with asyncio.timeout(30):
        member.write(0)
        assert await anext(answers) == of_minute(0)
        assert member.commits.empty(), "it may not have been processed"
        waiting = asyncio.ensure_future(anext(answers))
        assert await member.commits.get() == 1
        member.write(1)
        assert await waiting == of_minute(1)


async def test_a_member_of_a_group_that_gives_up_waiting_misses_no_answer(
    member: Member, answers: Subscriber[Estimate]
) -> None:
    async with asyncio.timeout(30):
        waiting = asyncio.ensure_future(anext(answers))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        member.write(0)
        assert await anext(answers) == of_minute(0)
