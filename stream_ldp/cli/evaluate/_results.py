"""This module prints the results of an evaluation, as a table or as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from stream_ldp.cli.displays.table_text import print_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["echo_json", "show_results"]


def echo_json(settings: Mapping[str, object], results: Sequence[Mapping[str, object]]) -> None:
    """Print one object, with the settings of an evaluation and a row for each of its results.

    Raises:
        ValueError: a number is infinite or NaN, which JSON does not have.
    """
    typer.echo(json.dumps({"settings": settings, "results": results}, allow_nan=False))


def show_results(
    rows: Iterable[Sequence[str]], *, title: str, words: Sequence[str], numbers: Sequence[str], said: str = ""
) -> None:
    """Print a table with a row for each result of an evaluation.

    words, numbers: headings of the columns: first those of words, then those of numbers.
    said: what is printed before the table.
    """
    console = Console(highlight=False)
    if said:
        console.print(said, markup=False)
    table = Table(*words, box=box.SIMPLE, title=title)
    for heading in numbers:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    print_whole(console, table)
