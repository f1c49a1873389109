"""Tests that whatever goes wrong, what is published is what the log says, on real brokers."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.chaos.__main__ import play_all
from tests.chaos.run import play
from tests.chaos.schedule import Drawn, Event, Fault, draw
from tests.chaos.stages import Stage

if TYPE_CHECKING:
    from pathlib import Path

    from stream_ldp.kafka.embedded import EmbeddedKafka

#: Runs of `make test-all`, in parts that report their progress one by one.
RUNS, PART = 200, 10


# Quick tests of it are those of workers that are killed, stopped and joined by others, in tests/service.
@pytest.mark.long
async def test_finals_are_exact_while_workers_come_and_go(tmp_path: Path, kafka: EmbeddedKafka) -> None:
    events = (
        Event(at=0.5, fault=Fault.JOIN, seconds=0.0, target=0),
        Event(at=1.0, fault=Fault.TERMINATE, seconds=0.0, target=0),
    )
    collections = (
        Drawn(kind="records", window="tumbling", codec="zstd"),
        Drawn(kind="loloha", window="phases", codec="gzip"),
    )
    drawn = draw(1, scene="workers", seconds=3.0)
    schedule = replace(drawn, seconds=3.0, events=events, workers=1, collections=collections)
    outcome = await play(schedule, Stage(brokers=[kafka], quick=False), directory=tmp_path)
    assert outcome.problems == []
    assert outcome.finals >= 3


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_a_worker_that_commits_its_read_position_is_caught(tmp_path: Path, kafka: EmbeddedKafka) -> None:
    events = (Event(at=3.0, fault=Fault.KILL, seconds=0.0, target=0),)
    collections = (Drawn(kind="records", window="tumbling", codec="none"),)
    schedule = replace(draw(1, scene="workers"), events=events, workers=1, idle=False, collections=collections)
    outcome = await play(
        schedule, Stage(brokers=[kafka], quick=False), directory=tmp_path, broken="commit-read-position"
    )
    assert any("reports, expected" in problem for problem in outcome.problems), outcome.problems


@pytest.mark.long
@pytest.mark.timeout(3_000)
@pytest.mark.parametrize("first", range(1, RUNS + 1, PART))
async def test_finals_are_exact_whatever_goes_wrong(
    first: int, kafka: EmbeddedKafka, capsys: pytest.CaptureFixture[str]
) -> None:
    """Play seeds; the shared broker is asked for alone for its rule of when to skip and when to fail."""

    def say(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"{line}\n")

    outcomes = await play_all([draw(seed) for seed in range(first, first + PART)], say=say)
    assert [str(outcome) for outcome in outcomes if outcome.problems] == []
