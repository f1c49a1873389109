"""This command takes answers home: as text, or as a file of CSV, JSON or Parquet."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stream_ldp.cli.failure import fail
from stream_ldp.cli.named import collection_or_name, require_series
from stream_ldp.cli.options import CLIENT, time_option, with_settings
from stream_ldp.cli.running import run_client
from stream_ldp.cli.views.table_text import print_table
from stream_ldp.client.answers import fetch_answers
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.cells import LEVEL, normal_quantile

if TYPE_CHECKING:
    from stream_ldp.client.answers import Answers
    from stream_ldp.client.table import Table

__all__ = ["TableFormat", "form_of", "query", "write_table"]


class TableFormat(StrEnum):
    """The form in which a table is written."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


@with_settings(CLIENT)
def query(
    collection: Annotated[str, typer.Argument(metavar="COLLECTION", help="Collection file, or a collection's name.")],
    *,
    estimate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Estimate to take, by its name in the collection file; give it again for more.",
            show_default="all",
        ),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Attributes whose marginal distribution is wanted.",
            show_default="all that the answers say",
        ),
    ] = None,
    given: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Attributes for each of whose values the distribution of --of is wanted.",
            show_default=False,
        ),
    ] = None,
    history: Annotated[
        bool, typer.Option("--history", help="Take all final answers that the topic still has, not the last only.")
    ] = False,
    last: Annotated[
        int | None, typer.Option(min=1, help="Number of the newest answers to take.", show_default="1")
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            parser=time_option,
            metavar="TIME",
            help="Take all answers of windows that begin then or later, ISO 8601; UTC without a zone.",
            show_default=False,
        ),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(
            parser=time_option,
            metavar="TIME",
            help="Take all answers of windows that end then or earlier.",
            show_default=False,
        ),
    ] = None,
    provisional: Annotated[
        bool, typer.Option("--provisional", help="Take provisional answers of open windows as well.")
    ] = False,
    level: Annotated[float, typer.Option(help="Probability with which an interval holds the true number.")] = LEVEL,
    form: Annotated[
        TableFormat | None,
        typer.Option("--format", help="Form of the table.", show_default="that of OUTPUT's name, otherwise text"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write.", show_default="standard output", dir_okay=False),
    ] = None,
    settings: Settings,
) -> None:
    """Take the last final answers, or all that the topic still has, and exit.

    There is a row for each number: its window, what it is about, the estimate, its standard error, and the interval
    that holds the true number with the probability --level. Text has the digits that an error allows; the other forms
    have all of them. For a collection of item sets, the final answer is the result of an epoch.

    What --of and --given sum over has errors that depend on each other, so their standard error is an upper bound.
    """
    normal_quantile(level)
    form = form_of(form, output)
    if given is not None and of is None:
        fail("--given needs --of: the attributes whose distribution is wanted", code=2)
    known = collection_or_name(collection)
    require_series(known, estimate)
    everything = history or since is not None or until is not None

    async def take() -> None:
        answers = await fetch_answers(
            known,
            settings=settings,
            series=estimate,
            finals_only=not provisional,
            last=last if last is not None or everything else 1,
            since=since,
            until=until,
            on_unreadable=lambda error: typer.echo(str(error), err=True),
        )
        if not answers:
            fail(
                _nothing(
                    collection, estimate, provisional=provisional, limited=since is not None or until is not None
                )
            )
        write_table(_table(answers, level=level, of=of, given=given), form, output)

    run_client(take())


def form_of(form: TableFormat | None, output: Path | None) -> TableFormat:
    """Return the form that was asked for, or that of a file's name, or end the command if there is none."""
    if form is None:
        if output is None:
            return TableFormat.TEXT
        try:
            form = TableFormat(output.suffix.removeprefix("."))
        except ValueError:
            fail(f"{output}: its name ends in none of .csv, .json, .parquet: say --format", code=2)
    if form is TableFormat.PARQUET and output is None:
        fail("Parquet is not text: say where to write it, by --output FILE.parquet", code=2)
    return form


def write_table(table: Table, form: TableFormat, output: Path | None) -> None:
    """Write a table to a file, or to standard output."""
    if form is TableFormat.TEXT and output is None:
        print_table(table)
        return
    try:
        if form is TableFormat.PARQUET and output is not None:
            table.to_parquet(output)
        else:
            text = table.to_json() if form is TableFormat.JSON else table.to_csv()
            if output is None:
                typer.echo(text, nl=False)
            else:
                output.write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"{output}: cannot be written: {error.strerror}")


def _table(answers: Answers, *, level: float, of: str | None, given: str | None) -> Table:
    return answers.table(level=level, of=of.split(",") if of else (), given=given.split(",") if given else ())


def _nothing(collection: str, series: list[str] | None, *, provisional: bool, limited: bool) -> str:
    what = f" of {' or '.join(series)}" if series else ""
    final = "" if provisional else "final "
    hint = "" if provisional else "\n  -> the answers of open windows: --provisional"
    return f"{collection}: its topic has no {final}answer{what}{' of that time' if limited else ''} yet{hint}"
