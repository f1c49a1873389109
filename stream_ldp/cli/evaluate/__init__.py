"""These commands try parameters on known data before anything is collected."""

from __future__ import annotations

from typing import ClassVar

import typer

from stream_ldp.cli.commands import Command, Commands
from stream_ldp.cli.deferred import Deferred

__all__ = ["app"]


class _Evaluate(Commands):
    """The group of commands, by what is estimated."""

    table: ClassVar = {
        "joint": Command(
            Deferred("stream_ldp.cli.evaluate.joint:joint"),
            "Perturb a table as its users would, estimate the joint distribution, and show how far it is off.",
        ),
        "frequency": Command(
            Deferred("stream_ldp.cli.evaluate.marginals:frequency"),
            "Perturb values as their users would, estimate their frequencies, and show how far they are off.",
        ),
        "mean": Command(
            Deferred("stream_ldp.cli.evaluate.marginals:mean"),
            "Perturb numbers as their users would, estimate their mean, and show how far it is off.",
        ),
        "places": Command(
            Deferred("stream_ldp.cli.evaluate.places:places"),
            "Count the users of places with their own regions and without, and show how far the counts are off.",
        ),
        "strings": Command(
            Deferred("stream_ldp.cli.evaluate.strings:strings"),
            "Perturb strings as their users would, rank them, and show how many of the most frequent are found.",
        ),
        "views": Command(
            Deferred("stream_ldp.cli.evaluate.views:views"),
            "Let users tell one view each, estimate joint distributions of many sets, and show how far they are off.",
        ),
        "synthesis": Command(
            Deferred("stream_ldp.cli.evaluate.synthesis:synthesis"),
            "Make synthetic records of a table from perturbed reports, and show how much they have of it.",
        ),
        "heavy-hitters": Command(
            Deferred("stream_ldp.cli.evaluate.heavy_hitters:heavy_hitters"),
            "Perturb item sets as their users would, rank the items, and show how good the ranking is.",
        ),
    }


app = typer.Typer(cls=_Evaluate, no_args_is_help=True, add_completion=False)


@app.callback()
def _evaluate() -> None:
    pass
