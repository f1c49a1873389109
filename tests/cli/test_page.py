"""Tests of `stream-ldp page`: what it serves, and what it says when it cannot."""

import asyncio
from pathlib import Path
from typing import Any, ClassVar, Self

import aiohttp
import pytest

from stream_ldp.cli import page as page_module
from stream_ldp.client.errors import MissingTopic, UnreadableAnswer
from stream_ldp.kafka.connection import AccessRefused
from stream_ldp.page.history import History
from stream_ldp.page.server import PageServer
from stream_ldp.records.answer import Estimate
from tests.client.examples import of_minute


class FakeSubscriber:
    """A subscriber that hands out answers and then waits, as a topic does."""

    answers: ClassVar[list[Estimate | Exception]]
    lacks: ClassVar[Exception | None] = None

    def __init__(self) -> None:
        self._answers = iter(self.answers)

    async def __aenter__(self) -> Self:
        if self.lacks is not None:
            raise self.lacks
        return self

    async def __aexit__(self, *_: object) -> None:
        return

    async def __anext__(self) -> Estimate:
        for answer in self._answers:
            if isinstance(answer, Exception):
                raise answer
            return answer
        await asyncio.Event().wait()
        raise AssertionError


class FakeWatch:
    """A watch over brokers that answer, or are found to be wrong ones."""

    finds: ClassVar[Exception | None] = None

    async def run(self) -> None:
        if self.finds is not None:
            raise self.finds
        await asyncio.Event().wait()


def page_of_one() -> Any:
    known = {"care-survey": {"kind": "records", "window_ms": 60_000}}
    server = PageServer(History(known, finals=5), host="127.0.0.1", port=0)
    return page_module._page(server, [FakeSubscriber()], FakeWatch())  # type: ignore[list-item, arg-type]


async def served(capsys: pytest.CaptureFixture[str]) -> tuple[asyncio.Task[Any], str]:
    task = asyncio.create_task(page_of_one())
    said = ""
    while "http://" not in said:
        await asyncio.sleep(0.01)
        said += capsys.readouterr().out
    return task, said.split()[4].rstrip(";")


async def test_the_page_has_the_answers_of_the_topic_and_passes_over_what_is_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = UnreadableAnswer("topic", 0, 7, "not JSON", answer="Estimate")
    FakeSubscriber.answers = [of_minute(1), broken, of_minute(2)]
    task, url = await served(capsys)
    async with aiohttp.ClientSession(url) as session, session.get("/events") as response:
        snapshot = (await response.content.readuntil(b"\n\n")).decode()
    assert '"kind": "records"' in snapshot
    assert of_minute(1).to_bytes().decode() in snapshot
    assert of_minute(2).to_bytes().decode() in snapshot
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_the_command_closes_its_port_when_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    FakeSubscriber.answers = []
    task, url = await served(capsys)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectionError):
            await session.get(url)


async def test_a_failure_of_one_collection_is_reported_as_it_is() -> None:
    FakeSubscriber.answers = [MissingTopic("topic x does not exist")]
    with pytest.raises(MissingTopic, match="topic x does not exist"):
        await page_of_one()


async def test_the_page_watches_its_brokers_and_ends_if_they_are_those_of_another_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    FakeSubscriber.answers = []
    monkeypatch.setattr(FakeWatch, "finds", AccessRefused("broker first:9092 is of cluster two"))
    with pytest.raises(AccessRefused, match="of cluster two"):
        await page_of_one()


async def test_a_missing_topic_is_reported_before_an_address_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeSubscriber.answers = []
    monkeypatch.setattr(FakeSubscriber, "lacks", MissingTopic("topic x does not exist"))
    with pytest.raises(MissingTopic, match="topic x does not exist"):
        await page_of_one()
    assert capsys.readouterr().out == ""


def test_a_file_that_is_no_collection_is_an_error(command_line: Any, tmp_path: Path) -> None:
    path = tmp_path / "survey.yaml"
    path.write_text("collection: care", encoding="utf-8")
    result = command_line(page_module.page, path)
    assert result.exit_code != 0
