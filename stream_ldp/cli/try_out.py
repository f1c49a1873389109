"""This command tries a collection on this machine alone: Kafka in memory, a worker, users, and the page."""

from __future__ import annotations

import asyncio
import logging
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.live import Live

from stream_ldp.cli.demo.survey import SURVEY, survey_records
from stream_ldp.cli.displays.display import Display
from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import fail
from stream_ldp.cli.init import about, drafted_of, warn
from stream_ldp.cli.inputs.guess import guess
from stream_ldp.cli.inputs.population import load_population, sample
from stream_ldp.cli.one_report import one_report
from stream_ldp.cli.running import run_client, until_signal
from stream_ldp.cli.simulation.truth import TruthTally
from stream_ldp.client.reporter import Reporter, now_ms
from stream_ldp.collection.records import CollectionOfRecords, Missing
from stream_ldp.http.hosts import Hosts
from stream_ldp.kinds import kind_of, load_collection, load_solver
from stream_ldp.ledger.terms import DEFAULT_BUDGET
from stream_ldp.mechanisms import OSEntropy
from stream_ldp.page.history import History
from stream_ldp.page.server import PageServer
from stream_ldp.testing import KafkaInMemory, kafka_in_memory

#: Seconds of this clock in which a window passes.
_PACE_SECONDS = 2.0


def try_out(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]",
            help="CSV file whose rows are the users; without it, the survey of the demo.",
            show_default=False,
            dir_okay=False,
        ),
    ] = None,
    *,
    collection: Annotated[
        Path | None,
        typer.Option(help="Collection file to try.", show_default="what init guesses from DATA", dir_okay=False),
    ] = None,
    of: Annotated[
        str | None, typer.Option(metavar="COLUMN,...", help="Columns to ask about.", show_default="all that can be")
    ] = None,
    epsilon: Annotated[
        float, typer.Option(min=0.0, help="Epsilon, in nats, where the collection is guessed.")
    ] = DEFAULT_BUDGET,
    users: Annotated[int, typer.Option(min=1, help="Number of users who report in a window.")] = 10_000,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0, help="Seconds from the first answer on after which it ends.", show_default="until Ctrl-C"
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of the page; 0 for any free one.")] = 0,
) -> None:
    """Show answers within seconds, without a broker, and keep nothing.

    Users are drawn from the rows of DATA, and report through the client that applications use. What they report goes
    to a worker by way of a Kafka in memory. The true numbers, which only this simulation has, are shown beside the
    answers. A window passes in two seconds, however long it is.
    """
    # The screen belongs to the answers.
    logging.disable(logging.WARNING)
    console = Console(highlight=False)
    trial = _trial(data, collection, of=of, epsilon=epsilon, users=users)
    run_client(until_signal(trial.run(console, users=users, seconds=seconds, port=port)))


def _trial(data: Path | None, file: Path | None, *, of: str | None, epsilon: float, users: int) -> _Trial:
    """Load the collection and its population, or end the command."""
    if data is None:
        if file is not None:
            fail("--collection needs DATA, whose rows are its users", code=2)
        survey = load_collection(SURVEY)
        return _Trial(collection=survey, population=survey_records())
    if file is not None:
        known: Any = load_collection(file)
        if kind_of(known).rounds is not None:
            fail(f"{file}: try is for collections of records; `stream-ldp simulate` plays others", code=2)
    else:
        echo(f"Reading {data} ...", err=True)
        found = guess(data)
        warn(found)
        drafted = drafted_of(found, data, name=None, of=of, epsilon=epsilon, window="60s", users=users).collection
        known = cast("CollectionOfRecords", drafted)
        echo(f"{about(found)}; `stream-ldp init {data}` writes the collection file.", err=True)
    encoded = load_population(data, known, missing=Missing.SKIP)
    return _Trial(collection=known, population=encoded.table)


@dataclass(frozen=True, kw_only=True)
class _Trial:
    """A collection of records and the users who report to it."""

    collection: Any
    population: NDArray[Any]

    async def run(self, console: Console, *, users: int, seconds: float | None, port: int) -> None:
        """Let windows pass until Ctrl-C, or for so many seconds from the first answer on."""
        lines = await asyncio.to_thread(one_report, self.collection, self.population[0])
        history = History.of([self.collection], one_report=lines)
        planned = {self.collection.name: self.collection}
        server = PageServer(history, collections=planned, host="127.0.0.1", port=port, hosts=Hosts())
        await server.start()
        try:
            echo(f"Page: {server.url}", *lines)
            await asyncio.to_thread(load_solver, self.collection)
            with kafka_in_memory(self.collection, now_ms=now_ms()) as kafka:
                await self._play(kafka, server, console, users=users, seconds=seconds)
        finally:
            await server.stop()

    async def _play(
        self, kafka: KafkaInMemory, server: PageServer, console: Console, *, users: int, seconds: float | None
    ) -> None:
        loop, generator = asyncio.get_running_loop(), np.random.default_rng()
        tally = TruthTally(self.collection, self.population)
        display: Display[Any] = Display(
            lambda answer: tally.truth().of(answer), labels=self.collection.labels, title=self.collection.title
        )
        end = None
        live = Live(console=console, refresh_per_second=4) if console.is_terminal else None
        async with Reporter(
            self.collection, settings=kafka.settings, entropy=OSEntropy(), clock=kafka.clock
        ) as reporter:
            with live or nullcontext():
                while end is None or loop.time() < end:
                    due = loop.time() + _PACE_SECONDS
                    people = sample(self.population, users, generator)
                    tally.add(people, time_ms=kafka.clock())
                    await reporter.report_many(people, secrets=None)
                    for answer in await asyncio.to_thread(kafka.close_windows):
                        display.add(answer)
                        server.show(answer)
                        if live is None:
                            echo(display.line(answer))
                        if end is None and seconds is not None:
                            end = loop.time() + seconds
                    if live is not None:
                        live.update(display.screen(console))
                    await asyncio.sleep(max(0.0, min(due, end or due) - loop.time()))
