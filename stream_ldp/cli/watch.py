"""This command shows estimates and rankings as they come."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from stream_ldp.cli.kinds import FACES, face_of
from stream_ldp.cli.named import collection_or_name
from stream_ldp.cli.options import CLIENT, with_settings
from stream_ldp.cli.running import run_client
from stream_ldp.cli.views.silence import silence_line
from stream_ldp.client import MissingTopic, UnreadableAnswer
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.answer import Status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from stream_ldp.cli.kinds import Face
    from stream_ldp.cli.views.view import View
    from stream_ldp.client.subscriber import AnswerSubscriber
    from stream_ldp.pipeline.answer import AnswerT

__all__ = ["watch"]


@with_settings(CLIENT)
def watch(
    collection: Annotated[str, typer.Argument(metavar="COLLECTION", help="Collection file, or a collection's name.")],
    *,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="File written by simulate --truth, whose truth is shown beside the answers.", dir_okay=False
        ),
    ] = None,
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
    epoch and that of the epoch which is under way. On a terminal they are redrawn in place; in a pipe each is a line.
    """
    known = collection_or_name(collection)
    name, face = (known, None) if isinstance(known, str) else (known.name, face_of(known))
    run_client(_watch(name, settings, truth=truth, cells=cells, once=once, as_json=as_json, face=face))


async def _watch(
    name: str,
    settings: Settings,
    *,
    truth: Path | None,
    cells: int,
    once: bool,
    as_json: bool,
    face: Face | None,
) -> None:
    face = face or await _published(name, settings)
    view = face.view(truth, rows=cells)
    await _show(name, view, partial(face.subscriber, name, settings=settings), once=once, as_json=as_json)


async def _published(name: str, settings: Settings) -> Face:
    """Find the kind of a named collection by its topics; the first kind if it has none, whose subscriber says so."""
    first, *others = FACES.values()
    for face in others:
        try:
            async with face.subscriber(name, settings=settings):
                return face
        except MissingTopic:
            continue
    return first


async def _show(
    name: str, view: View[AnswerT], subscriber: Callable[..., AnswerSubscriber[AnswerT]], *, once: bool, as_json: bool
) -> None:
    console = Console()
    answers = _answers(view, subscriber, once=once)
    if as_json:
        async for answer in answers:
            typer.echo(view.json(answer) if answer.status is Status.ANSWERED else answer.to_bytes().decode())
    elif not console.is_terminal:
        async for answer in answers:
            typer.echo(view.line(answer) if answer.status is Status.ANSWERED else silence_line(answer))
    elif once:
        async for answer in answers:
            console.print(view.panel(answer))
    else:
        with Live(Text(f"Waiting for answers of {name} ..."), console=console) as live:
            async for answer in answers:
                if answer.status is Status.ANSWERED:
                    live.update(view.screen())
                else:
                    console.print(silence_line(answer), markup=False)


async def _answers(
    view: View[AnswerT], subscriber: Callable[..., AnswerSubscriber[AnswerT]], *, once: bool
) -> AsyncIterator[AnswerT]:
    """Yield the newest answers that exist and then each new one, once the view has it.

    New messages that nobody reported are yielded as well, and are not for the view.
    """
    # Opened before the history is read, so that nothing falls between the two.
    async with subscriber(silences=not once) as news:
        async with subscriber(from_beginning=True, follow=False) as history:
            async for answer in _good(history):
                view.add(answer)
        known = view.newest()
        for answer in known:
            yield answer
        if once and known:
            return
        async for answer in _good(news):
            if answer.status is Status.NO_REPORTS:
                yield answer
            elif answer not in known:
                view.add(answer)
                yield answer
                if once:
                    return


async def _good(subscriber: AnswerSubscriber[AnswerT]) -> AsyncIterator[AnswerT]:
    """Yield the answers, and print a line on standard error for each record that is not an answer."""
    while True:
        try:
            yield await anext(subscriber)
        except UnreadableAnswer as error:
            typer.echo(str(error), err=True)
        except StopAsyncIteration:
            return
