"""This command publishes reports of records from a file or standard input, or of one user's set of items."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stream_ldp.cli.arguments import CollectionFile
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.records import Format, RecordReader, lines_of
from stream_ldp.cli.kinds import face_of
from stream_ldp.cli.options import CLIENT, load_collections, with_settings
from stream_ldp.cli.progress import progress_bar
from stream_ldp.cli.running import run_client, spent_line
from stream_ldp.client import (
    Assumption,
    DeliveryError,
    PlaceReporter,
    PrivacyLedger,
    Reporter,
    ReportRefused,
    SampledReporter,
    StringReporter,
    Terms,
    TooManyValues,
    ledger_file_of,
    load_or_create_secret,
    load_or_create_user,
)
from stream_ldp.errors import ParameterError
from stream_ldp.kafka.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from stream_ldp.client.record_reporter import RecordReporter
    from stream_ldp.collection.records import CollectionOfRecords
    from stream_ldp.places.collection import PlaceCollection
    from stream_ldp.records.collection import JointCollection
    from stream_ldp.sampled.collection import AskingCollection
    from stream_ldp.strings.collection import StringCollection

__all__ = ["ReportOptions", "report", "report_places", "report_records", "report_sampled", "report_strings"]

_User = tuple[bytes, PrivacyLedger]

_LEDGER_PANEL = "Privacy ledger"
_ITEMS_PANEL = "Item collections"

#: Number of skipped bad lines that are shown; the others are only counted.
_SHOWN = 10


@with_settings(CLIENT)
def report(
    file: CollectionFile,
    records: Annotated[
        Path,
        typer.Argument(
            metavar="RECORDS",
            help="File of CSV or JSON lines, one record a line; for an item collection, one set a line, of which the "
            "last counts. Use - for standard input.",
            show_default=False,
        ),
    ] = Path("-"),
    *,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of epochs after which to end, including the one in progress.",
            show_default="until Ctrl-C",
            rich_help_panel=_ITEMS_PANEL,
        ),
    ] = None,
    secret_file: Annotated[
        Path | None,
        typer.Option(
            help="File of the user's secret, created, readable by its owner alone, if it does not exist. "
            "Beside it, SECRET_FILE.ledger counts what the user has spent.",
            show_default="`secret` in the directory of your application settings",
            dir_okay=False,
        ),
    ] = None,
    many_users: Annotated[
        bool,
        typer.Option(
            "--many-users", help="Take each line for another user, who reports once in a lifetime, without a secret."
        ),
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(
            help="Privacy budget of the user over all collections and for ever, in nats; inf to count only. "
            "A report that would cost more than is left is refused. A new user needs one.",
            show_default="that in the ledger",
            rich_help_panel=_LEDGER_PANEL,
        ),
    ] = None,
    per_day: Annotated[
        float | None,
        typer.Option(
            help="Nats that all reports of one day, UTC, may cost; inf to leave it to the budget.",
            show_default="that in the ledger",
            rich_help_panel=_LEDGER_PANEL,
        ),
    ] = None,
    assume: Annotated[
        Assumption | None,
        typer.Option(
            help="Assumption about the user's record. constant: it never changes; another one is refused. "
            "values: each attribute has at most --max-values values; the times of their changes are not hidden. "
            "fresh: anything may change, and every report has new permanent noise; many reports cost most.",
            show_default="that in the ledger, constant for a new user",
            rich_help_panel=_LEDGER_PANEL,
        ),
    ] = None,
    max_values: Annotated[
        int | None,
        typer.Option(
            help="Number of different values that one attribute may have, with --assume values; one more is refused.",
            show_default=False,
            rich_help_panel=_LEDGER_PANEL,
        ),
    ] = None,
    linked: Annotated[
        bool | None,
        typer.Option(
            "--linked/--unlinked",
            help="Whether reports may carry a pseudonym by which those of a period are linked, if the collection "
            "asks for it; else they are refused.",
            show_default="that in the ledger, unlinked for a new user",
            rich_help_panel=_LEDGER_PANEL,
        ),
    ] = None,
    change_terms: Annotated[
        bool,
        typer.Option(
            "--change-terms",
            help="Agree to --budget, --per-day, --assume, --max-values and --linked although they allow more than "
            "before. Stricter ones need no agreement.",
            rich_help_panel=_LEDGER_PANEL,
        ),
    ] = False,
    new_ledger: Annotated[
        bool,
        typer.Option(
            "--new-ledger",
            help="Create a ledger for a secret that has none; earlier reports with the secret are not counted.",
            rich_help_panel=_LEDGER_PANEL,
        ),
    ] = False,
    form: Annotated[
        Format,
        typer.Option("--format", help="Format of the lines. auto: JSON if the first line begins with a brace."),
    ] = Format.AUTO,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Skip lines that are not records, and count them.")
    ] = False,
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


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportOptions:
    """The options of `report`; each kind of collection refuses those that it has no use for.

    path: file of records or sets; - for standard input.
    epochs: number of epochs, for a collection of item sets.
    secret_file: file of the user's secret; None for that of the application's settings.
    given: the terms that were given, by the names of the fields of `Terms`; the others stay as they are.
    """

    path: Path
    epochs: int | None
    secret_file: Path | None
    many_users: bool
    given: Mapping[str, Any]
    change_terms: bool
    new_ledger: bool
    form: Format
    skip_bad: bool
    settings: Settings

    def user(self) -> _User:
        """Load or create the user's secret and ledger.

        Raises:
            LedgerError, SecretError: one of them cannot be used.
        """
        # A command is typed in a directory, so here a relative path has a meaning.
        secret_file = (self.secret_file or Path(typer.get_app_dir("stream-ldp")) / "secret").resolve()
        if self.new_ledger or not secret_file.exists():
            terms = self._terms(Terms()) if "budget" in self.given else None
            if not self.new_ledger:
                return load_or_create_user(secret_file, terms=terms)
            if terms is None:
                fail("--new-ledger needs --budget: the nats that the user may spend, for ever", code=2)
            secret = load_or_create_secret(secret_file)
            return secret, PrivacyLedger.create(ledger_file_of(secret_file), secret=secret, terms=terms)
        self._terms(Terms())  # a mistake in the options is found before anything is opened
        secret, ledger = load_or_create_user(secret_file)
        if self.given:
            ledger.agree(self._terms(ledger.terms), change_terms=self.change_terms)
        return secret, ledger

    def _terms(self, agreed: Terms) -> Terms:
        """Return agreed terms with those that were given in their place."""
        changed = dict(self.given)
        if "assumption" in changed:
            changed.setdefault("max_values", None)
        try:
            return replace(agreed, **changed)
        except ParameterError as error:
            fail(f"--budget, --per-day, --assume, --max-values: {error}", code=2)


def report_records(collection: JointCollection, options: ReportOptions) -> None:
    """Publish the records of one user or of many to a collection of joint distributions."""
    _publish(collection, options, Reporter)


def report_sampled(collection: AskingCollection, options: ReportOptions) -> None:
    """Publish the records of one user or of many to a sampled collection."""
    _publish(collection, options, SampledReporter)


def report_places(collection: PlaceCollection, options: ReportOptions) -> None:
    """Publish the places of one user or of many to a collection of places."""
    _publish(collection, options, PlaceReporter)


def report_strings(collection: StringCollection, options: ReportOptions) -> None:
    """Publish the strings of one user or of many to a collection of strings."""
    _publish(collection, options, StringReporter)


def _publish(
    collection: CollectionOfRecords, options: ReportOptions, reporter: Callable[..., RecordReporter]
) -> None:
    if options.epochs is not None:
        fail(f"--epochs is for collections of item sets, which {collection.name} is not: leave it out", code=2)
    user = None
    if not options.many_users:
        user = options.user()
    elif options.secret_file is not None or options.new_ledger or options.change_terms or options.given:
        fail(
            "--many-users cannot be used with --secret-file, --budget, --per-day, --assume, --max-values, "
            "--change-terms or --new-ledger: a secret is one user's, and so is a ledger",
            code=2,
        )
    run_client(_report(collection, options, user, reporter))


async def _report(
    collection: CollectionOfRecords,
    options: ReportOptions,
    user: _User | None,
    reporter_of: Callable[..., RecordReporter],
) -> None:
    source = "standard input" if str(options.path) == "-" else str(options.path)
    skipped = _Skipped()
    on_skip = skipped.add if options.skip_bad else None
    reader = RecordReader(collection, form=options.form, source=source, on_skip=on_skip)
    secret, ledger = user or (None, None)
    reporter = reporter_of(collection, settings=options.settings, secret=secret, ledger=ledger)
    problem = None
    try:
        with progress_bar() as progress:
            # Whoever types records sees them already.
            task = progress.add_task("reports", total=None, visible=str(options.path) != "-")
            async with reporter, aclosing(lines_of(options.path)) as chunks:
                async for lines in chunks:
                    records = reader.read(lines)
                    if ledger is None:
                        await reporter.report_many(records, secrets=None)
                    else:
                        await _report_series(reporter, records)
                    progress.update(task, advance=len(records))
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
    counted = "; what these users have spent is not counted" if ledger is None else ""
    typer.echo(f"{reporter.acknowledged} reports of {whose} published{left_out}{counted}")
    if ledger is not None:
        typer.echo(spent_line(ledger))
    if problem := problem or reader.problem:
        fail(problem)


async def _report_series(reporter: RecordReporter, records: Sequence[tuple[Any, ...]]) -> None:
    """Report records of one user, up to the first that is refused."""
    try:
        await reporter.report_series(records)
    except ReportRefused:
        for record in records:
            await reporter.report_series([record])


_OTHER_VALUES = (
    "  -> if each line is another user's: --many-users\n"
    "  -> if this user's values change: --assume values --max-values N, or --assume fresh, with --change-terms"
)


class _Skipped:
    """A counter of the bad lines that are skipped, which prints the first few."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, problem: str) -> None:
        self.count += 1
        if self.count <= _SHOWN:
            typer.echo(f"skipped {problem}", err=True)
