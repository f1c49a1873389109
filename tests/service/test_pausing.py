"""Tests of pausing a collection: it is served as before, or nobody counts it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from stream_ldp.kafka.registry import Registration
from stream_ldp.kafka.settings import Settings
from stream_ldp.service import pausing
from stream_ldp.service.pausing import StillServed, paused
from tests.client.examples import collection_of

COLLECTION = collection_of()
KNOWN = Registration.of(COLLECTION)


class Scene:
    """A registry, a fence and a group whose members leave one by one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, members: int, leaving: bool = True) -> None:
        self.done: list[Any] = []
        self._members, self._leaving = members, leaving
        monkeypatch.setattr(pausing, "LOOK_SECONDS", 0.0)
        monkeypatch.setattr(pausing, "LEAVE_SECONDS", 0.05)
        monkeypatch.setattr(pausing, "register", self._register)
        monkeypatch.setattr(pausing, "FencedProducer", self._fence)

    async def members(self, group: str, *, of: str) -> int:
        assert (group, of) == ("stream-ldp._ingest", "stream-ldp.care-survey.reports")
        self._members -= self._leaving and self._members > 0
        return self._members

    async def _register(self, settings: Settings, registrations: Sequence[Registration]) -> None:
        self.done += [each.state for each in registrations]

    def _fence(self, settings: Settings, *, topic: str, **_: Any) -> Scene:
        assert topic == "stream-ldp.care-survey.estimates"
        return self

    async def take(self) -> None:
        assert not self._members
        self.done.append("fence")

    async def stop(self) -> None:
        return


async def test_a_block_begins_once_nobody_counts_and_no_former_owner_can_write_finals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene(monkeypatch, members=3)
    async with paused(scene, Settings(), KNOWN, COLLECTION):  # type: ignore[arg-type]
        assert scene.done == ["paused", "fence"]
    assert scene.done == ["paused", "fence"], "what it is registered as is the block's business"


async def test_a_collection_is_served_as_before_if_workers_do_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(monkeypatch, members=1, leaving=False)
    with pytest.raises(StillServed, match="stop the workers that were started with the collection's file"):
        async with paused(scene, Settings(), KNOWN, COLLECTION):  # type: ignore[arg-type]
            raise AssertionError
    assert scene.done == ["paused", "served"]


async def test_a_collection_stays_paused_if_nobody_can_say_what_was_registered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene(monkeypatch, members=0)
    with pytest.raises(TimeoutError):
        async with paused(scene, Settings(), KNOWN, COLLECTION):  # type: ignore[arg-type]
            raise TimeoutError
    assert scene.done == ["paused", "fence"]
