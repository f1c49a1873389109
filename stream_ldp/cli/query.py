"""This command takes answers home: as text, or as a file of CSV, JSON or Parquet."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stream_ldp.cli.arguments import CollectionOrName, EstimateNames, Since, time_option
from stream_ldp.cli.echo import echo, echo_problem
from stream_ldp.cli.failure import fail
from stream_ldp.cli.named import collection_or_name, read_as, require_series
from stream_ldp.cli.options import CLIENT, with_settings
from stream_ldp.cli.table_output import Form, Level, Output, TableFormat, form_of, write_table
from stream_ldp.client.answers import fetch_answers
from stream_ldp.client.table import differences_of, table_of
from stream_ldp.errors import ParameterError
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.cells import LEVEL, normal_quantile
from stream_ldp.pipeline.selection import Selection

if TYPE_CHECKING:
    from stream_ldp.client.answers import Answers

#: Endings of the names of pictures that `--plot` draws.
_PICTURES = (".svg", ".png", ".pdf")


@with_settings(CLIENT)
async def query(
    collection: CollectionOrName,
    *,
    estimate: EstimateNames = None,
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
            help="Attributes to condition on: a distribution of --of for each of their values.",
            show_default=False,
        ),
    ] = None,
    between: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]LOW,HIGH",
            help="Two numbers: the share of users between them, and their mean, for attributes with a range. With "
            "names, as often as there are numbers: the share of users of whom all are between theirs.",
            show_default=False,
        ),
    ] = None,
    difference: Annotated[
        bool,
        typer.Option(
            "--difference",
            help="Take the difference of the last window from the first one taken, or from the one before.",
        ),
    ] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Take all final answers that the topic still has, not the last only.")
    ] = False,
    last: Annotated[
        int | None, typer.Option(min=1, help="Number of the newest answers to take.", show_default="1")
    ] = None,
    since: Since = None,
    until: Annotated[
        datetime | None,
        typer.Option(
            parser=time_option,
            metavar="TIME",
            help="Take all answers of windows that end then or earlier.",
            show_default=False,
        ),
    ] = None,
    everything_known: Annotated[
        bool,
        typer.Option("--all", help="Print every point of a distribution, and not a few bins of it."),
    ] = False,
    provisional: Annotated[
        bool, typer.Option("--provisional", help="Take provisional answers of open windows as well.")
    ] = False,
    level: Level = LEVEL,
    form: Form = None,
    output: Output = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="File to draw the numbers in instead, with their intervals: .svg, .png or .pdf.",
            show_default=False,
            dir_okay=False,
        ),
    ] = None,
    settings: Settings,
) -> None:
    """Take the last final answers, or all that the topic still has, and exit.

    There is a row for each number: its window, what it is about, the estimate, its standard error, and the interval
    that holds the true number with the probability --level. Text has the digits that an error allows, and the labels
    of values; the other forms have all digits, and the values themselves. For a collection of item sets, the final
    answer is the result of an epoch.

    Of a number with a range, text has the shares of a few round bins; --all and the other forms have every point.

    In CSV, text that a spreadsheet would evaluate has an apostrophe before it, and so has text that begins with one.

    --between 20,40 asks for the share of users from 20 to 40, and for their mean, with errors. --between age=20,40
    --between hours=35,45 asks for the share of users with both, and --of sex beside it for that of each sex.

    --difference says of each number how much more it is in the last window, with an interval, and the chance of
    such a difference where nothing has changed. It needs windows that have no reports in common and do not learn from
    each other. Where users return with permanent noise, differences are more certain than it says.

    The errors of cells that --of and --given sum over go together as an answer says; where one does not say it, their
    standard error is an upper bound.
    """
    normal_quantile(level)
    form = form_of(form, output)
    if given is not None and of is None:
        fail("--given needs --of: the attributes whose distribution is wanted", code=2)
    try:
        ranges = Selection.parse(between or ())
    except ParameterError as error:
        fail(f"--between {error}", code=2)
    if between and (given is not None or plot is not None):
        fail("--between goes with --of, and without --given and --plot", code=2)
    if difference and plot is not None:
        fail("--difference is a table: leave --plot out", code=2)
    known = collection_or_name(collection)
    require_series(known, estimate)
    everything = history or since is not None or until is not None
    answers = await fetch_answers(
        known,
        settings=settings,
        series=estimate,
        provisional=provisional,
        last=last if last is not None or everything else 1 + difference,
        since=since,
        until=until,
        on_unreadable=echo_problem,
    )
    title, labels = await read_as(known, settings=settings, series=estimate)
    if not answers:
        fail(_nothing(collection, estimate, provisional=provisional, limited=since is not None or until is not None))
    if plot is not None:
        answers = answers.labelled(labels)
        _draw(answers, plot, level=level, of=of, given=given)
        return
    names = [each.split(",") if each else [] for each in (of, given)]
    selection = replace(ranges, of=names[0], given=names[1])
    brief = form is TableFormat.TEXT and not everything_known and not between
    if form is TableFormat.TEXT:
        answers = answers.labelled(labels)
    if difference:
        table = differences_of(answers, selection=selection, level=level)
    else:
        table = table_of(answers, selection=selection, level=level, brief=brief)
    if form is TableFormat.TEXT and title is not None:
        echo(f"title: {title}")
    write_table(table, form, output)


def _draw(answers: Answers, file: Path, *, level: float, of: str | None, given: str | None) -> None:
    """Draw the answers in a file, or end the command if its name has no ending of a picture."""
    if file.suffix not in _PICTURES:
        fail(f"--plot {file}: its name ends in none of {', '.join(_PICTURES)}", code=2)
    figure = answers.plot(level=level, of=of.split(",") if of else (), given=given.split(",") if given else ())
    try:
        figure.savefig(file)
    except OSError as error:
        fail(f"{file}: cannot be written: {error.strerror}")


def _nothing(collection: str, series: list[str] | None, *, provisional: bool, limited: bool) -> str:
    what = f" of {' or '.join(series)}" if series else ""
    final = "" if provisional else "final "
    hint = "" if provisional else "\n  -> the answers of open windows: --provisional"
    return f"{collection}: its topic has no {final}answer{what}{' of that time' if limited else ''} yet{hint}"
