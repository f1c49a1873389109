"""This module runs `stream-ldp report` for an item collection: one user reports for as long as they like."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.item_sets import items_of
from stream_ldp.cli.inputs.records import Format, lines_of
from stream_ldp.cli.running import run_client, spent_line, until_signal
from stream_ldp.client.item_reporter import ItemReporter
from stream_ldp.client.sender import now_ms
from stream_ldp.errors import DataError
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.privacy.ledger.terms import ReportRefused
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from stream_ldp.cli.report_options import ReportOptions
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.rounds import Round

__all__ = ["report_items"]


def report_items(collection: ItemCollection, options: ReportOptions) -> None:
    """Report on the set of the last line of a file that has come."""
    if options.many_users or options.skip_bad or options.form is not Format.AUTO:
        fail(
            "--many-users, --skip-bad and --format are for collections of records: here one user reports; for many "
            "users, use stream-ldp simulate",
            code=2,
        )
    memoises = any(phase.memoised for phase in collection.method.phases)
    if not memoises and not options.given.keys().isdisjoint({"assumption", "max_values"}):
        fail(
            "--assume is for collections whose reports show permanent noise: here every report has noise of its own, "
            "and nothing is assumed of the set",
            code=2,
        )
    secret, ledger = options.user()

    def show(asked: Round) -> None:
        phase = collection.method.phases[asked.phase - 1]
        most = "at most " if phase.memoised else ""
        echo(f"epoch {asked.epoch} phase {asked.phase}: reported, for {most}{shown_epsilon(phase.epsilon)} nats")

    reporter = ItemReporter(collection, settings=options.settings, secret=secret, ledger=ledger, on_report=show)
    sets = _read(options.path)
    problem = None
    try:
        run_client(until_signal(_report(reporter, sets, seconds=_seconds(collection, options.epochs))))
    except (ReportRefused, OSError, DataError) as error:
        problem = str(error)
    echo(f"{quantity(reporter.acknowledged, 'report')} of one user published")
    echo(spent_line(ledger))
    if problem is not None:
        fail(problem)


def _seconds(collection: ItemCollection, epochs: int | None) -> float | None:
    """Return the seconds to the end of so many epochs, including the one in progress; None without an end."""
    if epochs is None:
        return None
    schedule, now = collection.schedule, now_ms()
    last = now // schedule.size_ms // schedule.stride + epochs - 1
    return (schedule.window_of(last, schedule.phases) + schedule.size_ms - now) / 1_000


async def _read(path: Path) -> AsyncGenerator[list[str], None]:
    """Yield the set of each line as it comes."""
    source = "standard input" if str(path) == "-" else str(path)
    number = 0
    async with aclosing(lines_of(path)) as chunks:
        async for lines in chunks:
            for line in lines:
                number += 1
                try:
                    yield items_of(line.decode("utf-8-sig"))
                except UnicodeDecodeError:
                    raise DataError(f"{source}:{number}: not UTF-8") from None
                except DataError as error:
                    raise DataError(f"{source}:{number}: {error}") from None


async def _report(reporter: ItemReporter, sets: AsyncGenerator[list[str], None], *, seconds: float | None) -> None:
    async def hold_each() -> None:
        async with aclosing(sets):
            async for items in sets:
                await reporter.hold(items)

    async with reporter:
        tasks = [asyncio.create_task(hold_each()), asyncio.create_task(reporter.stopped())]
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
