"""`stream-ldp watch`: estimates and rankings as they come."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from stream_ldp.cli.failure import fail
from stream_ldp.cli.kinds import FACES, face_of
from stream_ldp.cli.options import CLIENT, load_collections, with_settings
from stream_ldp.cli.running import run_client
from stream_ldp.client import MissingTopic, UnreadableAnswer
from stream_ldp.kafka.settings import Settings

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
        typer.Option(help="Show the truth beside it, from the file that simulate --truth writes.", dir_okay=False),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Show the newest of each estimate and end; wait if there is none yet.")
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print each as a line of JSON; with --truth, with its truth and distance."),
    ] = False,
    cells: Annotated[int, typer.Option(min=1, help="Most probable cells, or best items, to show of each.")] = 12,
    settings: Settings,
) -> None:
    """Print the newest answers that there are, and then each that comes.

    Of records, these are joint distributions; of item sets, the ranking of the last epoch and that of the epoch
    which is under way. At a terminal they are redrawn in place; in a pipe each is a line.
    """
    name, face = _named(collection)
    run_client(_watch(name, settings, truth=truth, cells=cells, once=once, as_json=as_json, face=face))


def _named(collection: str) -> tuple[str, Face | None]:
    """The name of a collection, and what commands do with its kind, if that is said here."""
    if Path(collection).is_file():
        (known,) = load_collections([Path(collection)]).values()
        return known.name, face_of(known)
    if not collection.replace("-", "").replace("_", "").isalnum():
        fail(f"{collection}: there is no such file, and it is no collection's name")
    return collection, None


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
    """By the answers that there are of a name; the first kind where there are none, whose subscriber says so."""
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
            typer.echo(view.json(answer))
    elif not console.is_terminal:
        async for answer in answers:
            typer.echo(view.line(answer))
    elif once:
        async for answer in answers:
            console.print(view.panel(answer))
    else:
        with Live(Text(f"waiting for answers of {name}"), console=console) as live:
            async for _ in answers:
                live.update(view.screen())


async def _answers(
    view: View[AnswerT], subscriber: Callable[..., AnswerSubscriber[AnswerT]], *, once: bool
) -> AsyncIterator[AnswerT]:
    """The newest that there are and those that come, each once the view has it."""
    # Opened before the history is read, so that nothing falls between the two.
    async with subscriber() as news:
        async with subscriber(from_beginning=True, follow=False) as history:
            async for answer in _good(history):
                view.add(answer)
        known = view.newest()
        for answer in known:
            yield answer
        if once and known:
            return
        async for answer in _good(news):
            if answer not in known:
                view.add(answer)
                yield answer
                if once:
                    return


async def _good(subscriber: AnswerSubscriber[AnswerT]) -> AsyncIterator[AnswerT]:
    """What comes, with a word on standard error for each record that is no answer."""
    while True:
        try:
            yield await anext(subscriber)
        except UnreadableAnswer as error:
            typer.echo(str(error), err=True)
        except StopAsyncIteration:
            return
