"""This command makes synthetic records from the reports of a window."""

from __future__ import annotations

import csv
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stream_ldp.cli.failure import fail
from stream_ldp.cli.options import CLIENT, load_collections, time_option, with_settings
from stream_ldp.cli.replay import NOT_REPLAYED
from stream_ldp.cli.running import run_client
from stream_ldp.extras import imported
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.answer import moment
from stream_ldp.service.replay import NotReplayed, recounted
from stream_ldp.synthesis.records import Synthesis
from stream_ldp.synthesis.records import synthesize as synthetic
from stream_ldp.synthesis.window import all_pairs, labels_of, marginals_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["synthesize"]

#: Most records: they are in memory all at once, with 8 bytes for each of up to a few dozen attributes.
_MOST_RECORDS = 10_000_000


@with_settings(CLIENT)
def synthesize(
    file: Annotated[Path, typer.Argument(metavar="COLLECTION", help="Collection file.", dir_okay=False)],
    *,
    window: Annotated[
        datetime | None,
        typer.Option(
            parser=time_option,
            metavar="TIME",
            help="Start of the window, ISO 8601; UTC without a zone.",
            show_default="the last one with a final answer",
        ),
    ] = None,
    records: Annotated[
        int | None,
        typer.Option(min=1, max=_MOST_RECORDS, help="Number of records.", show_default="one for each report"),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed; the same one makes the same records of the same window.")
    ] = 0,
    method: Annotated[
        Synthesis,
        typer.Option(
            help="How attributes may depend on each other: as far as the evidence goes, as LoPub has it, in a tree, "
            "or not at all."
        ),
    ] = Synthesis.AUTO,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write them to; Parquet if its name ends in .parquet, otherwise CSV.",
            show_default="standard output",
            dir_okay=False,
        ),
    ] = None,
    settings: Settings,
) -> None:
    """Make records that have the estimated joint distributions of a window, from the reports in the log.

    They are records of nobody: a function of the estimates and the seed, so they cost no more privacy than the
    reports have. What the estimates do not know, such as how three attributes depend on each other beyond
    their pairs, the records do not have either.
    """
    (collection,) = load_collections([file]).values()
    other = all_pairs(collection)
    window_ms = None if window is None else round(window.timestamp() * 1000)

    async def run() -> None:
        try:
            question, start_ms = await recounted(collection, other, settings=settings, window_ms=window_ms)
        except NotReplayed as error:
            fail(str(error), code=NOT_REPLAYED)
        reports = question(other.series[0]).reports
        found = synthetic(marginals_of(other, question), records=records or reports, seed=seed, method=method)
        _write(labels_of(other, found.records), output)
        widest = max(map(len, found.cliques))
        typer.echo(
            f"{collection.name} {moment(start_ms)}: {len(found.records):,} records from {reports:,} reports; "
            f"structure: {found.structure}, up to {widest} attributes drawn together",
            err=True,
        )

    run_client(run())


def _write(columns: Mapping[str, NDArray[np.str_]], output: Path | None) -> None:
    """Write records to a file, or to standard output."""
    try:
        if output is not None and output.suffix == ".parquet":
            table = imported("pyarrow", extra="analysis").table(
                {name: column.tolist() for name, column in columns.items()}
            )
            imported("pyarrow.parquet", extra="analysis").write_table(table, str(output))
        elif output is not None:
            with output.open("w", encoding="utf-8", newline="") as file:
                _write_csv(columns, file)
        else:
            _write_csv(columns, sys.stdout)
    except OSError as error:
        fail(f"{output}: cannot be written: {error.strerror}")


def _write_csv(columns: Mapping[str, NDArray[np.str_]], file: IO[str]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
