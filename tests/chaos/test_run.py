"""Tests that a run that cannot be played says so, and that the next one is played on a stage of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.chaos import __main__ as program
from tests.chaos.run import play
from tests.chaos.schedule import draw
from tests.chaos.stages import Stage
from tests.service.harness import Deployment


@pytest.fixture
def set_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A stage without brokers, on which nothing can be created; the list has what was set up and taken down."""
    noted: list[str] = []

    @asynccontextmanager
    async def stage() -> AsyncIterator[Stage]:
        noted.append("up")
        yield Stage(brokers=[])
        noted.append("down")

    async def create(*_: Any, **__: Any) -> Deployment:
        raise ExceptionGroup("all", [TimeoutError("the broker is\naway")])

    monkeypatch.setattr(program, "STAGES", dict.fromkeys(("broker", "clock", "disk", "cluster"), stage))
    monkeypatch.setattr(Deployment, "create", create)
    return noted


async def test_a_run_that_breaks_off_says_what_ended_it(set_up: list[str], tmp_path: Path) -> None:
    outcome = await play(draw(1), Stage(brokers=[]), directory=tmp_path)
    assert set_up == []
    assert outcome.unplayed
    assert str(outcome).endswith(" s: the run broke off: TimeoutError: the broker is away")


async def test_after_a_run_that_broke_off_the_next_is_played_on_a_new_stage(set_up: list[str]) -> None:
    said: list[str] = []
    outcomes = await program.play_all([draw(seed, scene="workers") for seed in (1, 2)], say=said.append)
    assert [outcome.unplayed for outcome in outcomes] == [True, True]
    assert set_up == ["up", "down"] * 2
    assert len(said) == 2
