"""Tests of what every subscriber refuses; test_subscriber.py has what each hands out."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from stream_ldp.client import NotAnEstimate, Subscriber, answer_subscriber
from stream_ldp.errors import ParameterError
from tests.client.answer_topics import SETTINGS, published
from tests.client.examples import collection_of, estimate_of, of_minute


def test_a_group_member_that_does_not_follow_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a group member has to follow"):
        Subscriber("care-survey", settings=SETTINGS, group="readers", follow=False)


def test_a_subscriber_says_that_it_takes_a_name_in_place_of_a_collection() -> None:
    with pytest.raises(TypeError, match="Subscriber takes the name of a collection, not a JointCollection"):
        Subscriber(collection_of(), settings=SETTINGS)  # type: ignore[arg-type]


def test_the_name_of_a_file_is_refused_in_place_of_that_of_a_collection() -> None:
    with pytest.raises(ParameterError, match=r"'survey\.yaml' is not the name of a collection: give the one"):
        Subscriber("survey.yaml", settings=SETTINGS)


async def test_the_answer_of_another_collection_is_refused_and_reading_goes_on() -> None:
    strange = estimate_of().model_copy(update={"collection": "other"})
    with published(strange, estimate_of()):
        async with Subscriber("care-survey", settings=SETTINGS, from_beginning=True, follow=False) as estimates:
            with pytest.raises(NotAnEstimate, match=r"offset 0: not an estimate: it is of other, not of care-survey"):
                await anext(estimates)
            assert [each async for each in estimates] == [estimate_of()]


class Member:
    """The reader of a member of a group: what it reads comes one by one, and it keeps what is committed."""

    def __init__(self) -> None:
        self.coming: asyncio.Queue[Any] = asyncio.Queue()
        self.commits: asyncio.Queue[int] = asyncio.Queue()

    def write(self, minute: int) -> None:
        self.coming.put_nowait(SimpleNamespace(partition=0, offset=minute, value=of_minute(minute).to_bytes()))

    async def next(self) -> Any:
        return await self.coming.get()

    async def commit(self, offset: int) -> None:
        self.commits.put_nowait(offset)


@pytest.fixture
def member(monkeypatch: pytest.MonkeyPatch) -> Member:
    monkeypatch.setattr(answer_subscriber, "COMMIT_INTERVAL", 0.01)
    member = Member()
    monkeypatch.setattr(answer_subscriber, "LogReader", lambda *_, **__: member)
    return member


async def test_a_member_of_a_group_that_waits_for_an_answer_has_told_that_the_last_one_is_processed(
    member: Member,
) -> None:
    answers = Subscriber("care-survey", settings=SETTINGS, group="readers")
    async with asyncio.timeout(30):
        member.write(0)
        assert await anext(answers) == of_minute(0)
        assert member.commits.empty(), "it may not have been processed"
        waiting = asyncio.ensure_future(anext(answers))
        assert await member.commits.get() == 1
        member.write(1)
        assert await waiting == of_minute(1)


async def test_a_member_of_a_group_that_gives_up_waiting_misses_no_answer(member: Member) -> None:
    answers = Subscriber("care-survey", settings=SETTINGS, group="readers")
    async with asyncio.timeout(30):
        waiting = asyncio.ensure_future(anext(answers))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        member.write(0)
        assert await anext(answers) == of_minute(0)
