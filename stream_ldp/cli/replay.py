"""This command answers a window again from the log of reports: to check an answer, or to ask something else."""

from typing import Annotated

import typer

from stream_ldp.cli.arguments import CollectionOrName, EstimateNames, WindowStart, milliseconds
from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import UNANSWERABLE, fail
from stream_ldp.cli.named import named_collections, require_series
from stream_ldp.cli.options import CLIENT, with_settings
from stream_ldp.cli.table_output import Form, Level, Output, form_of, write_table
from stream_ldp.client.table import table_of
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.cells import LEVEL, normal_quantile
from stream_ldp.quantity import quantity
from stream_ldp.service.replay import Comparison, NotReplayed, ad_hoc, compare

#: The most differences of an answer that are shown.
_SHOWN = 10
#: The status where answers differ, which is no failure of the command (1).
_DIFFERENT = 4


@with_settings(CLIENT)
async def replay(
    given: CollectionOrName,
    *,
    window: WindowStart = None,
    estimate: EstimateNames = None,
    of: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Attributes to estimate instead, whatever the collection file asks about.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="Method of that estimate.", show_default="that of a collection file")
    ] = None,
    level: Level = LEVEL,
    form: Form = None,
    output: Output = None,
    settings: Settings,
) -> None:
    """Read the reports of a window from the log, count and solve them again, and compare that with what is published.

    The exit status is 0 if both are equal, up to the last digits, in which machines differ; 4 if they differ, and
    then the command says where; 3 if the log does not hold the window any more; and 1 if the brokers cannot be asked.

    With --of, it prints the joint distribution of other attributes of the reports of the window, which nobody asked
    about at the time. It comes from this window alone.
    """
    window_ms = milliseconds(window)
    if of is None and (method, form, output) != (None, None, None):
        fail("--method, --format and --output are for an estimate of other attributes: say which, by --of", code=2)
    if of is not None and estimate:
        fail("--estimate compares what is published; --of estimates something else", code=2)
    normal_quantile(level)
    form = form_of(form, output)
    (collection,) = (await named_collections([given], settings=settings)).values()
    require_series(collection, estimate)
    try:
        if of is None:
            found = await compare(collection, settings=settings, window_ms=window_ms, series=estimate or ())
            _show(found)
            return
        answer = await ad_hoc(collection, settings=settings, of=of.split(","), method=method, window_ms=window_ms)
    except NotReplayed as error:
        fail(str(error), code=UNANSWERABLE)
    write_table(table_of([answer], level=level), form, output)


def _show(compared: list[Comparison]) -> None:
    """Print how each answer compares, and end the command with 4 if one differs."""
    for each in compared:
        published = each.published
        what = f"{published.collection} {published.series} {published.window}"
        if not each.differences:
            echo(f"{what}: equal, from {quantity(each.recomputed.reports, 'report')}")
            continue
        echo(f"{what}: DIFFERENT in {quantity(len(each.differences), 'place')}")
        for difference in each.differences[:_SHOWN]:
            echo(f"  {difference}")
        if len(each.differences) > _SHOWN:
            echo(f"  and {len(each.differences) - _SHOWN:,} more")
    if any(each.differences for each in compared):
        raise typer.Exit(_DIFFERENT)
