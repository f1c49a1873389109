"""Tests of `stream-ldp watch` for an item collection: what is shown of a ranking, and which rankings are shown."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import NewTopic
from rich.console import Console, RenderableType
from typer.testing import Result

from stream_ldp.cli.simulation.item_truth import ItemTruth
from stream_ldp.cli.views.ranking_text import ranking_line, ranking_panel
from stream_ldp.cli.views.rankings import RankingView
from stream_ldp.cli.watch import watch
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.answer import Plausibility
from stream_ldp.sets.answer import Ranking
from tests.client.rankings import films, ranking_of, result_of, write_films
from tests.client.test_on_kafka import admin

Run = Callable[..., Result]

TRUTH = ItemTruth(
    collection="films",
    fingerprint=films().fingerprint.hex(),
    frequency={"Casablanca": 0.53, "Brazil": 0.3, "Alien": 0.24},
)


def shown(what: RenderableType) -> str:
    console = Console(file=StringIO(), width=110, color_system=None)
    console.print(what)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert isinstance(text, str)
    return text


def view(*rankings: Ranking, truth: ItemTruth | None = None) -> RankingView:
    found = RankingView(lambda _: truth)
    for each in rankings:
        found.add(each)
    return found


# One ranking.


def test_a_panel_holds_all_that_is_needed_to_judge_a_ranking() -> None:
    text = shown(ranking_panel(result_of(7), truth=TRUTH))
    for part in [
        "films · epoch 7 · result",
        "1970-01-01T00:15:00Z/1970-01-01T00:16:00Z · final",
        "1,000 + 2,000 reports, phase by phase",
        "ldpminer at epsilon 2.000 an epoch: any two sets of items",
        "1 of the true top 2 found; their frequencies are 0.0200 off on average",
    ]:
        assert part in text
    assert "WARNING" not in text
    assert "not the epoch's result" not in text
    (row,) = (line for line in text.splitlines() if "Casablanca" in line)
    assert row.split()[1:3] == ["1", "Casablanca"]
    assert row.split()[-4:-1] == ["0.5000", "0.0200", "0.5300"], "frequency, standard error, truth"


def test_ranks_are_compared_with_the_result_of_the_epoch_before() -> None:
    before = result_of(6, items={"Brazil": 0.4, "Alien": 0.3})
    ranking = result_of(7, items={"Alien": 0.5, "Brazil": 0.25})
    changes = {
        line.split()[3]: line.split()[2] for line in shown(ranking_panel(ranking, before=before)).splitlines()[2:4]
    }
    assert changes == {"Alien": "▲1", "Brazil": "▼1"}
    new = result_of(7, items={"Brazil": 0.5, "Casablanca": 0.25})
    changes = {
        line.split()[3]: line.split()[2] for line in shown(ranking_panel(new, before=before)).splitlines()[2:4]
    }
    assert changes == {"Brazil": "=", "Casablanca": "new"}
    assert "change" not in shown(ranking_panel(ranking))


def test_what_speaks_against_a_ranking_is_shown() -> None:
    doubtful = ranking_of(
        epoch=7,
        phase=1,
        final=False,
        plausibility=Plausibility(statistic=99.0, degrees_of_freedom=7, p_value=1e-9, flagged=True),
    )
    text = shown(ranking_panel(doubtful))
    assert "phase 1 of 2" in text
    assert "provisional" in text
    assert "not the epoch's result yet" in text
    assert "WARNING: honest reports hardly ever look like this (p = 1e-09)" in text
    assert "phase=1/2 provisional reports=1000 plausible=no" in ranking_line(doubtful)


def test_reports_that_could_not_be_tested_are_not_called_plausible() -> None:
    untested = result_of(
        7, plausibility=Plausibility(statistic=0.0, degrees_of_freedom=0, p_value=1.0, flagged=False)
    )
    assert "whether these reports are honest cannot be tested" in shown(ranking_panel(untested))
    assert "plausible=untested" in ranking_line(untested)
    assert "cannot be tested" not in shown(ranking_panel(result_of(7)))


def test_of_many_items_the_best_are_shown_and_the_others_counted() -> None:
    ranking = result_of(7, items={f"film {number}": 0.9 - 0.01 * number for number in range(9)})
    text = shown(ranking_panel(ranking, rows=3))
    assert "film 2" in text
    assert "film 3" not in text
    assert "and 6 more of the top" in text
    assert ranking_line(ranking).endswith("film_5=0.8500±0.0200 +3")


def test_an_item_is_shown_as_it_is_and_never_as_markup() -> None:
    assert "[red]Fargo" in shown(ranking_panel(result_of(7, items={"[red]Fargo": 0.1})))


def test_a_ranking_of_items_that_nobody_seems_to_hold_can_be_shown() -> None:
    assert "0.0000" in shown(ranking_panel(result_of(7, items={"Alien": 0.0}), truth=TRUTH))


def test_a_plain_line_shows_a_ranking_with_its_best_items() -> None:
    assert ranking_line(result_of(7), truth=TRUTH) == (
        "1970-01-01T00:15:00Z/1970-01-01T00:16:00Z epoch=7 phase=2/2 final reports=2000 plausible=yes found=1/2 "
        "Casablanca=0.5000±0.0200 Alien=0.2500±0.0200"
    )


# Which rankings.


def test_the_newest_rankings_are_the_last_result_and_the_latest_of_the_next_epoch() -> None:
    sequential = [result_of(6), ranking_of(epoch=7, phase=1), result_of(7, final=False)]
    assert view(*sequential).newest() == [result_of(6), result_of(7, final=False)]
    assert view(*sequential, result_of(7)).newest() == [result_of(7)]
    assert view(ranking_of(epoch=7, phase=1, final=False)).newest() == [ranking_of(epoch=7, phase=1, final=False)]
    assert view().newest() == []


def test_a_result_and_a_later_epoch_are_compared_with_the_results_before_them() -> None:
    watched = view(result_of(5), result_of(6))
    assert watched.before(result_of(6)) == result_of(5)
    assert watched.before(ranking_of(epoch=7, phase=1)) == result_of(6)
    assert watched.before(result_of(5)) is None


def test_a_terminal_shows_the_result_and_the_running_epoch_each_with_its_truth() -> None:
    text = shown(view(result_of(6), ranking_of(epoch=7, phase=1), truth=TRUTH).screen())
    assert text.index("epoch 6 · result") < text.index("epoch 7 · phase 1 of 2")
    assert text.count("true top 2") == 2


# On a real broker.


async def publish(settings: Settings, *values: bytes) -> None:
    topic = settings.topic_names.heavy_hitters("films")
    async with admin(settings) as client:
        await client.create_topics([NewTopic(topic, 1, 1)])
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
    TRUTH.model_copy(update={"fingerprint": "0" * 32}).save(truth_file)
    assert message() == published, "a simulation of another collection"
    TRUTH.save(truth_file)
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
    assert "partition 0, offset 0: not a ranking: collection: Field required (and" in result.stderr
