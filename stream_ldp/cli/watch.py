"""This command shows estimates and rankings as they come."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from stream_ldp.cli.arguments import CollectionOrName, EstimateNames, Since, milliseconds
from stream_ldp.cli.displays.silence import message_line, silence_line
from stream_ldp.cli.echo import echo, echo_json
from stream_ldp.cli.kinds import FACES, face_of
from stream_ldp.cli.named import collection_or_name, require_series
from stream_ldp.cli.options import CLIENT, with_settings
from stream_ldp.cli.running import run_client
from stream_ldp.client import UnreadableAnswer
from stream_ldp.client.answers import published_kind
from stream_ldp.client.registration import require_registered
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.answer import Status
from stream_ldp.printable import printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterable

    from stream_ldp.cli.displays.display import Display
    from stream_ldp.cli.kinds import Face
    from stream_ldp.client.answer_subscriber import AnswerSubscriber
    from stream_ldp.pipeline.answer import Answer, AnswerT

__all__ = ["watch"]


@with_settings(CLIENT)
def watch(
    collection: CollectionOrName,
    *,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="File written by simulate --truth, whose truth is shown beside the answers.", dir_okay=False
        ),
    ] = None,
    estimate: EstimateNames = None,
    since: Since = None,
    finals: Annotated[
        bool,
        typer.Option("--finals", help="Leave out answers of open windows, and of the earlier phases of an epoch."),
    ] = False,
    once: Annotated[
        bool, typer.Option("--once", help="Show the newest answers and exit; wait if there are none yet.")
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print each answer as a line of JSON, including its truth with --truth."),
    ] = False,
    cells: Annotated[
        int, typer.Option(min=1, help="Number of most probable cells, or best items, to show of each answer.")
    ] = 12,
    settings: Settings,
) -> None:
    """Print the newest answers that exist, and then each new one.

    For a collection of records, these are joint distributions; for a collection of item sets, the ranking of the last
    epoch and that of the epoch which is under way. On a terminal they are redrawn in place, as many as
    fit; in a pipe each is a line.
    """
    known = collection_or_name(collection)
    require_series(known, estimate)
    name, face = (known, None) if isinstance(known, str) else (known.name, face_of(known))
    wanted = _Wanted(
        fingerprint=None if isinstance(known, str) else known.fingerprint.hex(),
        series=estimate,
        since_ms=milliseconds(since),
        finals=finals,
    )

    async def run() -> None:
        if not isinstance(known, str):
            await require_registered(known, settings=settings)
        await _watch(name, settings, truth=truth, cells=cells, once=once, as_json=as_json, face=face, wanted=wanted)

    run_client(run())


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wanted:
    """The answers that are wanted.

    fingerprint: that of their collection, in hexadecimal; None for any of the name.
    series: names of their series; None for all.
    since_ms: earliest start of their window; None for the newest, and those that come.
    finals: whether only those that no later one replaces.
    """

    fingerprint: str | None = None
    series: Collection[str] | None = None
    since_ms: int | None = None
    finals: bool = False

    def __contains__(self, answer: Answer) -> bool:
        return (
            self.fingerprint in (None, answer.fingerprint)
            and (self.series is None or answer.series in self.series)
            and (self.since_ms is None or answer.window.start_ms >= self.since_ms)
            and (not self.finals or answer.settled or answer.status is Status.NO_REPORTS)
        )


async def _watch(
    name: str,
    settings: Settings,
    *,
    truth: Path | None,
    cells: int,
    once: bool,
    as_json: bool,
    face: Face | None,
    wanted: _Wanted,
) -> None:
    face = face or FACES[(await published_kind(name, settings=settings)).name]
    display = face.display(truth, rows=cells)
    subscriber = partial(face.subscriber, name, settings=settings)
    answers = _answers(display, subscriber, once=once, wanted=wanted)
    await _show(name, display, answers, once=once, as_json=as_json)


async def _show(
    name: str, display: Display[AnswerT], answers: AsyncIterator[AnswerT], *, once: bool, as_json: bool
) -> None:
    console = Console()
    if as_json:
        async for answer in answers:
            echo_json(display.json(answer) if answer.status is Status.ANSWERED else answer.to_bytes().decode())
    elif not console.is_terminal:
        async for answer in answers:
            echo(message_line(answer, display))
    elif once:
        async for answer in answers:
            console.print(display.panel(answer))
    else:
        with Live(Text(f"Waiting for answers of {name} ..."), console=console) as live:
            async for answer in answers:
                if answer.status is Status.ANSWERED:
                    live.update(display.screen(console))
                else:
                    console.print(printable(silence_line(answer)), markup=False)


async def _answers(
    display: Display[AnswerT], subscriber: Callable[..., AnswerSubscriber[AnswerT]], *, once: bool, wanted: _Wanted
) -> AsyncIterator[AnswerT]:
    """Yield the newest answers that exist, or all since a time, and then each new one, once the display has it.

    New messages that nobody reported are yielded as well, and are not for the display.
    """
    # Opened before the history is read, so that nothing falls between the two.
    async with subscriber(silences=not once) as news:
        async with subscriber(from_beginning=True, follow=False) as history:
            past = [answer async for answer in _good(history) if answer in wanted]
        for answer in past:
            display.add(answer)
        known = display.newest()
        for answer in known if wanted.since_ms is None else _still_said(past):
            yield answer
        if once and known:
            return
        if once:
            echo("no answer yet: waiting for the first", err=True)
        async for answer in _good(news):
            if answer not in wanted:
                continue
            if answer.status is Status.NO_REPORTS:
                yield answer
            elif answer not in known:
                display.add(answer)
                yield answer
                if once:
                    return


def _still_said(answers: Iterable[AnswerT]) -> list[AnswerT]:
    """Return the answers without the provisional ones that another of their window has replaced."""
    newest = {(each.fingerprint, each.series, each.window.start_ms): each for each in answers}
    return sorted(newest.values(), key=lambda each: each.window.start_ms)


async def _good(subscriber: AnswerSubscriber[AnswerT]) -> AsyncIterator[AnswerT]:
    """Yield the answers, and print a line on standard error for each record that is not an answer."""
    while True:
        try:
            yield await anext(subscriber)
        except UnreadableAnswer as error:
            echo(str(error), err=True)
        except StopAsyncIteration:
            return
