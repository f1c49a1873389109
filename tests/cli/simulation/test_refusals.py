"""Whoever simulates in a hurry is told how many reports workers have refused, and why."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from stream_ldp.cli.simulation.refusals import refusals_shown
from stream_ldp.client.reporter import Reporter
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.testing import kafka_in_memory
from tests.client.examples import MINUTE_MS, collection_of
from tests.in_memory import START_MS

if TYPE_CHECKING:
    import pytest


def told(*, late_ms: int, capsys: pytest.CaptureFixture[str]) -> str:
    """Report 300 times for a window that is over or not, while somebody looks, and return what is said."""
    survey = collection_of()
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:

        async def report(at_ms: int) -> None:
            entropy = SeededEntropy(1)
            async with Reporter(survey, settings=kafka.settings, entropy=entropy, clock=lambda: at_ms) as reporter:
                await reporter.report_many([(0, 0)] * 300, secrets=None)

        async def play() -> None:
            await report(START_MS)
            await asyncio.to_thread(kafka.close_windows)
            async with refusals_shown(survey, kafka.settings):
                await report(kafka.clock() - late_ms)
                await asyncio.to_thread(kafka.close_windows)

        asyncio.run(play())
    return capsys.readouterr().err


def test_reports_that_come_too_late_are_counted_with_their_reason(capsys: pytest.CaptureFixture[str]) -> None:
    said = told(late_ms=3 * MINUTE_MS, capsys=capsys)
    assert said == (
        "workers have refused 300 reports of care-survey meanwhile: 300 late\n"
        "  -> see them: stream-ldp dead-letters list care-survey\n"
    )


def test_nothing_is_said_where_every_report_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(late_ms=0, capsys=capsys) == ""
