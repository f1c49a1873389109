"""Write a table of answers as text, or to a file of CSV, JSON or Parquet."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from stream_ldp.cli.displays.table_text import print_table
from stream_ldp.cli.echo import echo_json
from stream_ldp.cli.failure import fail
from stream_ldp.client.table import Table
from stream_ldp.printable import printable


class TableFormat(StrEnum):
    """The form in which a table is written."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


Level = Annotated[float, typer.Option(help="Probability with which an interval holds the true number.")]

Form = Annotated[
    TableFormat | None,
    typer.Option("--format", help="Form of the table.", show_default="that of OUTPUT's name, otherwise text"),
]

Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="File to write the table to.", show_default="standard output", dir_okay=False
    ),
]


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


def _at_a_terminal() -> bool:
    return sys.stdout.isatty()


def _shown(table: Table) -> Table:
    """Return a table as a terminal may show it, in which what it would obey is spelled out."""
    return Table(
        tuple(
            {printable(name): printable(value) if isinstance(value, str) else value for name, value in row.items()}
            for row in table.rows
        )
    )


def write_table(table: Table, form: TableFormat, output: Path | None) -> None:
    """Write a table to a file, or to standard output."""
    if form is TableFormat.TEXT and output is None:
        print_table(table)
        return
    try:
        if form is TableFormat.PARQUET and output is not None:
            table.to_parquet(output)
        else:
            shown = _shown(table) if form is TableFormat.CSV and output is None and _at_a_terminal() else table
            text = shown.to_json() if form is TableFormat.JSON else shown.to_csv()
            if output is None and form is TableFormat.JSON:
                echo_json(text)
            elif output is None:
                typer.echo(text, nl=False)
            else:
                output.write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"{output}: cannot be written: {error.strerror}")
