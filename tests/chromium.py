"""Start Debian's Chromium, in which tests run scripts and look at pages."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from playwright.async_api import Browser, async_playwright

_PROGRAM = shutil.which("chromium")

#: Skips a test where there is none.
needs_chromium = pytest.mark.skipif(_PROGRAM is None, reason="this runs in a browser: Debian's chromium")


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Start a browser, which takes more than a second of a core, and end it."""
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=_PROGRAM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        await started.close()


def empty_site() -> web.Application:
    """Make a site of one page, with nothing on it."""

    async def empty(_: web.Request) -> web.Response:
        return web.Response(text="<!doctype html><link rel=icon href=data:,>", content_type="text/html")

    site = web.Application()
    site.router.add_get("/", empty)
    return site
