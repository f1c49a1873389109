"""Sections of a plan as text: tables, named values, and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from stream_ldp.cli.displays.plain import plain
from stream_ldp.cli.displays.table_text import print_whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_ldp.pipeline.plan import Section

#: Least number of characters of a line of a heading.
_HEADING = 16


def print_sections(sections: Iterable[Section]) -> None:
    """Print the sections one below the other."""
    console = Console(highlight=False)
    for section in sections:
        console.print(plain(section.title), soft_wrap=not section.columns)
        if section.columns:
            table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0))
            for place, column in enumerate(section.columns):
                cells = (len(row[place]) for row in section.rows)
                # A heading is broken where it would make its column wider than its cells and its words do.
                width = max([_HEADING, *cells, *map(len, column.split())])
                table.add_column(plain(column), max_width=width)
        else:
            table = Table(show_header=False, box=None, padding=(0, 2, 0, 1))
        for row in section.rows:
            table.add_row(*map(plain, row))
        if section.rows:
            print_whole(console, table)
        for note in section.notes:
            console.print(plain(note))
