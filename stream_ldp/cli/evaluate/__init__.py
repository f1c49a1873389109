"""`stream-ldp evaluate`: try parameters on known records before anything is collected; one command a file."""

from __future__ import annotations

import typer

from stream_ldp.cli.evaluate.heavy_hitters import heavy_hitters
from stream_ldp.cli.evaluate.joint import joint

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Try parameters on known records before collecting anything.")

app.command()(joint)
app.command()(heavy_hitters)
