"""This command publishes reports of records from a file or standard input, or of one user's set of items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stream_ldp.cli.arguments import CollectionFile
from stream_ldp.cli.inputs.records import Format
from stream_ldp.cli.kinds import face_of
from stream_ldp.cli.options import CLIENT, load_collections, with_settings
from stream_ldp.cli.report_options import ReportOptions
from stream_ldp.kafka.settings import Settings
from stream_ldp.privacy.ledger.terms import Assumption

__all__ = ["report"]

_LEDGER_PANEL = "Privacy ledger"
_ITEMS_PANEL = "Item collections"

_Records = Annotated[
    Path,
    typer.Argument(
        metavar="RECORDS",
        help="File of CSV or JSON lines, one record a line; for an item collection, one set a line, of which the "
        "last counts. Use - for standard input.",
        show_default=False,
    ),
]
_Epochs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of epochs after which to end, including the one in progress.",
        show_default="until Ctrl-C",
        rich_help_panel=_ITEMS_PANEL,
    ),
]
_SecretFile = Annotated[
    Path | None,
    typer.Option(
        help="File of the user's secret, created, readable by its owner alone, if it does not exist. "
        "Beside it, SECRET_FILE.ledger counts what the user has spent.",
        show_default="`secret` in the directory of your application settings",
        dir_okay=False,
    ),
]
_ManyUsers = Annotated[
    bool,
    typer.Option(
        "--many-users", help="Take each line for another user, who reports once in a lifetime, without a secret."
    ),
]
_Budget = Annotated[
    float | None,
    typer.Option(
        help="Privacy budget of the user over all collections and for ever, in nats; inf to count only. "
        "A report that would cost more than is left is refused. A new user needs one.",
        show_default="that in the ledger",
        rich_help_panel=_LEDGER_PANEL,
    ),
]
_PerDay = Annotated[
    float | None,
    typer.Option(
        help="Nats that all reports of one day, UTC, may cost; inf to leave it to the budget.",
        show_default="that in the ledger",
        rich_help_panel=_LEDGER_PANEL,
    ),
]
_Assume = Annotated[
    Assumption | None,
    typer.Option(
        help="Assumption about the user's record. constant: it never changes; another one is refused. "
        "values: each attribute has at most --max-values values; the times of their changes are not hidden. "
        "fresh: anything may change, and every report has new permanent noise; many reports cost most.",
        show_default="that in the ledger, constant for a new user",
        rich_help_panel=_LEDGER_PANEL,
    ),
]
_MaxValues = Annotated[
    int | None,
    typer.Option(
        help="Number of different values that one attribute may have, with --assume values; one more is refused.",
        show_default=False,
        rich_help_panel=_LEDGER_PANEL,
    ),
]
_Linked = Annotated[
    bool | None,
    typer.Option(
        "--linked/--unlinked",
        help="Whether reports may carry a pseudonym by which those of a period are linked, if the collection "
        "asks for it; else they are refused.",
        show_default="that in the ledger, unlinked for a new user",
        rich_help_panel=_LEDGER_PANEL,
    ),
]
_ChangeTerms = Annotated[
    bool,
    typer.Option(
        "--change-terms",
        help="Agree to --budget, --per-day, --assume, --max-values and --linked although they allow more than "
        "before. Stricter ones need no agreement.",
        rich_help_panel=_LEDGER_PANEL,
    ),
]
_NewLedger = Annotated[
    bool,
    typer.Option(
        "--new-ledger",
        help="Create a ledger for a secret that has none; earlier reports with the secret are not counted.",
        rich_help_panel=_LEDGER_PANEL,
    ),
]
_Form = Annotated[
    Format,
    typer.Option("--format", help="Format of the lines. auto: JSON if the first line begins with a brace."),
]
_SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip lines that are not records, and count them.")]


@with_settings(CLIENT)
def report(
    file: CollectionFile,
    records: _Records = Path("-"),
    *,
    epochs: _Epochs = None,
    secret_file: _SecretFile = None,
    many_users: _ManyUsers = False,
    budget: _Budget = None,
    per_day: _PerDay = None,
    assume: _Assume = None,
    max_values: _MaxValues = None,
    linked: _Linked = None,
    change_terms: _ChangeTerms = False,
    new_ledger: _NewLedger = False,
    form: _Form = Format.AUTO,
    skip_bad: _SkipBad = False,
    settings: Settings,
) -> None:
    """Publish reports of the lines of a file or of standard input, as they come.

    All lines are records of ONE user, whose permanent noise comes from the secret file: it protects users who report
    again and again, as devices do. A file of many people's records needs --many-users: under one secret all of them
    would share their noise, and the estimate would be wrong. With --many-users nobody may ever report twice: the
    noise of two reports averages out.

    The cost of a report is counted before it is published, in a ledger beside the secret, in nats: all that is
    published changes the odds between two records by a factor of at most e to that power. The ledger keeps the terms
    too: --budget, --per-day and --assume hold for all later reports, with or without these options. A report against
    them is refused and ends the command with status 1; the reports before it are published. With --many-users,
    nothing is counted.

    For an item collection, ONE user reports, once to each phase that asks them, until Ctrl-C: on the set of the last
    line that has come. A line is items separated by blanks, or a JSON list of items. A set is never an argument:
    every user of a machine can read the arguments of its commands.

    CSV begins with a line that names the attributes; a line of JSON is an object whose keys are the attributes. The
    first bad line ends the command with status 1: the lines before it are published, those after it are not.
    """
    (collection,) = load_collections([file]).values()
    given = {
        "budget": budget,
        "per_day": per_day,
        "assumption": assume,
        "max_values": max_values,
        "linked": linked,
    }
    face_of(collection).report(
        collection,
        ReportOptions(
            path=records,
            epochs=epochs,
            secret_file=secret_file,
            many_users=many_users,
            given={name: value for name, value in given.items() if value is not None},
            change_terms=change_terms,
            new_ledger=new_ledger,
            form=form,
            skip_bad=skip_bad,
            settings=settings,
        ),
    )
