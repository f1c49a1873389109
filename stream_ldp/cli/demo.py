"""`stream-ldp demo`: the whole road on this machine, with the truth beside the estimate."""

from __future__ import annotations

import asyncio
import functools
import logging
import signal
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from stream_ldp.cli._client import run_client
from stream_ldp.cli._estimate_view import EstimateView
from stream_ldp.cli._population import sample
from stream_ldp.cli._truth import Tally
from stream_ldp.cli.options import fail
from stream_ldp.client import Reporter, Subscriber
from stream_ldp.client.reporter import now_ms
from stream_ldp.embedded import MOCK_NOTICE, EmbeddedBrokerError, EmbeddedKafka, EmbeddedMock, MissingTool
from stream_ldp.joint_collection import JointCollection
from stream_ldp.service.cluster import Cluster
from stream_ldp.service.worker import Worker
from stream_ldp.settings import Settings
from stream_ldp.topics import topic_specs

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from numpy.typing import NDArray

    from stream_ldp.estimate import Estimate
    from stream_ldp.topics import TopicSpec

__all__ = ["demo"]

_COLLECTION = Path(__file__).with_suffix(".yaml")
_PARTITIONS = 4
_TICK_SECONDS = 0.1


def demo(
    *,
    seconds: Annotated[
        float | None, typer.Option(min=10, help="End after so long, with a summary.", show_default="until Ctrl-C")
    ] = None,
    rate: Annotated[int, typer.Option(min=10, help="Simulated users a second, one report each.")] = 5_000,
) -> None:
    """Watch a population of simulated users being estimated, beside the truth that only the simulation knows.

    Starts a broker and a worker on free ports of this machine and leaves nothing behind. The population is drawn from
    the Redbook survey on extramarital affairs, which statsmodels ships.
    """
    # The screen belongs to the estimates.
    logging.disable(logging.WARNING)
    console = Console(highlight=False)
    collection = JointCollection.load(_COLLECTION)
    population = _survey(collection)
    with ExitStack() as stack:
        try:
            with console.status("Starting a broker ..."):
                broker = _broker(stack, console)
        except EmbeddedBrokerError as error:
            fail(str(error))
        settings = Settings.load(brokers=broker.bootstrap, topic_prefix="demo", admin_port=0)
        run_client(_Demo(collection, population, settings, console).run(broker, seconds=seconds, rate=rate))


def _survey(collection: JointCollection) -> NDArray[np.int64]:
    """The survey's answers as value indices, shape (6366, 2)."""
    try:
        from statsmodels.datasets import fair  # noqa: PLC0415  an optional extra
    except ImportError:
        fail("the demo's survey comes with statsmodels: pip install 'stream-ldp[demo]'")
    table = fair.load_pandas().data
    rating = table["rate_marriage"].to_numpy().astype(np.int64) - 1
    affair = (table["affairs"].to_numpy() > 0).astype(np.int64)
    answers = np.stack([rating, affair], axis=1)
    if answers.min() < 0 or np.any(answers.max(axis=0) >= collection.sizes):
        fail("this release of statsmodels ships another survey than the demo expects")
    return answers


def _broker(stack: ExitStack, console: Console) -> EmbeddedKafka | EmbeddedMock:
    try:
        return stack.enter_context(EmbeddedKafka())
    except MissingTool as missing:
        console.print(f"{missing}\n{MOCK_NOTICE}", style="yellow")
        return stack.enter_context(EmbeddedMock())


class _Demo:
    def __init__(
        self, collection: JointCollection, population: NDArray[np.int64], settings: Settings, console: Console
    ) -> None:
        self._collection = collection
        self._population = population
        self._settings = settings
        self._console = console
        self._tally = Tally(collection, population)
        self._view = EstimateView(self._truth_of)
        self._sent = 0

    async def run(self, broker: EmbeddedKafka | EmbeddedMock, *, seconds: float | None, rate: int) -> None:
        """Work until Ctrl-C, or for so long."""
        specs = topic_specs(
            [self._collection],
            prefix=self._settings.topic_prefix,
            reports_partitions=_PARTITIONS,
            partials_partitions=self._settings.partials_partitions,
        )
        ending = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, ending.set)
        with self._console.status("Starting a worker ..."):
            await self._make_topics(broker, specs)
            worker = Worker(
                self._settings, [self._collection], partitions={each.name: each.partitions for each in specs}
            )
            await worker.start()
        try:
            await self._until(ending.wait(), [worker.wait(), self._report(rate), self._follow()], seconds=seconds)
        finally:
            await worker.stop()
        self._summarise()

    async def _until(
        self,
        end: Coroutine[None, None, object],
        parts: Sequence[Coroutine[None, None, None]],
        *,
        seconds: float | None,
    ) -> None:
        """Run the parts, which go on for ever, until the end comes or one of them fails."""
        tasks = [asyncio.ensure_future(part) for part in (end, *parts)]
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finished = [task for task in tasks if task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in finished:
            task.result()

    async def _make_topics(self, broker: EmbeddedKafka | EmbeddedMock, specs: tuple[TopicSpec, ...]) -> None:
        if isinstance(broker, EmbeddedMock):
            broker.touch([spec.name for spec in specs])
            return
        async with Cluster.connect(self._settings) as cluster:
            await cluster.create(specs, replication=1)

    async def _report(self, rate: int) -> None:
        """The population: at every tick some users answer, once each."""
        generator = np.random.default_rng()
        time_ms = now_ms()
        async with Reporter(self._collection, settings=self._settings, clock=lambda: time_ms) as reporter:
            due = time.monotonic()
            while True:
                time_ms = now_ms()
                people = sample(self._population, max(1, int(rate * _TICK_SECONDS)), generator)
                self._tally.add(people, time_ms=time_ms)
                await reporter.report_many(people, secrets=None)
                self._sent = reporter.acknowledged
                due += _TICK_SECONDS
                await asyncio.sleep(due - time.monotonic())

    async def _follow(self) -> None:
        """The estimates as they come: redrawn at a terminal, otherwise the final ones, a line each."""
        name = self._collection.name
        async with Subscriber(name, settings=self._settings, from_beginning=True) as estimates:
            if not self._console.is_terminal:
                async for estimate in estimates:
                    self._view.add(estimate)
                    if estimate.final:
                        typer.echo(self._view.line(estimate))
                return
            with Live(Text("waiting for reports"), console=self._console, refresh_per_second=4) as live:
                async for estimate in estimates:
                    self._view.add(estimate)
                    live.update(
                        Group(self._view.screen(), Text(f"{self._sent:,} users have reported. Ctrl-C ends it."))
                    )

    def _truth_of(self, estimate: Estimate) -> NDArray[np.float64] | None:
        return self._tally.truth().of(estimate)

    def _summarise(self) -> None:
        """One line: what there was, and how near the last estimate came."""
        known = self._view.newest()
        if not known:
            fail("no estimate came in that time")
        last, truth = known[0], self._truth_of(known[0])
        if truth is None:
            fail("an estimate came that the simulation knows no truth of")
        product = functools.reduce(np.multiply.outer, map(np.array, last.independence.marginals))
        independence = 0.5 * float(np.abs(product - truth).sum())
        kind = "final" if last.final else "provisional"
        typer.echo(
            f"{self._sent:,} users reported; distance of the last {kind} estimate, of {last.reports:,} reports, "
            f"to the truth: {last.distance(truth):.4f} (taken for independent: {independence:.4f})"
        )
