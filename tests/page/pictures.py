"""Make the pictures of the page that the documentation shows: `python -m tests.page.pictures [FOLDER]`.

They show what `stream-ldp demo` collects, from simulated users who report to a Kafka in memory through the client.
Noise comes from the OS, so that each run makes other pictures of the same kind. It takes 20 seconds, and Chromium.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from playwright.async_api import Browser, ViewportSize

from stream_ldp.cli.demo.films import Films, films_seen
from stream_ldp.cli.demo.survey import SURVEY, survey_records
from stream_ldp.cli.inputs.population import sample
from stream_ldp.client.batcher import batch_of
from stream_ldp.client.reporter import Reporter
from stream_ldp.kinds import load_collection
from stream_ldp.mechanisms import OSEntropy
from stream_ldp.page.history import History
from stream_ldp.page.server import PageServer
from stream_ldp.pipeline.answer import Answer
from stream_ldp.pipeline.content_type import BATCH
from stream_ldp.pipeline.wire import encode
from stream_ldp.sets.sampling import respond
from stream_ldp.testing import KafkaInMemory, kafka_in_memory
from tests.chromium import chromium
from tests.paths import REPOSITORY

#: Windows of the survey, and users in each: those of five seconds of the demo.
WINDOWS, USERS = 12, 25_000

#: Epochs of films, and users in each.
EPOCHS, VIEWERS = 4, 20_000


async def survey_answers(windows: int = WINDOWS, users: int = USERS) -> tuple[Any, list[Answer]]:
    """Let windows of the demo's survey pass, and return its collection and final answers."""
    survey: Any
    survey = load_collection(SURVEY)
    population, rng = survey_records(), np.random.default_rng(1974)
    found: list[Answer] = []
    with kafka_in_memory(survey) as kafka:
        async with Reporter(survey, settings=kafka.settings, entropy=OSEntropy(), clock=kafka.clock) as reporter:
            for _ in range(windows):
                await reporter.report_many(sample(population, users, rng), secrets=None)
                found += await asyncio.to_thread(kafka.close_windows)
    return survey, found


def film_answers(epochs: int = EPOCHS, users: int = VIEWERS) -> tuple[Any, list[Answer]]:
    """Let epochs of the demo's films pass, one after the other, and return its collection and final answers."""
    films: Any
    films = Films(users=1).collection
    with kafka_in_memory(films) as kafka:
        epoch = kafka.clock() // films.schedule.size_ms // films.schedule.stride
        # The demo's epochs overlap; each of these begins when the one before has ended.
        every = len(films.method.phases)
        found = [
            answer for number in range(epochs) for answer in _ranked(kafka, films, epoch + 1 + every * number, users)
        ]
    return films, found


def _ranked(kafka: KafkaInMemory, films: Any, epoch: int, users: int) -> Iterator[Any]:
    """Let users report to the phases of an epoch, each to one of them."""
    seen = films_seen(users, films.items.count)
    asked, fingerprint = films.method.first(), films.fingerprint
    for phase in films.method.phases:
        kafka.broker.now_ms = max(kafka.clock(), films.schedule.window_of(epoch, phase.number))
        first, last = (users * part >> 32 for part in phase.share)
        batch = batch_of(
            respond(films.method, asked, films.table(seen[first:last]), entropy=OSEntropy()),
            fingerprint=fingerprint,
            time_ms=kafka.clock(),
            window=films.window,
            entropy=OSEntropy(),
        )
        topic = kafka.settings.topic_names.reports(films.name)
        kafka.broker.put(topic, encode(batch), key=batch.batch_id, headers=BATCH)
        for answer in kafka.close_windows():
            if answer.next_inquiry is not None and answer.next_fingerprint is not None:
                asked, fingerprint = answer.next_inquiry, answer.next_fingerprint
            yield answer


@asynccontextmanager
async def served(*shown: tuple[Any, Sequence[Any]]) -> AsyncIterator[str]:
    """Serve the answers of collections, and yield the address of the page."""
    server = PageServer(History.of([collection for collection, _ in shown]), host="127.0.0.1", port=0)
    await server.start()
    try:
        for _, answers in shown:
            for answer in answers:
                server.show(answer)
        yield server.url
    finally:
        await server.stop()


async def picture(browser: Browser, url: str, path: Path, *, series: str, shot: Shot) -> None:
    """Write a picture of the page.

    series: text of the link to the series that it shows.
    """
    viewport: ViewportSize = {"width": shot.width, "height": shot.height}
    tab = await browser.new_page(viewport=viewport, color_scheme=shot.theme, device_scale_factor=shot.scale)
    await tab.goto(url)
    await tab.get_by_role("link", name=series).click()
    await tab.locator("figure svg").first.wait_for()
    await tab.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    await tab.screenshot(path=path, full_page=shot.whole)
    await tab.close()


@dataclass(frozen=True, kw_only=True)
class Shot:
    """The window of a browser. Width and height are in CSS pixels, of each of which a picture has `scale`.

    whole: whether the picture shows all of the page, also what the window has no room for.
    """

    width: int
    height: int
    theme: Literal["light", "dark"]
    scale: float = 1.0
    whole: bool = True


LIGHT = Shot(width=1200, height=700, theme="light")
DARK = Shot(width=900, height=700, theme="dark")
PHONE = Shot(width=390, height=844, theme="light", scale=2.0, whole=False)


async def main(folder: Path) -> None:
    """Write all pictures into a folder."""
    survey, films = await survey_answers(), await asyncio.to_thread(film_answers)
    async with served(survey, films) as url, chromium() as browser:
        for name, series, shot in (
            ("page-light.png", "Marriages in 1974", LIGHT),
            ("page-dark.png", "films", DARK),
            ("page-phone.png", "Marriages in 1974", PHONE),
        ):
            await picture(browser, url, folder / name, series=series, shot=shot)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else REPOSITORY / "docs" / "images"))
