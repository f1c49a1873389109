"""`stream-ldp watch`: estimates as they come."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from stream_ldp.cli._client import run_client
from stream_ldp.cli._render import panel, plain_line
from stream_ldp.cli._truth import Truth, TruthError
from stream_ldp.cli.options import CLIENT, fail, load_collections, with_settings
from stream_ldp.client import NotAnEstimate, Subscriber
from stream_ldp.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.estimate import Estimate

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
    cells: Annotated[int, typer.Option(min=1, help="Most probable cells to show of each.")] = 12,
    settings: Settings,
) -> None:
    """Show the estimates of a collection as they come: the final one of the last window and the open one.

    At a terminal they are redrawn in place; in a pipe each is a line. Begins with the newest that there are.
    """
    name = _name_of(collection)
    truth_of = functools.partial(_truth_of, truth)
    console = Console()

    def run(show: Callable[[Estimate], None]) -> None:
        run_client(_watch(name, settings, show, once=once))

    if as_json:
        run(lambda estimate: typer.echo(_json(estimate, truth_of(estimate))))
    elif not console.is_terminal:
        run(lambda estimate: typer.echo(plain_line(estimate, truth=truth_of(estimate))))
    elif once:
        run(lambda estimate: console.print(panel(estimate, truth=truth_of(estimate), cells=cells)))
    else:
        with Live(Text(f"waiting for estimates of {name}"), console=console) as live:
            run(screen(live, truth_of, cells))


def _name_of(collection: str) -> str:
    if Path(collection).is_file():
        return load_collections([Path(collection)])[collection].name
    if not collection.replace("-", "").replace("_", "").isalnum():
        fail(f"{collection}: there is no such file, and it is no collection's name")
    return collection


async def _watch(name: str, settings: Settings, show: Callable[[Estimate], None], *, once: bool) -> None:
    newest = Newest()
    # Opened before the history is read, so that nothing falls between the two.
    async with Subscriber(name, settings=settings) as news:
        async with Subscriber(name, settings=settings, from_beginning=True, follow=False) as history:
            async for estimate in _good(history):
                newest.add(estimate)
        known = newest.estimates()
        for estimate in known:
            show(estimate)
        if once and known:
            return
        async for estimate in _good(news):
            if estimate not in known:
                show(estimate)
                if once:
                    return


async def _good(subscriber: Subscriber) -> AsyncIterator[Estimate]:
    """What comes, with a word on standard error for each record that is no estimate."""
    while True:
        try:
            yield await anext(subscriber)
        except NotAnEstimate as error:
            typer.echo(str(error), err=True)
        except StopAsyncIteration:
            return


class Newest:
    """Of each estimate the last final one, and the provisional one of the window that is open after it."""

    def __init__(self) -> None:
        self._finals: dict[str, Estimate] = {}
        self._open: dict[str, Estimate] = {}

    def add(self, estimate: Estimate) -> None:
        """Take the next estimate of the topic."""
        (self._finals if estimate.final else self._open)[estimate.estimate] = estimate

    def estimates(self) -> list[Estimate]:
        """By name, final before provisional."""
        found = []
        for name in sorted({*self._finals, *self._open}):
            final, provisional = self._finals.get(name), self._open.get(name)
            if final is not None:
                found.append(final)
            if provisional is not None and (final is None or provisional.window.start_ms > final.window.start_ms):
                found.append(provisional)
        return found


def screen(
    live: Live, truth_of: Callable[[Estimate], NDArray[np.float64] | None], cells: int
) -> Callable[[Estimate], None]:
    """Shows an estimate by drawing the newest of each anew, with at most so many cells."""
    newest = Newest()

    def show(estimate: Estimate) -> None:
        newest.add(estimate)
        live.update(Group(*(panel(each, truth=truth_of(each), cells=cells) for each in newest.estimates())))

    return show


def _json(estimate: Estimate, truth: NDArray[np.float64] | None) -> str:
    message = estimate.model_dump(mode="json")
    if truth is not None:
        message |= {"truth": truth.tolist(), "distance": estimate.distance(truth)}
    return json.dumps(message, ensure_ascii=False)


def _truth_of(file: Path | None, estimate: Estimate) -> NDArray[np.float64] | None:
    """The joint to hold an estimate against, None while there is no file; read anew, as a simulation goes on."""
    if file is None or not file.exists():
        return None
    try:
        return Truth.load(file).of(estimate)
    except TruthError as error:
        fail(str(error))
