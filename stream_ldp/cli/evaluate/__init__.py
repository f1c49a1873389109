"""`stream-ldp evaluate`: try parameters on known records before anything is collected; one command a file."""

from __future__ import annotations

from typing import ClassVar

import typer

from stream_ldp.cli.commands import Command, Commands
from stream_ldp.cli.deferred import Deferred

__all__ = ["app"]


class _Evaluate(Commands):
    """By what is estimated."""

    table: ClassVar = {
        "joint": Command(
            Deferred("stream_ldp.cli.evaluate.joint:joint"),
            "Perturb a table as its users would, estimate the joint distribution, and say how far it is from the "
            "truth.",
        ),
        "heavy-hitters": Command(
            Deferred("stream_ldp.cli.evaluate.heavy_hitters:heavy_hitters"),
            "Ask item sets as their users would be asked, rank the items, and say how good the ranking is.",
        ),
    }


app = typer.Typer(cls=_Evaluate, no_args_is_help=True, add_completion=False)


@app.callback()
def _evaluate() -> None:
    pass
