"""This command drafts a collection file from a table of records."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.draft import Draft, draft, name_for
from stream_ldp.cli.inputs.guess import TableGuess, guess
from stream_ldp.collection import milliseconds as duration
from stream_ldp.collection.located import suggestion
from stream_ldp.errors import ParameterError
from stream_ldp.ledger.terms import DEFAULT_BUDGET
from stream_ldp.quantity import quantity


def init(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="CSV file with a header line.", dir_okay=False)],
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write.", show_default="NAME.yaml", dir_okay=False),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the collection.", show_default="that of the file")] = None,
    of: Annotated[
        str | None,
        typer.Option(metavar="COLUMN,...", help="Columns to ask about.", show_default="all that can be"),
    ] = None,
    epsilon: Annotated[
        float,
        typer.Option(min=0.0, help="Lifetime epsilon of a user, in nats, between any two records."),
    ] = DEFAULT_BUDGET,
    window: Annotated[str, typer.Option(help="Length of a window, such as 60s, 5m or 1d.")] = "60s",
    users: Annotated[int, typer.Option(min=1, help="Number of users to expect in a window.")] = 10_000,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing, and take what is guessed.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Guess what to ask, and write it down with the reasons.

    Columns of few values become attributes, numbers are put in bins, and what is missing gets a value. Columns whose
    values nearly all differ, as ids do, those of dates and those of one value are left out, with a warning. The
    mechanism is that for which `plan` expects the least error. At a terminal it asks before it decides.

    The table is read on this machine. The file lists the values of its columns, and no row.
    """
    found = guess(data)
    warn(found)
    asks = not yes and sys.stdin.isatty()
    if of is None and asks:
        names = ",".join(each.keys["name"] for each in found.attributes)
        of = typer.prompt("Columns to ask about", default=names, err=True)
    if asks:
        epsilon = typer.prompt("Lifetime epsilon of a user, in nats", default=epsilon, type=float, err=True)
        window = typer.prompt("Length of a window", default=window, err=True)
    drafted = drafted_of(found, data, name=name, of=of, epsilon=epsilon, window=window, users=users)
    output = output or Path(f"{drafted.collection.name}.yaml")
    try:
        with output.open("w" if force else "x", encoding="utf-8") as file:
            file.write(drafted.text)
    except FileExistsError:
        fail(f"{output}: exists already\n  -> another name by --output, or --force to replace it")
    except OSError as error:
        fail(f"{output}: cannot be written: {error.strerror}")
    echo(
        f"{output} is written. Next:", f"  stream-ldp try {data} --collection {output}", f"  stream-ldp plan {output}"
    )


def warn(found: TableGuess) -> None:
    """Say on standard error which columns are left out, and why, and whether the first line may be a record."""
    if found.doubted is not None:
        echo(
            f"{found.doubted} names a column and is one of its values: the first line has to name the columns",
            err=True,
        )
    for column, why in found.left_out.items():
        echo(f"{column} is left out: {why}", err=True)


def drafted_of(
    found: TableGuess, data: Path, *, name: str | None, of: str | None, epsilon: float, window: str, users: int
) -> Draft:
    """Draft the file about the wanted columns of a table, or end the command if one cannot be asked about.

    Raises:
        CollectionError, ParameterError: a name, a window or an epsilon is none.
    """
    known = {each.keys["name"]: each for each in found.attributes}
    wanted = [column.strip() for column in of.split(",")] if of else list(known)
    for column in wanted:
        if column in found.left_out:
            fail(f"--of {column}: {found.left_out[column]}", code=2)
        if column not in known:
            fail(f"--of {column}: there is no such column{suggestion(column, known)}", code=2)
    if not epsilon > 0:
        raise ParameterError(f"--epsilon must be more than 0, got {epsilon:g}")
    try:
        duration(window)
    except ParameterError as error:
        raise ParameterError(f"--window: {error}") from None
    return draft(
        name or name_for(data), [known[column] for column in wanted], epsilon=epsilon, window=window, users=users
    )


def about(found: TableGuess) -> str:
    """Say what was found, on one line."""
    return f"{quantity(found.rows, 'record')} of {quantity(len(found.attributes), 'attribute')}"
