"""Run the demo: a broker, a worker, and every part's users and answers."""

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Annotated, Any, Protocol

import typer
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from stream_ldp.cli.demo.films import Films
from stream_ldp.cli.demo.survey import Survey, survey_records
from stream_ldp.cli.displays.display import Display
from stream_ldp.cli.echo import echo
from stream_ldp.cli.one_report import one_report
from stream_ldp.cli.running import run_client
from stream_ldp.client.subscriber import Subscriber
from stream_ldp.collection import Collection
from stream_ldp.kafka.embedded import MOCK_NOTICE, EmbeddedBroker, EmbeddedKafka, EmbeddedMock, MissingTool
from stream_ldp.kafka.producer import Producer
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import TopicSpec, topic_specs
from stream_ldp.pipeline.answer import AnswerT
from stream_ldp.service.metrics import Metrics
from stream_ldp.service.worker import Worker


class DemoPart(Protocol[AnswerT]):
    """A collection with its population."""

    @property
    def collection(self) -> Collection:
        """The collection."""
        ...

    @property
    def display(self) -> Display[AnswerT]:
        """The display that shows the answers, beside the truth."""
        ...

    def subscriber(self, settings: Settings) -> Subscriber[AnswerT]:
        """Return a subscriber to all answers, from the first on."""
        ...

    async def report(self, settings: Settings) -> None:
        """Let the users report, without end."""
        ...

    @property
    def status(self) -> str:
        """The number of reports so far, on one line."""
        ...

    def summary(self) -> str:
        """Say how many reports there were and how near the last result came to the truth, on one line."""
        ...


_PARTITIONS = 4
#: The status of a command that Ctrl-C ends before it has done anything, as shells have it.
_INTERRUPTED = 130
#: Number of users of the item collection for each user who reports to the survey in a second.
_USERS = 4
#: Columns of a terminal that has room for the panels of two collections, of about 90 each, side by side.
_WIDE = 185


def demo(
    *,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Seconds from the first answer on after which it ends, with a summary.",
            show_default="until Ctrl-C",
        ),
    ] = None,
    rate: Annotated[
        int,
        typer.Option(
            min=10,
            help="Number of simulated users who report to the survey in a second; four times as many have films.",
        ),
    ] = 5_000,
) -> None:
    """Start a broker and a worker on free ports of this machine, and leave nothing behind.

    One collection has records of two attributes: the Redbook survey on extramarital affairs.
    The other has item sets: the films that someone has seen.
    """
    # The screen belongs to the answers.
    logging.disable(logging.WARNING)
    console = Console(highlight=False)
    parts: list[DemoPart[Any]] = [Survey(rate=rate), Films(users=_USERS * rate)]
    with ExitStack() as stack:
        survey = parts[0].collection
        echo(
            f"Users report to the collections {' and '.join(part.collection.name for part in parts)}. One of them:",
            *one_report(survey, survey_records()[0]),
        )
        with _working(console, "Starting a broker ..."):
            broker = _broker(stack, console)
        settings = Settings.load(brokers=broker.bootstrap, topic_prefix="demo", admin_port=0)
        run_client(_Demo(parts, settings, console).run(broker, seconds=seconds))


def _broker(stack: ExitStack, console: Console) -> EmbeddedBroker:
    try:
        return stack.enter_context(EmbeddedKafka())
    except MissingTool as missing:
        console.print(f"{missing}\n{MOCK_NOTICE}", style="yellow")
        return stack.enter_context(EmbeddedMock())


@contextmanager
def _working(console: Console, what: str) -> Iterator[None]:
    """Say what is done meanwhile: on a terminal until it is done, in a pipe on a line."""
    if not console.is_terminal:
        echo(what)
    with console.status(what):
        yield


class _Alone(Producer):
    """What writes final answers on the mock cluster, whose transactions aiokafka cannot read: the only worker."""

    held = False

    async def take(self) -> None:
        """Connect."""
        await self.start()
        self.held = True


class _Demo:
    def __init__(self, parts: Sequence[DemoPart[Any]], settings: Settings, console: Console) -> None:
        self._parts = parts
        self._settings = settings
        self._console = console
        self._answered = asyncio.Event()

    async def run(self, broker: EmbeddedBroker, *, seconds: float | None) -> None:
        """Run the demo until Ctrl-C, or for so many seconds."""
        collections = [part.collection for part in self._parts]
        specs = topic_specs(
            collections,
            prefix=self._settings.topic_prefix,
            reports_partitions=_PARTITIONS,
            partials_partitions=self._settings.partials_partitions,
        )
        ending = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, ending.set)
        worker = Worker(
            self._settings,
            collections,
            metrics=Metrics(collection.name for collection in collections),
            writers=None if broker.has_transactions else lambda _: _Alone(self._settings),
        )
        try:
            with _working(self._console, "Starting a worker ..."):
                await self._until(ending.wait(), [self._start(worker, broker, specs)])
            if ending.is_set():
                raise typer.Exit(_INTERRUPTED)
            reports = [part.report(self._settings) for part in self._parts]
            works = [worker.wait(), *reports, self._show()]
            if seconds is not None:
                # A slow machine may need that long for its first window.
                works.append(self._over(seconds))
            await self._until(ending.wait(), works)
        finally:
            await worker.stop()
        for part in self._parts:
            echo(part.summary())

    async def _until(
        self,
        end: Coroutine[None, None, object],
        works: Sequence[Coroutine[None, None, None]],
    ) -> None:
        """Run the works until the end comes, or one of them is done or fails."""
        tasks = [asyncio.ensure_future(work) for work in (end, *works)]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finished = [task for task in tasks if task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in finished:
            task.result()

    async def _over(self, seconds: float) -> None:
        await self._answered.wait()
        await asyncio.sleep(seconds)

    async def _start(self, worker: Worker, broker: EmbeddedBroker, specs: tuple[TopicSpec, ...]) -> None:
        await broker.create_topics(specs, settings=self._settings)
        await worker.start()

    async def _show(self) -> None:
        """Show the answers as they come: redrawn on a terminal, otherwise the final ones, a line each."""
        if not self._console.is_terminal:
            await asyncio.gather(*(self._follow(part, self._print) for part in self._parts))
            return
        with Live(Text("Waiting for reports ..."), console=self._console, refresh_per_second=4) as live:
            await asyncio.gather(
                *(self._follow(part, lambda *_: live.update(self._screen())) for part in self._parts)
            )

    async def _follow(self, part: DemoPart[Any], show: Callable[[DemoPart[Any], Any], None]) -> None:
        async with part.subscriber(self._settings) as answers:
            async for answer in answers:
                part.display.add(answer)
                if answer.final:
                    self._answered.set()
                show(part, answer)

    def _print(self, part: DemoPart[Any], answer: Any) -> None:
        if answer.final:
            echo(part.display.line(answer))

    def _screen(self) -> RenderableType:
        statuses = Text("\n".join([*(part.status for part in self._parts), "Ctrl-C ends the demo."]))
        if self._console.width >= _WIDE:
            return Group(Columns([part.display.screen(self._console) for part in self._parts]), statuses)
        # There is no room for the open windows of both.
        newest = [part.display.panel(each) for part in self._parts for each in part.display.newest()[:1]]
        return Group(*newest, statuses)
