"""This module has the options that several evaluations take, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["AsJson", "Attributes", "Data", "Epsilon", "EpsilonForEver", "Repeats", "Seed", "Users"]

Data = Annotated[
    Path,
    typer.Option(
        help="CSV file with a header line and then a record a line, gzipped if its name ends in .gz, or Parquet."
    ),
]

Attributes = Annotated[
    str | None,
    typer.Option(metavar="NAME,...", show_default="all", help="Columns of the table to take as attributes."),
]

Epsilon = Annotated[str, typer.Option(metavar="EPSILON,...", help="Nats that a report may cost.")]

EpsilonForEver = Annotated[
    str, typer.Option(metavar="EPSILON,...", help="Nats that all reports of a user may cost, for any two records.")
]

Users = Annotated[
    int | None,
    typer.Option(
        min=1,
        show_default="one for each record",
        help="Number of users in each repeat, each with one report; drawn with replacement if there are fewer "
        "records.",
    ),
]

Repeats = Annotated[int, typer.Option(min=1, help="Number of repeats, each with its own users and noise.")]

Seed = Annotated[int, typer.Option(min=0, help="Seed of the users and the noise, the same for all that is compared.")]

AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
