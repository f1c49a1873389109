"""Groups of commands, each imported when it is run: none pays for what another one needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from stream_ldp.cli.deferred import Deferred
from stream_ldp.cli.failure import explained

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Command", "Commands"]


class Command(NamedTuple):
    """A command that is known without being imported.

    part: its function, or its own app where it is a group.
    summary: one line of help for its group, and the first of its own; its docstring says the rest.
    """

    part: Deferred
    summary: str


class Commands(TyperGroup):
    """A group, the `cls` of a `typer.Typer`; what goes wrong for the user of one of its commands is explained.

    table: its commands by name, in the order of its help.
    """

    table: ClassVar[Mapping[str, Command]]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  part of the hook
        """All names."""
        return list(self.table)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:  # noqa: ARG002  part of the hook
        """The command of a name, which is not imported yet."""
        return _NotImported(cmd_name, self.table[cmd_name]) if cmd_name in self.table else None

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with explained():
            return super().invoke(ctx)


class _NotImported(TyperCommand):
    """Shows the summary of a command in the help of its group, and gives way to the command when that is run."""

    def __init__(self, name: str, known: Command) -> None:
        super().__init__(name, help=known.summary)
        self._known = known

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        return self._imported().make_context(info_name, args, parent, **extra)

    def _imported(self) -> Any:
        found = self._known.part.imported()
        if not isinstance(found, typer.Typer):
            function, found = found, typer.Typer(add_completion=False)
            found.command(name=self.name)(function)
        command = typer.main.get_command(found)
        command.help = "\n\n".join(filter(None, [self._known.summary, command.help]))
        return command
