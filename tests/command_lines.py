"""Parse command lines as a terminal would, and run nothing."""

import shlex
from typing import Any

import typer

from stream_ldp.cli import app


def parse(line: str) -> None:
    """Parse the words after `stream-ldp`; raise click's UsageError where they are no command with its options."""
    command: Any = typer.main.get_command(app)
    words, context, name = shlex.split(line), None, "stream-ldp"
    while hasattr(command, "resolve_command"):
        context = command.make_context(name, words, parent=context)
        name, command, words = command.resolve_command(context, [*context._protected_args, *context.args])
        command = command._imported() if hasattr(command, "_imported") else command
    command.make_context(name, words, parent=context)
