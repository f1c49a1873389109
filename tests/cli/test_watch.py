"""Tests of `stream-ldp watch`: what is shown of an estimate, and which estimates are shown."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from aiokafka import AIOKafkaProducer
from rich.console import Console
from typer.testing import Result

from stream_ldp.cli import watch as watch_module
from stream_ldp.cli.simulation.truth import Truth, WindowTruth
from stream_ldp.cli.views.estimate_text import panel, plain_line, truth_line
from stream_ldp.cli.views.estimates import EstimateView
from stream_ldp.cli.watch import watch
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.answer import Plausibility, WindowBounds
from stream_ldp.records.answer import Axis, Estimate, Fit, Independence
from tests.client.examples import MINUTE_MS, collection_of, estimate_of
from tests.client.test_on_kafka import create_topics, publish

Run = Callable[..., Result]

TRUTH = np.array([[0.1, 0.2, 0.25], [0.05, 0.15, 0.25]])


def shown(estimate: Estimate, **options: Any) -> str:
    console = Console(file=StringIO(), width=110, color_system=None)
    console.print(panel(estimate, **options))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert isinstance(text, str)
    return text


def of_minute(minute: int, **changes: Any) -> Estimate:
    window = WindowBounds(start_ms=minute * MINUTE_MS, end_ms=(minute + 1) * MINUTE_MS)
    return estimate_of(window=window, **changes)


def wide(cells: int) -> Estimate:
    """Make an estimate of one attribute with many values, the later the more probable."""
    joint = np.arange(1, cells + 1) / np.arange(1, cells + 1).sum()
    return estimate_of(
        axes=(Axis(attribute="word", values=tuple(f"w{i}" for i in range(cells))),),
        probability=joint.tolist(),
        standard_error=[0.5] * cells,
    )


# One estimate.


def test_a_panel_holds_all_that_is_needed_to_judge_an_estimate() -> None:
    text = shown(estimate_of(), truth=TRUTH)
    for part in [
        "care-survey · bathing-mobility",
        "1970-01-01T00:00:00Z/1970-01-01T00:01:00Z · final",
        "bathing, mobility",
        "12,345 reports",
        "lremh from previous, 7 iterations; could gain 1e-07 nats at most, within tolerance",
        "the attributes depend on each other (p = 0.0001)",
        "epsilon 1.500 a report, 7.800 for ever: the record does not change",
        "distance to the truth 0.0500",
    ]:
        assert part in text
    assert "WARNING" not in text
    (row,) = (line for line in text.splitlines() if "no, full" in line)
    assert row.split()[1:3] == ["no,", "full"]
    assert row.split()[-4:-1] == ["0.3000", "0.0100", "0.2500"], "probability, standard error, truth"


def test_bars_are_as_long_as_their_cells_are_probable() -> None:
    text = shown(estimate_of(probability=[[0.5, 0.25, 0.25], [0.0, 0.0, 0.0]]))
    bars = {line.split("█")[0]: line.count("█") for line in text.splitlines() if "█" in line}
    assert sorted(bars.values()) == [15, 15, 30]


def test_what_speaks_against_an_estimate_is_shown() -> None:
    doubtful = estimate_of(
        final=False,
        effective_reports=20_000.4,
        fit=Fit(method="em", stop="paper", start="uniform", iterations=1, certificate=3.25, certified=False),
        independence=Independence(
            marginals=((0.6, 0.4), (0.1, 0.35, 0.55)), statistic=1, p_value=0.42, dependent=False
        ),
        plausibility=Plausibility(statistic=99.0, degrees_of_freedom=5, p_value=1e-9, flagged=True),
    )
    text = shown(doubtful)
    assert "provisional" in text
    assert "worth 20,000 with those of earlier windows" in text
    assert "could gain 3.2 nats at most, NOT within tolerance" in text
    assert "no dependence can be shown: prefer the product of the marginals (p = 0.42)" in text
    assert "WARNING: honest reports hardly ever look like this (p = 1e-09)" in text
    assert "certified=no dependent=no plausible=no" in plain_line(doubtful)
    assert "truth" not in text


def test_of_many_cells_the_most_probable_are_shown_and_the_others_counted() -> None:
    text = shown(wide(100), cells=3)
    order = [text.index(f"w{i} ") for i in (99, 98, 97)]
    assert order == sorted(order)
    assert "w96 " not in text
    assert f"and 97 more cells with {1 - (100 + 99 + 98) / 5050:.4f} together" in text
    assert "depend on each other" not in text, "one attribute alone cannot"


def test_a_value_is_shown_as_it_is_and_never_as_markup() -> None:
    odd = estimate_of(
        axes=(Axis(attribute="[b]a[/b]", values=("[red]x", "[/]")), estimate_of().axes[1]),
    )
    assert "[b]a[/b], mobility" in shown(odd)
    assert "[red]x, full" in shown(odd)


def test_a_plain_line_shows_an_estimate_with_its_most_probable_cells() -> None:
    line = plain_line(estimate_of(), truth=TRUTH)
    assert line.startswith(
        "1970-01-01T00:00:00Z/1970-01-01T00:01:00Z bathing-mobility final reports=12345 certified=yes dependent=yes "
        "plausible=yes distance=0.0500 no,_full=0.3000±0.0100 yes,_full=0.2500±0.0100"
    )
    assert plain_line(wide(100)).endswith(" +94")
    assert "distance" not in plain_line(estimate_of(final=False))


def test_the_truth_is_shown_in_the_form_of_the_estimate() -> None:
    truth = WindowTruth(window=WindowBounds(start_ms=500, end_ms=1_500), reports=4, probability=[0.25, 0.75])
    assert truth_line("one", [("a", "b")], truth) == (
        "1970-01-01T00:00:00.500Z/1970-01-01T00:00:01.500Z one truth reports=4 b=0.7500 a=0.2500"
    )


def test_the_newest_estimates_are_the_last_final_one_and_that_of_the_open_window() -> None:
    view = EstimateView(lambda _: None)
    for estimate in [
        of_minute(0),
        of_minute(0, estimate="a"),
        of_minute(1, final=False),
        of_minute(1, final=False, reports=2),
        of_minute(1, estimate="a", final=False),
        of_minute(1, estimate="a"),
        of_minute(5, estimate="b", final=False),
    ]:
        view.add(estimate)
    assert view.newest() == [
        of_minute(1, estimate="a"),
        of_minute(5, estimate="b", final=False),
        of_minute(0),
        of_minute(1, final=False, reports=2),
    ]


def test_a_terminal_shows_the_newest_in_place_each_with_its_truth() -> None:
    console = Console(file=StringIO(), width=110, height=60, force_terminal=True, color_system=None)
    view = EstimateView(lambda estimate: TRUTH if estimate.final else None)
    for estimate in (of_minute(0), of_minute(1, final=False), of_minute(1, final=False, reports=777)):
        view.add(estimate)
    with console.capture() as capture:
        console.print(view.screen())
    text = capture.get()
    assert text.count("bathing-mobility") == 2
    assert text.count("distance to the truth") == 1
    assert "777 reports" in text


class FakeSubscriber:
    """A subscriber that hands out a topic's history or its news, and ends."""

    history: ClassVar[list[Estimate]]
    news: ClassVar[list[Estimate]]

    def __init__(self, name: str, *, settings: Settings, from_beginning: bool = False, follow: bool = True) -> None:
        assert name == "care-survey"
        assert from_beginning is not follow
        self._estimates = iter(self.news if follow else self.history)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return

    async def __anext__(self) -> Estimate:
        for estimate in self._estimates:
            return estimate
        raise StopAsyncIteration


