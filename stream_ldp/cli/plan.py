"""This command shows what a collection costs, before it runs."""

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from stream_ldp.cli.arguments import CollectionFile
from stream_ldp.cli.displays.table_text import plain, print_whole
from stream_ldp.cli.echo import echo, echo_json
from stream_ldp.cli.evaluate.known_table import TableFile
from stream_ldp.cli.failure import fail
from stream_ldp.cli.timing import solve_section, solve_times
from stream_ldp.collection.records import Missing
from stream_ldp.errors import DataError
from stream_ldp.kinds import kind_of, load_collection, load_solver, w_event_of
from stream_ldp.pipeline.answer import AnswerT, Status
from stream_ldp.pipeline.budgets import renewing_plans, renewing_section, turn_plan, turn_section
from stream_ldp.pipeline.changing import CHANGES, change_plans, change_section
from stream_ldp.pipeline.counting_load import counting_loads, counting_section, too_much
from stream_ldp.pipeline.kind import POPULATIONS
from stream_ldp.pipeline.leverage import leverage_section
from stream_ldp.pipeline.plan import Section, finite, refusal_section
from stream_ldp.pipeline.predicted import predicted
from stream_ldp.pipeline.published import published_plans, published_section
from stream_ldp.pipeline.solve_time import too_slow

#: Most users that are drawn from a table, unless their number is given: their reports are in memory all at once.
_MOST_DRAWN = 100_000


