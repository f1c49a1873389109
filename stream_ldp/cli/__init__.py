"""The command line; one command a file."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer

from stream_ldp.cli import audit, broker, check, demo, evaluate, plan, report, simulate, topics, watch, worker

__all__ = ["app", "main"]

_HELP = "Live joint distributions and heavy hitters from locally private reports on Kafka."

app = typer.Typer(
    name="stream-ldp",
    no_args_is_help=True,
    # A traceback with local variables could show a value that a user meant to keep.
    pretty_exceptions_enable=False,
)

app.command()(check.check)
app.command()(plan.plan)
app.command()(report.report)
app.command()(simulate.simulate)
app.command()(worker.worker)
app.command()(watch.watch)
app.command()(audit.audit)
app.command()(broker.broker)
app.command()(demo.demo)
app.add_typer(evaluate.app, name="evaluate")
app.add_typer(topics.app, name="topics")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"stream-ldp {metadata.version('stream-ldp')}")
        raise typer.Exit


@app.callback(help=_HELP)
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the release and end.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    app()
