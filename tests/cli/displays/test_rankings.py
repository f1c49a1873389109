"""These tests show which rankings are current, on a terminal and by `stream-ldp watch`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from rich.console import Console
from typer.testing import Result

from stream_ldp.cli.displays.ranking_text import ranking_line
from stream_ldp.cli.displays.rankings import RankingDisplay
from stream_ldp.cli.simulation.item_truth import ItemTruth
from stream_ldp.cli.watch import watch
from stream_ldp.kafka.settings import Settings
from stream_ldp.sets.answer import Ranking
from tests.cli.displays.examples import FILMS_TRUTH, shown
from tests.client.rankings import ranking_of, result_of, write_films
from tests.kafka.new_topics import create

Run = Callable[..., Result]


def display(*rankings: Ranking, truth: ItemTruth | None = None) -> RankingDisplay:
    found = RankingDisplay(lambda _: truth)
    for each in rankings:
        found.add(each)
    return found


def test_the_newest_rankings_are_the_last_result_and_the_latest_of_the_next_epoch() -> None:
    sequential = [result_of(6), ranking_of(epoch=7, phase=1), result_of(7, final=False)]
    assert display(*sequential).newest() == [result_of(6), result_of(7, final=False)]
    assert display(*sequential, result_of(7)).newest() == [result_of(7)]
    assert display(ranking_of(epoch=7, phase=1, final=False)).newest() == [ranking_of(epoch=7, phase=1, final=False)]
    assert display().newest() == []


def test_a_result_and_a_later_epoch_are_compared_with_the_results_before_them() -> None:
    watched = display(result_of(5), result_of(6))
    assert watched.before(result_of(6)) == result_of(5)
    assert watched.before(ranking_of(epoch=7, phase=1)) == result_of(6)
    assert watched.before(result_of(5)) is None


def test_a_terminal_shows_the_result_and_the_running_epoch_each_with_its_truth() -> None:
    watched = display(result_of(6), ranking_of(epoch=7, phase=1), truth=FILMS_TRUTH)
    text = shown(watched.screen(Console(width=110, height=60)))
    assert text.index("epoch 6 · result") < text.index("epoch 7 · phase 1 of 2")
    assert text.count("true top 2") == 2


# On a real broker.


async def publish(settings: Settings, *values: bytes) -> None:
    topic = settings.topic_names.answers_of("films", "heavy-hitters")
    await create(settings, topic)
    async with AIOKafkaProducer(**settings.client_options()) as producer:
        for value in values:
            await producer.send_and_wait(topic, value)


@pytest.fixture
def run(settings: Settings, command_line: Run) -> Run:
    """Run watch on topics of this test."""
    flags = ["--brokers", settings.brokers, "--topic-prefix", settings.topic_prefix]
    return lambda *arguments: command_line(watch, *arguments, *flags)


def test_a_file_and_a_name_alone_both_show_rankings(run: Run, settings: Settings, tmp_path: Path) -> None:
    answers = [result_of(6), ranking_of(epoch=7, phase=1)]
    asyncio.run(publish(settings, result_of(5).to_bytes(), *(each.to_bytes() for each in answers)))
    for collection in (write_films(tmp_path / "films.yaml"), "films"):
        result = run(collection, "--once")
        assert result.exit_code == 0
        assert result.stdout.splitlines() == [ranking_line(each) for each in answers]


def test_json_is_the_message_with_the_truth_of_its_items_beside_it(
    run: Run, settings: Settings, tmp_path: Path
) -> None:
    asyncio.run(publish(settings, result_of(6).to_bytes()))
    truth_file = tmp_path / "truth.json"

    def message() -> Any:
        return json.loads(run("films", "--once", "--json", "--truth", truth_file).stdout)

    published = json.loads(result_of(6).to_bytes())
    assert message() == published, "a simulation that has not begun"
    FILMS_TRUTH.model_copy(update={"fingerprint": "0" * 32}).save(truth_file)
    assert message() == published, "a simulation of another collection"
    FILMS_TRUTH.save(truth_file)
    assert message() == published | {"truth": {"Casablanca": 0.53, "Alien": 0.24}, "found": 1}
    truth_file.write_text("{}", encoding="utf-8")
    broken = run("films", "--once", "--truth", truth_file)
    assert broken.exit_code == 1
    assert "not the truth of a simulation of item sets" in broken.stderr


def test_a_record_that_is_not_a_ranking_is_pointed_out_and_passed_over(run: Run, settings: Settings) -> None:
    asyncio.run(publish(settings, b"{}", result_of(6).to_bytes()))
    result = run("films", "--once")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [ranking_line(result_of(6))]
    assert "partition 0, offset 0: no Ranking: collection: Field required (and" in result.stderr