def plan(
    file: CollectionFile,
    *,
    reports: Annotated[
        list[int] | None,
        typer.Option(
            "--reports",
            "--users",
            min=1,
            help="Number of reports in a window, or of users in an epoch, to show the error for; can be repeated.",
            show_default=False,
        ),
    ] = None,
    lifetime: Annotated[
        float | None,
        typer.Option(
            help="Lifetime epsilon of a user, in nats, between any two records, to find parameters for.",
            show_default=False,
        ),
    ] = None,
    per_report: Annotated[
        float | None,
        typer.Option(
            help="Epsilon of one report, in nats, to find parameters for; needs --lifetime.",
            show_default=False,
        ),
    ] = None,
    changes: Annotated[
        list[int] | None,
        typer.Option(
            "--changes",
            min=0,
            help="Number of times that a user's value changes in a lifetime, to compare the ways to report it; can "
            "be repeated.",
            show_default=False,
        ),
    ] = None,
    finals: Annotated[
        Path | None,
        typer.Option(
            help="Final estimates, a line of JSON each as `watch --finals --once --json` prints them, - for standard "
            "input; for a collection of views, whose design is then chosen for the dependence that they show.",
            show_default=False,
            allow_dash=True,
            dir_okay=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Table of users like those to come, such as a survey before, as `evaluate` takes it: errors are "
            "measured on them. Nothing of it leaves this machine.",
            show_default="users that are assumed, where no formula holds for all",
            dir_okay=False,
        ),
    ] = None,
    wanted: Annotated[
        float | None,
        typer.Option(
            help="Error between 0 and 1 for which to find the number of users that it takes, by the metric that is "
            "named first; of rankings, a quality.",
            show_default=False,
        ),
    ] = None,
    missing: Annotated[
        Missing,
        typer.Option(help="What becomes of rows of --data that lack a value: refuse them, or skip and count them."),
    ] = Missing.REFUSE,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Compute the cost from the collection's file alone, and measure how long its solves take on this machine.

    For a collection of records, --lifetime finds the parameters that spend so much, prints them for the collection's
    file, and shows their cost. For a collection of item sets, the cost of each phase of an epoch is shown.

    A design that --finals leads to is for a collection to come: it has another fingerprint, and users who report to
    both spend for both. Nothing that runs changes by itself.

    With --data, the errors are what `evaluate` measures: users who are drawn from the table report, and are solved
    for. Unless --users says more, up to 100,000 are drawn. Without it, they are those of users who are assumed, and
    the plan says what it assumes. With --wanted, these errors answer how many users it takes; `evaluate --wanted`
    searches for that by more trials.

    With --json, `meaning` is the text behind the fingerprint, from which clients in other languages make reports.
    """
    if wanted is not None and not 0.0 < wanted < 1.0:
        fail("--wanted is an error, or a quality, between 0 and 1", code=2)
    collection = load_collection(file)
    kind = kind_of(collection)
    if lifetime is not None or per_report is not None:
        if kind.for_budget is None:
            fail("--lifetime and --per-report are for collections of records: see `epsilon` in the file", code=2)
        if lifetime is None:
            fail("--per-report belongs to --lifetime: give both, or --lifetime alone for permanent responses", code=2)
        collection = kind.for_budget(collection, lifetime=lifetime, per_report=per_report)
        if not as_json:
            parameters = collection.document["mechanism"]
            echo(f"mechanism: {{{', '.join(f'{name}: {value}' for name, value in parameters.items())}}}")
    if finals is not None:
        if kind.for_finals is None:
            fail("--finals is for collections of views: others have no design to choose", code=2)
        collection, shown = kind.for_finals(collection, read_finals(finals, kind.answer))
        if not as_json:
            echo(shown)
    populations = reports or POPULATIONS
    known = None
    if data is not None:
        known = TableFile(data, missing=missing).population(collection, item_sets=kind.evaluation.item_sets)
        populations = reports or [each for each in POPULATIONS if each <= _MOST_DRAWN]
    planned = kind.plan(collection, populations=populations)
    load_solver(collection)
    expected = predicted(collection, kind, users=populations, population=known, wanted=wanted)
    times, leverages = solve_times(collection, populations=populations), kind.leverages(collection)
    readers = published_plans(collection, kind.published, populations=populations)
    turns = None if collection.rotate is None else turn_plan(collection, w_event_of(collection))
    values = kind.changing(collection)
    changed = change_plans(values, changes=changes or CHANGES)
    renewing = renewing_plans(collection, per_turn=kind.per_turn(collection))
    loads = counting_loads(collection, kind.layout(collection), populations=populations)
    if as_json:
        measured = {
            "meaning": collection.meaning,
            "predicted": [each._asdict() for each in expected.errors],
            "users_for": [each._asdict() for each in expected.users_for],
            "alternatives": [asdict(each) for each in expected.alternatives],
            "solves": [asdict(time) for time in times],
            "too_slow": list(too_slow(collection, times)),
            "refused": list(collection.refused),
            "published": [each.document for each in readers],
            "leverages": [asdict(each) for each in leverages],
            "changing": [asdict(each) for each in changed],
            "renewing": [asdict(each) for each in renewing],
            "counting": [asdict(load) for load in loads],
            "too_much": list(too_much(loads)),
        }
        if turns is not None:
            measured["w_event"] = [asdict(turns)]
        echo_json(json.dumps(finite(asdict(planned)) | measured))
    else:
        print_sections(
            [
                *planned.sections(),
                *expected.sections(kind, table=None if data is None else data.name),
                *([] if turns is None else [turn_section(turns)]),
                *([change_section(values, changed)] if values else []),
                renewing_section(renewing),
                published_section(readers),
                refusal_section(collection.refused),
                leverage_section(leverages),
                solve_section(collection, times),
                counting_section(loads),
            ]
        )


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


def read_finals(file: Path, of: type[AnswerT]) -> list[AnswerT]:
    """Read the final answers of a file, which has one on each line, as JSON; provisional ones are passed over.

    file: `-` for standard input.
    of: the class of the answers.

    Raises:
        DataError: the file cannot be read, or a line of it is no such answer.
    """
    name = "standard input" if str(file) == "-" else str(file)
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{name}: cannot be read: {error}") from error
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            answer = of.from_bytes(line.encode())
        except ValueError:
            raise DataError(
                f"{name}, line {number}: not an {of.__name__.lower()}; write them by `stream-ldp watch COLLECTION "
                "--finals --once --json`"
            ) from None
        if answer.final and answer.status is Status.ANSWERED:
            found.append(answer)
    return found
