"""Tests of the gateway in a browser: what scripts of a page may do that nobody let in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.gateway.limiter import Limiter
from stream_ldp.gateway.server import Door, Gateway, Source
from stream_ldp.testing import kafka_in_memory
from tests.chromium import chromium, empty_site, needs_chromium
from tests.client.examples import collection_of
from tests.gateway.test_server import batch
from tests.listening import listening, site

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = needs_chromium

#: Report in every way in which a page can: without a question by its type, with one, and without seeing the answer.
REPORT = """
async ([url, bytes]) => {
  const body = new Uint8Array(bytes);
  const typed = { method: "POST", body, headers: { "Content-Type": "application/vnd.sldp.batch" } };
  const blob = new Blob([body], { type: "application/vnd.sldp.batch" });
  const mode = "no-cors";
  const ways = [{ method: "POST", body }, { method: "POST", body, mode }, typed, { ...typed, mode },
    { method: "POST", body: blob, mode }];
  const found = [];
  for (const way of ways) found.push(await fetch(url, way).then((response) => response.status, () => "failed"));
  navigator.sendBeacon(url, body);
  return found;
}
"""


async def test_only_a_page_that_is_named_reports() -> None:
    async with site(empty_site()) as page_url, chromium() as browser:
        page = await browser.new_page()
        await page.goto(page_url)
        # A page that is named reports with the type of a batch where it may see the answer, and in no other way.
        # Where a page may not see an answer, its status is 0.
        assert await reported(page, origin=page_url) == ([415, 0, 200, 0, 0], 3)
        assert await reported(page, origin="http://good.example") == (["failed", 0, "failed", 0, 0], 0)


async def reported(page: Page, *, origin: str) -> tuple[list[object], int]:
    """Let a page report in every way to a gateway that names an origin; return what it sees, and what has come."""
    collection = collection_of()
    with kafka_in_memory(collection) as kafka:
        door = Door(limiter=Limiter(rate=1_000, burst=1_000), origins=frozenset({origin}))
        source = Source(collection=collection, text="")
        served = Gateway([source], settings=kafka.settings, door=door, now_ms=kafka.clock)
        async with listening(served) as url:
            place = f"{url}/v1/collections/care-survey/batches"
            found = await page.evaluate(REPORT, [place, list(batch(time_ms=kafka.clock()))])
        return found, kafka.reports("care-survey")
