"""Tests of the gateway in a browser: what scripts of a page may do that nobody let in."""

from __future__ import annotations

import shutil

import pytest
from aiohttp import web
from playwright.async_api import async_playwright

from stream_ldp.gateway.limiter import Limiter
from stream_ldp.gateway.server import Door, Gateway, Source
from stream_ldp.testing import kafka_in_memory
from tests.client.examples import collection_of
from tests.gateway.test_server import batch
from tests.listening import listening

CHROMIUM = shutil.which("chromium")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="scripts run in a browser: Debian's chromium")

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


@pytest.mark.parametrize("named", [True, False])
async def test_only_a_page_that_is_named_reports(named: bool) -> None:
    collection = collection_of()
    site = web.Application()

    async def empty(_: web.Request) -> web.Response:
        return web.Response(text="<!doctype html><link rel=icon href=data:,>", content_type="text/html")

    site.router.add_get("/", empty)
    with kafka_in_memory(collection) as kafka:
        async with listening(site) as page_url, async_playwright() as playwright:
            origins = frozenset({page_url if named else "http://good.example"})
            door = Door(limiter=Limiter(rate=1_000, burst=1_000), origins=origins)
            source = Source(collection=collection, text="")
            served = Gateway([source], settings=kafka.settings, door=door, now_ms=kafka.clock)
            async with listening(served.application()) as url:
                browser = await playwright.chromium.launch(
                    executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
                )
                page = await browser.new_page()
                await page.goto(page_url)
                place = f"{url}/v1/collections/care-survey/batches"
                found = await page.evaluate(REPORT, [place, list(batch(time_ms=kafka.clock()))])
                await browser.close()
    # A page that is named reports with the type of a batch where it may see the answer, and in no other way. Where a
    # page may not see an answer, its status is 0.
    assert found == [415 if named else "failed", 0, 200 if named else "failed", 0, 0]
    assert kafka.reports("care-survey") == (3 if named else 0)
