"""`stream-ldp report`: publish records from a file or standard input, or answer what is asked about items."""

from __future__ import annotations

import math
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.records import Format, RecordReader, lines_of
from stream_ldp.cli.kinds import face_of
from stream_ldp.cli.options import CLIENT, load_collections, with_settings
from stream_ldp.cli.running import run_client, spent_line
from stream_ldp.client import (
    Assumption,
    DeliveryError,
    PrivacyLedger,
    Reporter,
    ReportRefused,
    Terms,
    TooManyValues,
    ledger_file_of,
    load_or_create_secret,
    load_or_create_user,
)
from stream_ldp.errors import ParameterError
from stream_ldp.kafka.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.records.collection import JointCollection

__all__ = ["ReportOptions", "report", "report_records"]

_User = tuple[bytes, PrivacyLedger]

_LEDGER_PANEL = "Privacy ledger"
_ITEMS_PANEL = "Item collections"

#: Bad lines that are shown when they are skipped; the others are counted.
_SHOWN = 10


@with_settings(CLIENT)
def report(
    file: Annotated[Path, typer.Argument(metavar="COLLECTION", help="Collection file.", dir_okay=False)],
    records: Annotated[
        Path,
        typer.Argument(
            metavar="RECORDS",
            help="CSV or JSON lines, one record a line; of an item collection, the user's set on the last line. "
            "- for standard input.",
            show_default=False,
        ),
    ] = Path("-"),
    *,
    items: Annotated[
        str | None,
        typer.Option(
            metavar='"ITEM ITEM ..."',
            help="The user's set, in place of a file: items between blanks, or a JSON list.",
            show_default=False,
            rich_help_panel=_ITEMS_PANEL,
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="End with so many epochs, that in progress included.",
            show_default="until Ctrl-C",
            rich_help_panel=_ITEMS_PANEL,
        ),
    ] = None,
    secret_file: Annotated[
        Path | None,
        typer.Option(
            help="The user's secret; made, for its owner alone, if there is none. "
            "Beside it, in SECRET_FILE.ledger, is counted what the user has spent.",
            show_default="`secret` in the directory of your application settings",
            dir_okay=False,
        ),
    ] = None,
    many_users: Annotated[
        bool,
        typer.Option("--many-users", help="Each line is another user, who reports once in a lifetime: no secret."),
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(
            help="Nats of privacy that the user may spend, over all collections and for ever. "
            "A report that would cost more than is left is refused. Without it, they are only counted.",
            show_default=False,
            rich_help_panel=_LEDGER_PANEL,
        ),
    ] = None,
    assume: Annotated[
        Assumption,
        typer.Option(
            help="constant: the user's record never changes; another one is refused. "
            "values: each attribute has at most --max-values values, and when they change is not hidden. "
            "fresh: anything may change, and every report has permanent noise of its own; many reports cost most.",
            rich_help_panel=_LEDGER_PANEL,
        ),
    ] = Assumption.CONSTANT,
    max_values: Annotated[
        int | None,
        typer.Option(
            help="With --assume values: different values of one attribute; one more is refused.",
            show_default=False,
            rich_help_panel=_LEDGER_PANEL,
        ),
    ] = None,
    new_ledger: Annotated[
        bool,
        typer.Option(
            "--new-ledger",
            help="Begin to count for a secret that has no ledger; what it has reported before is not counted.",
            rich_help_panel=_LEDGER_PANEL,
        ),
    ] = False,
    form: Annotated[
        Format, typer.Option("--format", help="auto: JSON if the first line begins with a brace.")
    ] = Format.AUTO,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out lines that are not records, and count them.")
    ] = False,
    settings: Settings,
) -> None:
    """Publish what a file or standard input holds, line by line as it comes.

    All lines are reports of ONE user, whose permanent noise comes from the secret file: it protects those who report
    again and again, as devices do. A file of many people's answers needs --many-users: under one secret all of them
    would share their noise, and the estimate would be wrong. With --many-users nobody may ever report twice: the
    noise of two reports averages out.

    What the user has told is counted before it is published, in a ledger beside the secret, in nats: what is seen
    changes the odds between two records by a factor of at most e to that power. A report beyond --budget or against
    --assume is refused and ends the command with 1; what came before it is published. With --many-users, each user
    spends one report and there is nothing to count.

    Of an item collection, ONE user answers, each phase that asks him once, until Ctrl-C: for the set on the last line
    that has come. A line is items between blanks, or a JSON list of them.

    CSV begins with a line that names the attributes; a line of JSON is an object of them. Lines are published as they
    come. The first bad one ends the command with 1: what came before it is published, what comes after it is not.
    """
    (collection,) = load_collections([file]).values()
    try:
        terms = Terms(budget=math.inf if budget is None else budget, assumption=assume, max_values=max_values)
    except ParameterError as error:
        fail(f"--budget, --assume, --max-values: {error}", code=2)
    face_of(collection).report(
        collection,
        ReportOptions(
            path=records,
            items=items,
            epochs=epochs,
            secret_file=secret_file,
            many_users=many_users,
            terms=terms,
            new_ledger=new_ledger,
            form=form,
            skip_bad=skip_bad,
            settings=settings,
        ),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportOptions:
    """What `report` is asked to do; each kind of collection refuses what means nothing to it.

    path: file of records or sets; - for standard input.
    items, epochs: the user's set, and how long to go on, of a collection of item sets.
    secret_file: None for that of the application's settings.
    terms: of the user's ledger.
    """

    path: Path
    items: str | None
    epochs: int | None
    secret_file: Path | None
    many_users: bool
    terms: Terms
    new_ledger: bool
    form: Format
    skip_bad: bool
    settings: Settings

    def user(self) -> _User:
        """The user's secret and ledger.

        Raises:
            SecretError, LedgerError: see `load_or_create_user`.
        """
        secret_file = self.secret_file or Path(typer.get_app_dir("stream-ldp")) / "secret"
        if self.new_ledger:
            secret = load_or_create_secret(secret_file)
            return secret, PrivacyLedger.create(ledger_file_of(secret_file), secret=secret, terms=self.terms)
        return load_or_create_user(secret_file, terms=self.terms)


def report_records(collection: JointCollection, options: ReportOptions) -> None:
    """Publish the records of one user or of many."""
    if options.items is not None or options.epochs is not None:
        fail(f"--items and --epochs are for collections of item sets; {collection.name} is of records", code=2)
    user = None
    if not options.many_users:
        user = options.user()
    elif options.secret_file is not None or options.new_ledger or options.terms != Terms():
        fail(
            "--many-users goes without --secret-file and without --budget, --assume, --max-values and --new-ledger: "
            "a secret is one user's, and so is a ledger",
            code=2,
        )
    run_client(_report(collection, options, user))


async def _report(collection: JointCollection, options: ReportOptions, user: _User | None) -> None:
    source = "standard input" if str(options.path) == "-" else str(options.path)
    skipped = _Skipped()
    on_skip = skipped.add if options.skip_bad else None
    reader = RecordReader(collection, form=options.form, source=source, on_skip=on_skip)
    secret, ledger = user or (None, None)
    reporter = Reporter(collection, settings=options.settings, secret=secret, ledger=ledger)
    problem = None
    try:
        async with reporter, aclosing(lines_of(options.path)) as chunks:
            async for lines in chunks:
                records = reader.read(lines)
                if ledger is None:
                    await reporter.report_many(records, secrets=None)
                else:
                    await _report_series(reporter, records)
                if reader.problem:
                    break
    except (DeliveryError, OSError) as error:
        problem = str(error)
    except TooManyValues as refusal:
        problem = f"{refusal}\n{_OTHER_VALUES}"
    except ReportRefused as refusal:
        problem = str(refusal)
    left_out = f"; {skipped.count} lines skipped" if skipped.count else ""
    whose = "as many users" if ledger is None else "one user"
    typer.echo(f"{reporter.acknowledged} reports of {whose} published{left_out}")
    if ledger is not None:
        typer.echo(spent_line(ledger))
    if problem := problem or reader.problem:
        fail(problem)


async def _report_series(reporter: Reporter, records: Sequence[Sequence[int]]) -> None:
    """Report records of one user, up to one that is refused."""
    try:
        await reporter.report_series(records)
    except ReportRefused:
        for record in records:
            await reporter.report_series([record])


_OTHER_VALUES = (
    "  -> if each line is another user's: --many-users\n"
    "  -> if this user's values change: --assume values --max-values N, or --assume fresh"
)


class _Skipped:
    """Bad lines that are left out: the first few are shown, all are counted."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, problem: str) -> None:
        self.count += 1
        if self.count <= _SHOWN:
            typer.echo(f"skipped {problem}", err=True)