def watched(monkeypatch: pytest.MonkeyPatch, command_line: Run, survey: Path, *flags: str) -> list[str]:
    monkeypatch.setattr("stream_ldp.client.Subscriber", FakeSubscriber)
    result = command_line(watch, survey, *flags)
    assert result.exit_code == 0
    return result.stdout.splitlines()


def test_what_comes_while_the_history_is_read_is_shown_once(
    monkeypatch: pytest.MonkeyPatch, command_line: Run, survey: Path
) -> None:
    FakeSubscriber.history = [of_minute(0), of_minute(1)]
    FakeSubscriber.news = [of_minute(1), of_minute(2, final=False), of_minute(2)]
    expected = [of_minute(1), of_minute(2, final=False), of_minute(2)]
    assert watched(monkeypatch, command_line, survey) == [plain_line(each) for each in expected]


def test_once_without_history_shows_the_first_new_estimate(
    monkeypatch: pytest.MonkeyPatch, command_line: Run, survey: Path
) -> None:
    FakeSubscriber.history = []
    FakeSubscriber.news = [of_minute(0), of_minute(1)]
    assert watched(monkeypatch, command_line, survey, "--once") == [plain_line(of_minute(0))]


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
        assert result.stdout.splitlines() == [plain_line(each) for each in newest]


