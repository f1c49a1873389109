"""`stream-ldp watch`: which answers are shown, as they come and once."""

import asyncio
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import ClassVar, Self

import pytest
from aiokafka import AIOKafkaProducer
from rich.console import Console
from typer.testing import Result

from stream_ldp.cli import watch as watch_module
from stream_ldp.cli.displays.answer_text import AnswerText
from stream_ldp.cli.watch import watch
from stream_ldp.collection import Collection
from stream_ldp.kafka.registry import Registration, register
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.answer import Status
from stream_ldp.records.answer import Estimate
from tests.cli.displays.examples import SURVEY_TRUTH
from tests.client.examples import collection_of, estimate_of, of_minute
from tests.client.rankings import ranking_of, result_of, write_films
from tests.client.test_on_kafka import create_topics, publish
from tests.kafka.new_topics import create

Run = Callable[..., Result]


class FakeSubscriber:
    """A subscriber that hands out a topic's history or its news, and ends."""

    history: ClassVar[list[Estimate]]
    news: ClassVar[list[Estimate]]

    def __init__(
        self,
        collection: Collection,
        answers: type[Estimate],
        *,
        settings: Settings,
        series: list[str] | None,
        finals_only: bool,
        provisional: bool,
        from_beginning: bool = False,
        follow: bool = True,
        silences: bool = False,
    ) -> None:
        assert (collection.name, answers) == ("care-survey", Estimate)
        assert from_beginning is not follow
        assert provisional is not finals_only
        self._estimates = (
            each
            for each in (self.news if follow else self.history)
            if (series is None or each.estimate in series) and (each.final or not finals_only)
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return

    async def __anext__(self) -> Estimate:
        for estimate in self._estimates:
            return estimate
        raise StopAsyncIteration


def watched(monkeypatch: pytest.MonkeyPatch, command_line: Run, survey: Path, *flags: str) -> list[str]:
    monkeypatch.setattr("stream_ldp.cli.watch.Subscriber", FakeSubscriber)
    result = command_line(watch, survey, *flags)
    assert result.exit_code == 0
    return result.stdout.splitlines()


def test_what_comes_while_the_history_is_read_is_shown_once(
    monkeypatch: pytest.MonkeyPatch, command_line: Run, survey: Path
) -> None:
    FakeSubscriber.history = [of_minute(0), of_minute(1)]
    FakeSubscriber.news = [of_minute(1), of_minute(2, final=False), of_minute(2)]
    expected = [of_minute(1), of_minute(2, final=False), of_minute(2)]
    assert watched(monkeypatch, command_line, survey) == [AnswerText.of(each).line() for each in expected]


def test_that_nobody_reported_is_a_line_of_its_own(
    monkeypatch: pytest.MonkeyPatch, command_line: Run, survey: Path
) -> None:
    silent = of_minute(1, status=Status.NO_REPORTS)
    FakeSubscriber.history, FakeSubscriber.news = [of_minute(0)], [silent, of_minute(2)]
    lines = watched(monkeypatch, command_line, survey)
    assert lines == [
        AnswerText.of(of_minute(0)).line(),
        "1970-01-01T00:01:00Z/1970-01-01T00:02:00Z bathing-mobility no-reports",
        AnswerText.of(of_minute(2)).line(),
    ]
    _, line, _ = watched(monkeypatch, command_line, survey, "--json")
    assert Estimate.from_bytes(line.encode()) == silent


def test_once_without_history_shows_the_first_new_estimate(
    monkeypatch: pytest.MonkeyPatch, command_line: Run, survey: Path
) -> None:
    FakeSubscriber.history = []
    FakeSubscriber.news = [of_minute(0), of_minute(1)]
    assert watched(monkeypatch, command_line, survey, "--once") == [AnswerText.of(of_minute(0)).line()]


def test_what_is_wanted_is_chosen_by_name_time_and_finality(
    monkeypatch: pytest.MonkeyPatch, command_line: Run, survey: Path
) -> None:
    other = of_minute(1, estimate="mobility")
    open_ones = [of_minute(3, final=False, reports=count) for count in (1, 2)]
    FakeSubscriber.history = [of_minute(0), of_minute(1), other, of_minute(2), *open_ones]
    FakeSubscriber.news = [of_minute(3), of_minute(4, final=False), of_minute(4, estimate="mobility")]

    def lines(*estimates: Estimate) -> list[str]:
        return [AnswerText.of(each).line() for each in estimates]

    def shown(*flags: str) -> list[str]:
        return watched(monkeypatch, command_line, survey, *flags)

    newest, news = [of_minute(2), open_ones[1]], FakeSubscriber.news
    assert shown("--estimate", "mobility") == lines(other, news[2])
    assert shown("--finals", "--estimate", "bathing-mobility") == lines(of_minute(2), of_minute(3))
    since = "1970-01-01T00:01"
    assert shown("--since", since, "--once") == lines(of_minute(1), other, *newest)
    assert shown("--since", since, "--finals") == lines(of_minute(1), other, of_minute(2), news[0], news[2])


def test_a_terminal_is_redrawn_with_every_estimate(
    monkeypatch: pytest.MonkeyPatch, command_line: Run, survey: Path
) -> None:
    drawn = StringIO()
    terminal = Console(file=drawn, width=110, height=60, force_terminal=True, color_system=None)
    monkeypatch.setattr(watch_module, "Console", lambda: terminal)
    FakeSubscriber.history = [of_minute(0)]
    FakeSubscriber.news = [of_minute(1, final=False, reports=777)]
    assert watched(monkeypatch, command_line, survey) == []
    last = drawn.getvalue().rsplit("care-survey · bathing-mobility", 2)[1:]
    assert "12,345 reports" in last[0]
    assert "777 reports" in last[1]


# On a real broker.


@pytest.fixture
def run(settings: Settings, command_line: Run) -> Run:
    """Run watch on topics of this test."""
    asyncio.run(create_topics(settings))
    flags = ["--brokers", settings.brokers, "--topic-prefix", settings.topic_prefix]
    return lambda *arguments: command_line(watch, *arguments, *flags)


def test_once_shows_the_newest_of_each_and_ends(run: Run, settings: Settings, survey: Path) -> None:
    newest = [of_minute(1, estimate="a"), of_minute(1), of_minute(2, final=False)]
    asyncio.run(publish(settings, of_minute(0), of_minute(1, final=False), *newest))
    for collection in (survey, "care-survey"):
        result = run(collection, "--once")
        assert result.exit_code == 0
        assert result.stdout.splitlines() == [AnswerText.of(each).line() for each in newest]


async def registered(settings: Settings) -> None:
    await create(settings, settings.topic_names.collections)
    await register(settings, [Registration.of(collection_of())])


def test_answers_of_another_collection_of_the_name_are_not_shown_for_the_file(
    run: Run, settings: Settings, survey: Path
) -> None:
    other = survey.with_name("other.yaml")
    other.write_text(survey.read_text(encoding="utf-8").replace("f: 0.25", "f: 0.5"), encoding="utf-8")
    asyncio.run(publish(settings, of_minute(0)))
    asyncio.run(registered(settings))
    result = run(other, "--once")
    assert result.exit_code == 1
    assert "the answers of this name are not read by this file" in result.stderr
    assert run(survey, "--once").exit_code == 0


def test_json_is_the_message_with_the_truth_beside_it(run: Run, settings: Settings, tmp_path: Path) -> None:
    final = estimate_of()
    asyncio.run(publish(settings, final))
    assert json.loads(run("care-survey", "--once", "--json").stdout) == json.loads(final.to_bytes())
    truth_file = tmp_path / "truth.json"
    absent = run("care-survey", "--once", "--json", "--truth", truth_file)
    assert json.loads(absent.stdout) == json.loads(final.to_bytes()), "a simulation that has not begun"
    SURVEY_TRUTH.save(truth_file)
    message = json.loads(run("care-survey", "--once", "--json", "--truth", truth_file).stdout)
    assert message.pop("truth")["no, full"] == 0.25
    assert message.pop("distance") == pytest.approx(0.05)
    assert message == json.loads(final.to_bytes())
    truth_file.write_text("{}", encoding="utf-8")
    broken = run("care-survey", "--once", "--truth", truth_file)
    assert broken.exit_code == 1
    assert "not the truth of a simulation" in broken.stderr


def test_a_record_that_is_not_an_estimate_is_pointed_out_and_passed_over(run: Run, settings: Settings) -> None:
    async def spoil() -> None:
        topic = settings.topic_names.answers_of("care-survey", "estimates")
        async with AIOKafkaProducer(**settings.client_options()) as producer:
            await producer.send_and_wait(topic, b"{}")
        await publish(settings, of_minute(0))

    asyncio.run(spoil())
    result = run("care-survey", "--once")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [AnswerText.of(of_minute(0)).line()]
    assert "partition 0, offset 0: not an answer (Estimate): collection: Field required (and" in result.stderr


async def test_once_waits_for_the_first_estimate(run: Run, settings: Settings) -> None:
    watching = asyncio.create_task(asyncio.to_thread(run, "care-survey", "--once"))
    while not watching.done():
        # Again and again, since nothing tells when the watcher has begun to listen.
        await publish(settings, of_minute(0))
        await asyncio.sleep(0.2)
    assert (await watching).stdout.splitlines() == [AnswerText.of(of_minute(0)).line()]


def test_a_missing_collection_is_named(settings: Settings, command_line: Run) -> None:
    missing = command_line(
        watch, "care-survey", "--brokers", settings.brokers, "--topic-prefix", settings.topic_prefix
    )
    assert missing.exit_code == 1
    assert "estimates does not exist" in missing.stderr
    no_file = command_line(watch, "survey.yml", "--brokers", settings.brokers)
    assert no_file.exit_code == 1
    assert "survey.yml: there is no such file" in no_file.stderr


def test_a_file_and_a_name_alone_both_show_rankings(settings: Settings, command_line: Run, tmp_path: Path) -> None:
    async def published() -> None:
        topic = settings.topic_names.answers_of("films", "heavy-hitters")
        await create(settings, topic)
        await create(settings, settings.topic_names.provisional("films"))
        async with AIOKafkaProducer(**settings.client_options()) as producer:
            for each in (result_of(5), result_of(6), ranking_of(epoch=7, phase=1)):
                await producer.send_and_wait(topic, each.to_bytes())

    asyncio.run(published())
    flags = ["--brokers", settings.brokers, "--topic-prefix", settings.topic_prefix]
    for collection in (write_films(tmp_path / "films.yaml"), "films"):
        result = command_line(watch, collection, "--once", *flags)
        assert result.exit_code == 0
        newest = [result_of(6), ranking_of(epoch=7, phase=1)]
        assert result.stdout.splitlines() == [AnswerText.of(each).line() for each in newest]
