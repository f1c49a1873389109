"""Group commands, and import each when it is run: no command loads what only another one needs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from inspect import cleandoc
from threading import Lock, Timer
from typing import Any, ClassVar, NamedTuple

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from typer.core import TyperCommand, TyperGroup

from stream_ldp.cli.failure import explained
from stream_ldp.deferred import Deferred
from stream_ldp.steps import Advance, watched_by


class Command(NamedTuple):
    """A command that is known without being imported.

    part: its function, or its own app where it is a group.
    summary: its line in the help of its group, and the first of its own help; its docstring is the rest.
    panel: heading in the help of its group under which it stands; empty for the only one.
    example: a use of it, without the name of the program; empty for none.
    """

    part: Deferred
    summary: str
    panel: str = ""
    example: str = ""


class _WithoutTypesOfFlags:
    """What help shows of options that take no value is no type: `<bool>` looks as if a value had to follow."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters, with `--help`."""
        parameters = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class Commands(_WithoutTypesOfFlags, TyperGroup):
    """A group of commands, the `cls` of a `typer.Typer`, that explains the errors of its commands to their user.

    table: its commands by name, in the order of its help.
    """

    table: ClassVar[Mapping[str, Command]]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.commands = {name: _NotImported(name, known) for name, known in self.table.items()}

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the user gave."""
        with explained(), progress_shown():
            return super().invoke(ctx)


class _Single(_WithoutTypesOfFlags, TyperCommand):
    """A command."""


class _Group(_WithoutTypesOfFlags, TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; what is like none is a file or a name, as a rule, before which a command is missing."""
        if args and not get_close_matches(args[0], self.commands):
            known, likely = " and ".join(self.commands), f"{ctx.command_path} {next(iter(self.commands))} {args[0]}"
            ctx.fail(f"No such command {args[0]!r}; there are {known}. Did you mean '{likely}'?")
        return super().resolve_command(ctx, args)


class _NotImported(TyperCommand):
    """A stand-in that shows a command's summary in the help of its group, and imports the command to run it."""

    def __init__(self, name: str, known: Command) -> None:
        super().__init__(name, help=known.summary, rich_help_panel=known.panel or None)
        self._known = known

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        return self._imported().make_context(info_name, args, parent, **extra)

    def _imported(self) -> Any:
        found = self._known.part.imported()
        if not isinstance(found, typer.Typer):
            function, found = found, typer.Typer(add_completion=False)
            found.command(name=self.name)(function)
        for registered in found.registered_commands:
            registered.cls = _Single
            registered.help = "\n\n".join(_paragraphs(registered.callback.__doc__ or ""))
        found.info.cls = _Group
        command = typer.main.get_command(found)
        command.help = "\n\n".join([self._known.summary, *_paragraphs(command.help or "")])
        if self._known.example:
            command.epilog = example(self._known.example)
        return command


def example(use: str) -> str:
    """Return the line below the help of a command that shows a use of it.

    use: without the name of the program.
    """
    return f"Example:  stream-ldp {use}"


def _paragraphs(docstring: str) -> list[str]:
    """Return the paragraphs of a docstring, each on one line, which a terminal breaks where it ends."""
    return [" ".join(each.split()) for each in cleandoc(docstring).split("\n\n") if each]


#: Nobody asks what is done of work that takes less.
PATIENCE_S = 0.5


@contextmanager
def progress_shown(*, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Show bars of the work that is done in this context on standard error, if that is a terminal.

    Each shows how much is done of how much, the time that it took, and the time that is left. It goes when it is
    done, so that what a command prints stands alone.

    patience_s: seconds after which work is long enough to be shown.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
    bars = Progress(TextColumn("{task.description}"), *columns, console=console, transient=True)

    begun: dict[str, TaskID] = {}
    turn = Lock()

    def show() -> None:
        with turn:
            if begun:
                bars.start()

    @contextmanager
    def watch(what: str, total: int | None) -> Iterator[Advance]:
        if what in begun:
            yield lambda count: bars.advance(begun[what], count)
            return
        begun[what] = bars.add_task(what, total=total)
        later = Timer(patience_s, show)
        later.daemon = True
        later.start()
        try:
            yield lambda count: bars.advance(begun[what], count)
        finally:
            later.cancel()
            with turn:
                bars.remove_task(begun.pop(what))
                if not begun:
                    bars.stop()

    with watched_by(watch):
        yield
