"""This package is the command line, with one command in each file."""

from importlib import metadata
from typing import Annotated, ClassVar

import typer

from stream_ldp.cli.commands import Command, Commands
from stream_ldp.cli.echo import echo
from stream_ldp.deferred import Deferred

__all__ = ["app", "main"]

_HELP = "Live joint distributions and heavy hitters from locally private reports on Kafka."


class _Root(Commands):
    table: ClassVar = {
        "try": Command(
            Deferred("stream_ldp.cli.try_out:try_out"),
            "Try a collection on this machine alone: users, a worker and the page, without a broker.",
            panel="Begin",
            example="try people.csv --of age,smokes",
        ),
        "init": Command(
            Deferred("stream_ldp.cli.init:init"),
            "Draft a collection file from a CSV file: attributes, bins and the mechanism are guessed.",
            panel="Begin",
            example="init people.csv --of age,smokes --yes",
        ),
        "check": Command(
            Deferred("stream_ldp.cli.check:check"),
            "Check collection files, and say what is wrong, where, and what would be right.",
            panel="Begin",
            example="check survey.yaml",
        ),
        "plan": Command(
            Deferred("stream_ldp.cli.plan:plan"),
            "Show what a collection costs: the bits and the privacy of a report, memory, and the error to expect.",
            panel="Begin",
            example="plan survey.yaml --reports 20000",
        ),
        "demo": Command(
            Deferred("stream_ldp.cli.demo.command:demo"),
            "Show live estimates of simulated users, beside the simulated truth.",
            panel="Begin",
            example="demo --seconds 30",
        ),
        "evaluate": Command(
            Deferred("stream_ldp.cli.evaluate.command:evaluate"),
            "Try a collection, with keys that vary, on known data before collecting anything.",
            panel="Begin",
            example="evaluate survey.yaml --data people.csv",
        ),
        "report": Command(
            Deferred("stream_ldp.cli.report:report"),
            "Perturb records, or a set of items, on this machine and publish the reports.",
            panel="Report",
            example="report survey.yaml --secret-file ~/.care/secret --new-ledger",
        ),
        "simulate": Command(
            Deferred("stream_ldp.cli.simulate:simulate"),
            "Play a file as a population: each row is reported, with noise, as if a user had sent it.",
            panel="Report",
            example="simulate survey.yaml --data people.csv --windows 3",
        ),
        "gateway": Command(
            Deferred("stream_ldp.cli.gateway:gateway"),
            "Take batches over HTTP, from clients that do not speak Kafka.",
            panel="Report",
            example="gateway survey.yaml --port 8443",
        ),
        "worker": Command(
            Deferred("stream_ldp.cli.worker:worker"),
            "Count the reports of collections and publish their answers, until Ctrl-C or SIGTERM.",
            panel="Answer",
            example="worker survey.yaml films.yaml",
        ),
        "watch": Command(
            Deferred("stream_ldp.cli.watch:watch"),
            "Show the answers of a collection as they come: that of the last window and that of the open one.",
            panel="Answer",
            example="watch survey.yaml",
        ),
        "query": Command(
            Deferred("stream_ldp.cli.query:query"),
            "Export answers: the last final ones or all, as text, CSV, JSON or Parquet.",
            panel="Answer",
            example="query survey.yaml --of mobility --given bathing",
        ),
        "export": Command(
            Deferred("stream_ldp.cli.export.command:export"),
            "Write final answers as flat rows: lines, Parquet files, DuckDB or PostgreSQL.",
            panel="Answer",
            example="export survey.yaml --to duckdb --target answers.duckdb",
        ),
        "explain": Command(
            Deferred("stream_ldp.cli.explain:explain"),
            "Explain the last answer in three sentences: the number, its confidence interval, and its privacy.",
            panel="Answer",
            example="explain survey.yaml",
        ),
        "replay": Command(
            Deferred("stream_ldp.cli.replay:replay"),
            "Answer a window again from the log of reports, to check it or to ask about other attributes.",
            panel="Answer",
            example="replay survey.yaml",
        ),
        "synthesize": Command(
            Deferred("stream_ldp.cli.synthesize:synthesize"),
            "Make synthetic records from the reports of a window.",
            panel="Answer",
            example="synthesize survey.yaml --output people.csv",
        ),
        "page": Command(
            Deferred("stream_ldp.cli.page:page"),
            "Serve a live page with the answers of collections, for browsers.",
            panel="Answer",
            example="page survey.yaml --port 8080",
        ),
        "dead-letters": Command(
            Deferred("stream_ldp.cli.dead_letters:app"),
            "Show the batches that workers refused, and send them again once the cause is mended.",
            panel="Operate",
            example="dead-letters list survey.yaml",
        ),
        "quarantine": Command(
            Deferred("stream_ldp.cli.quarantine:app"),
            "Show the records that workers cannot read, and let final answers go on without them.",
            panel="Operate",
            example="quarantine list survey.yaml",
        ),
        "inspect": Command(
            Deferred("stream_ldp.cli.inspect:app"),
            "Show how far a collection has come, and what a record of one of its topics is.",
            panel="Operate",
            example="inspect collection survey.yaml",
        ),
        "reset": Command(
            Deferred("stream_ldp.cli.reset:app"),
            "Delete what collections have left behind, or let one be counted again.",
            panel="Operate",
            example="reset position survey.yaml --since 1d",
        ),
        "audit": Command(
            Deferred("stream_ldp.cli.audit:audit"),
            "Check the privacy that a collection or a mechanism promises.",
            panel="Operate",
            example="audit survey.yaml --exact",
        ),
        "doctor": Command(
            Deferred("stream_ldp.cli.doctor:doctor"),
            "Check a set-up, from brokers to packages, and say what to do about each problem.",
            panel="Operate",
            example="doctor survey.yaml",
        ),
        "broker": Command(
            Deferred("stream_ldp.cli.broker:broker"),
            "Run one Apache Kafka node on this machine until Ctrl-C or SIGTERM.",
            panel="Operate",
            example="broker --port 9092",
        ),
        "schema": Command(
            Deferred("stream_ldp.cli.schema:schema"),
            "Print the schemas of collection files and messages, and the documents of the HTTP and Kafka interfaces.",
            panel="Operate",
            example="schema collection-v1",
        ),
        "topics": Command(
            Deferred("stream_ldp.cli.topics:app"),
            "Create and list the topics that collections need, register and retire collections, print access rules.",
            panel="Operate",
            example="topics create survey.yaml",
        ),
    }


app = typer.Typer(
    name="stream-ldp",
    cls=_Root,
    no_args_is_help=True,
    # A traceback with local variables could show a value that a user meant to keep.
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        echo(f"stream-ldp {metadata.version('stream-ldp')}")
        raise typer.Exit


@app.callback(help=_HELP)
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    app()
