"""This command shows estimates and rankings as they come."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from stream_ldp.cli.arguments import CollectionOrName, EstimateNames, Since, milliseconds
from stream_ldp.cli.displays.display import Display
from stream_ldp.cli.echo import echo, echo_json, echo_problem
from stream_ldp.cli.named import collection_or_name, read_as, require_series
from stream_ldp.cli.options import CLIENT, with_settings
from stream_ldp.cli.simulation.truth import truth_in
from stream_ldp.client.subscriber import Subscriber, published_kind, readable
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import kind_of
from stream_ldp.pipeline.answer import Status
from stream_ldp.printable import printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from stream_ldp.pipeline.answer import Answer, AnswerT


@with_settings(CLIENT)
async def watch(
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
        typer.Option(
            "--json",
            help="Print each answer as a line of JSON; with --truth, with the true number of each cell by its names.",
        ),
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

    Answers of open windows are on a topic of their own, since they reveal more of each user: who may read final
    answers alone has --finals.
    """
    known = collection_or_name(collection)
    require_series(known, estimate)
    name = known if isinstance(known, str) else known.name
    kind = await published_kind(known, settings=settings) if isinstance(known, str) else kind_of(known)
    title, labels = await read_as(known, settings=settings, series=estimate)
    display: Display[Answer] = Display(partial(truth_in, truth), rows=cells, labels=labels, title=title)
    subscriber = partial(
        Subscriber,
        known,
        kind.answer,
        settings=settings,
        series=estimate,
        finals_only=finals,
        provisional=not finals,
    )
    answers = _answers(display, subscriber, once=once, since_ms=milliseconds(since))
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
            echo(display.line(answer))
    elif once:
        async for answer in answers:
            console.print(display.panel(answer))
    else:
        with Live(Text(f"Waiting for answers of {name} ..."), console=console) as live:
            async for answer in answers:
                if answer.status is Status.ANSWERED:
                    live.update(display.screen(console))
                else:
                    console.print(printable(display.line(answer)), markup=False)


async def _answers(
    display: Display[AnswerT],
    subscriber: Callable[..., Subscriber[AnswerT]],
    *,
    once: bool,
    since_ms: int | None,
) -> AsyncIterator[AnswerT]:
    """Yield the newest answers that exist, or all since a time, and then each new one, once the display has it.

    New messages that nobody reported are yielded as well, and are not for the display.

    since_ms: earliest start of an answer's window, in milliseconds since 1970-01-01 UTC; None for the newest answers.
    """

    def is_recent(answer: AnswerT) -> bool:
        return since_ms is None or answer.window.start_ms >= since_ms

    # Opened before the history is read, so that nothing falls between the two.
    async with subscriber(silences=not once) as news:
        async with subscriber(from_beginning=True, follow=False) as history:
            past = [answer async for answer in readable(history, on_unreadable=echo_problem) if is_recent(answer)]
        for answer in past:
            display.add(answer)
        known = display.newest()
        for answer in known if since_ms is None else _current(past):
            yield answer
        if once and known:
            return
        if once:
            echo("no answer yet: waiting for the first", err=True)
        async for answer in readable(news, on_unreadable=echo_problem):
            if not is_recent(answer):
                continue
            if answer.status is Status.NO_REPORTS:
                yield answer
            elif answer not in known:
                display.add(answer)
                yield answer
                if once:
                    return


def _current(answers: Iterable[AnswerT]) -> list[AnswerT]:
    """Return the answers without the provisional ones that another of their window has replaced."""
    newest = {(answer.fingerprint, answer.series, answer.window.start_ms): answer for answer in answers}
    return sorted(newest.values(), key=lambda each: each.window.start_ms)