def test_json_is_the_message_with_the_truth_beside_it(run: Run, settings: Settings, tmp_path: Path) -> None:
    final = estimate_of()
    asyncio.run(publish(settings, final))
    assert json.loads(run("care-survey", "--once", "--json").stdout) == json.loads(final.to_bytes())
    truth_file = tmp_path / "truth.json"
    absent = run("care-survey", "--once", "--json", "--truth", truth_file)
    assert json.loads(absent.stdout) == json.loads(final.to_bytes()), "a simulation that has not begun"
    Truth(
        collection="care-survey",
        fingerprint=collection_of().fingerprint.hex(),
        population={"bathing-mobility": TRUTH.tolist()},
        windows={"bathing-mobility": ()},
    ).save(truth_file)
    message = json.loads(run("care-survey", "--once", "--json", "--truth", truth_file).stdout)
    assert message.pop("truth") == TRUTH.tolist()
    assert message.pop("distance") == pytest.approx(0.05)
    assert message == json.loads(final.to_bytes())
    truth_file.write_text("{}", encoding="utf-8")
    broken = run("care-survey", "--once", "--truth", truth_file)
    assert broken.exit_code == 1
    assert "not the truth of a simulation" in broken.stderr


def test_a_record_that_is_not_an_estimate_is_pointed_out_and_passed_over(run: Run, settings: Settings) -> None:
    async def spoil() -> None:
        topic = settings.topic_names.estimates("care-survey")
        async with AIOKafkaProducer(**settings.client_options()) as producer:
            await producer.send_and_wait(topic, b"{}")
        await publish(settings, of_minute(0))

    asyncio.run(spoil())
    result = run("care-survey", "--once")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [plain_line(of_minute(0))]
    assert "partition 0, offset 0: not an estimate: collection: Field required (and" in result.stderr


async def test_once_waits_for_the_first_estimate(run: Run, settings: Settings) -> None:
    watching = asyncio.create_task(asyncio.to_thread(run, "care-survey", "--once"))
    while not watching.done():
        # Again and again, since nothing tells when the watcher has begun to listen.
        await publish(settings, of_minute(0))
        await asyncio.sleep(0.2)
    assert (await watching).stdout.splitlines() == [plain_line(of_minute(0))]


def test_a_missing_collection_is_named(settings: Settings, command_line: Run) -> None:
    missing = command_line(
        watch, "care-survey", "--brokers", settings.brokers, "--topic-prefix", settings.topic_prefix
    )
    assert missing.exit_code == 1
    assert "estimates does not exist" in missing.stderr
    no_file = command_line(watch, "survey.yml", "--brokers", settings.brokers)
    assert no_file.exit_code == 1
    assert "survey.yml: there is no such file" in no_file.stderr
