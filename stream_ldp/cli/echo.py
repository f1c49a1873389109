"""Print the lines of a command: whatever is in them, they stay lines of text."""

import typer

from stream_ldp.printable import printable, printable_json


def echo(*lines: str, err: bool = False) -> None:
    """Print lines, and spell out what a terminal would obey; a new line in one of them does not begin another.

    err: whether to print them on standard error.
    """
    for line in lines:
        typer.echo(printable(line), err=err)


def echo_problem(problem: Exception) -> None:
    """Print what is wrong with one thing of many on standard error; the command goes on with the others."""
    echo(str(problem), err=True)


def echo_json(text: str) -> None:
    """Print a JSON text, in which every character has its meaning, and none is obeyed by a terminal."""
    typer.echo(printable_json(text), nl=not text.endswith("\n"))
