"""The command that publishes reports of records from a file or standard input, or of one user's set of items."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stream_ldp.cli.arguments import CollectionFile
from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.item_sets import items_of
from stream_ldp.cli.inputs.records import Format, RecordReader, lines_of
from stream_ldp.cli.options import CLIENT, with_settings
from stream_ldp.cli.running import run_client, spent_line, until_signal
from stream_ldp.client.errors import DeliveryError
from stream_ldp.client.reporter import Reporter, now_ms
from stream_ldp.errors import DataError, ParameterError
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import kind_of, load_collection, rounds_of
from stream_ldp.ledger.ledger_file import PrivacyLedger, load_or_create_user
from stream_ldp.ledger.secret import ledger_file_of, load_or_create_secret
from stream_ldp.ledger.terms import Assumption, ReportRefused, Terms, TooManyValues
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.quantity import quantity
from stream_ldp.steps import share

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from stream_ldp.collection import Collection
    from stream_ldp.collection.records import CollectionOfRecords
    from stream_ldp.ledger.receipt import Receipt
    from stream_ldp.pipeline.kind import RoundMessage

_LEDGER_PANEL = "Privacy ledger"
_ITEMS_PANEL = "Item collections"

#: Number of skipped bad lines that are shown; the others are only counted.
_SHOWN = 10

_OTHER_USERS = "  -> if each line is another user's: --many-users"


@with_settings(CLIENT)
def report(
    file: CollectionFile,
    records: Annotated[
        Path,
        typer.Argument(
            metavar="RECORDS",
            help="File of CSV or JSON lines, one record a line; for an item collection, one set a line, and the last "
            "one counts. Use - for standard input.",
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
            help="Lifetime privacy budget of the user over all collections, in nats; inf to count only. "
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
    per_span: Annotated[
        float | None,
        typer.Option(
            help="Nats that all reports of any --span-days days that follow each other may cost; "
            "inf for no such budget.",
            show_default="that in the ledger",
            rich_help_panel=_LEDGER_PANEL,
        ),
    ] = None,
    span_days: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Days of 24 hours that --per-span is about.",
            show_default="those in the ledger",
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
            help="Agree to --budget, --per-day, --per-span, --assume, --max-values and --linked although they allow "
            "more than before. Stricter ones need no agreement.",
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
    too: --budget, --per-day, --per-span and --assume hold for all later reports, with or without these options. A
    report against them is refused and ends the command with status 1; the reports before it are published. With
    --many-users, nothing is counted.

    For an item collection, ONE user reports, once to each phase that asks them, until Ctrl-C: on the set of the last
    line that has come. A line is items separated by blanks, or a JSON list of items. A set is never an argument:
    every user of a machine can read the arguments of its commands.

    CSV begins with a line that names the attributes; a line of JSON is an object whose keys are the attributes. The
    first bad line ends the command with status 1: the lines before it are published, those after it are not.
    """
    collection: Any = load_collection(file)
    given = {
        "budget": budget,
        "per_day": per_day,
        "per_span": per_span,
        "span_days": span_days,
        "assumption": assume,
        "max_values": max_values,
        "linked": linked,
    }
    options = ReportOptions(
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
    )
    if kind_of(collection).rounds is None:
        _report_records(collection, options)
    else:
        _report_to_rounds(collection, options)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportOptions:
    """The options of `report`; records and sets refuse those of the other.

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

    def user(self) -> tuple[bytes, PrivacyLedger]:
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
                fail("--new-ledger needs --budget: the nats that the user may spend in a lifetime", code=2)
            secret = load_or_create_secret(secret_file)
            return secret, PrivacyLedger.create(ledger_file_of(secret_file), secret=secret, terms=terms)
        self._terms(Terms())  # a mistake in the options is found before anything is opened
        secret, ledger = load_or_create_user(secret_file)
        if self.given:
            ledger.agree(self._terms(ledger.terms), change_terms=self.change_terms)
        return secret, ledger

    def _terms(self, agreed: Terms) -> Terms:
        changed = dict(self.given)
        if "assumption" in changed:
            changed.setdefault("max_values", None)
        try:
            return replace(agreed, **changed)
        except ParameterError as error:
            names = ("assume" if name == "assumption" else name.replace("_", "-") for name in self.given)
            fail(f"{', '.join(f'--{name}' for name in names)}: {error}", code=2)


def _report_records(collection: CollectionOfRecords, options: ReportOptions) -> None:
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
    run_client(_publish(collection, options, user))


async def _publish(
    collection: CollectionOfRecords, options: ReportOptions, user: tuple[bytes, PrivacyLedger] | None
) -> None:
    source = "standard input" if str(options.path) == "-" else str(options.path)
    skipped = _Skipped()
    on_skip = skipped.add if options.skip_bad else None
    reader = RecordReader(collection, form=options.form, source=source, on_skip=on_skip)
    secret, ledger = user or (None, None)
    reporter = Reporter(collection, settings=options.settings, secret=secret, ledger=ledger)
    problem = receipt = None
    try:
        with share("reports") as advance:
            async with reporter, aclosing(lines_of(options.path)) as chunks:
                async for lines in chunks:
                    records = reader.read(lines)
                    if ledger is None:
                        await reporter.report_many(records, secrets=None)
                    else:
                        receipt = await _report_series(reporter, records) or receipt
                    if str(options.path) != "-":  # a user who types records sees them already
                        advance(len(records))
                    if reader.problem:
                        break
    except (DeliveryError, OSError) as error:
        problem = str(error)
    except TooManyValues as refusal:
        problem = f"{refusal}\n{_OTHER_USERS}"
    except ReportRefused as refusal:
        problem = str(refusal)
    left_out = f"; {quantity(skipped.count, 'line')} skipped" if skipped.count else ""
    whose = "as many users" if ledger is None else "one user"
    counted = "; what these users have spent is not counted" if ledger is None else ""
    echo(f"{quantity(reporter.acknowledged, 'report')} of {whose} published{left_out}{counted}")
    if ledger is not None:
        if receipt is not None:
            echo(str(receipt))
        echo(spent_line(ledger))
    if problem := problem or reader.problem:
        fail(problem)


async def _report_series(reporter: Reporter, records: Sequence[tuple[Any, ...]]) -> Receipt | None:
    """Report records of one user, up to the first that is refused, and return the last receipt."""
    try:
        return await reporter.report_series(records)
    except ReportRefused:
        receipt = None
        for record in records:
            receipt = await reporter.report_series([record]) or receipt
        return receipt


class _Skipped:
    """A counter of the bad lines that are skipped, which prints the first few."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, problem: str) -> None:
        self.count += 1
        if self.count <= _SHOWN:
            echo(f"skipped {problem}", err=True)


def _report_to_rounds(collection: Collection, options: ReportOptions) -> None:
    """Report on the set of the last line of a file that has come."""
    if options.many_users or options.skip_bad or options.form is not Format.AUTO:
        fail(
            "--many-users, --skip-bad and --format are for collections of records: here one user reports; for many "
            "users, use stream-ldp simulate",
            code=2,
        )
    rounds = rounds_of(collection)
    if not rounds.memoises(collection) and not options.given.keys().isdisjoint({"assumption", "max_values"}):
        fail(
            "--assume is for collections whose reports show permanent noise: here every report has noise of its own, "
            "and nothing is assumed of the set",
            code=2,
        )
    secret, ledger = options.user()

    def show(asked: RoundMessage) -> None:
        phase = rounds.phase(collection, asked)
        most = "at most " if phase.memoised else ""
        echo(f"epoch {asked.epoch} phase {asked.phase}: reported, for {most}{shown_epsilon(phase.epsilon)} nats")

    reporter = Reporter(collection, settings=options.settings, secret=secret, ledger=ledger, on_report=show)
    sets = _sets(options.path)
    problem = None
    try:
        run_client(until_signal(_hold(reporter, sets, seconds=_seconds(collection, options.epochs))))
    except (ReportRefused, OSError, DataError) as error:
        problem = str(error)
    echo(f"{quantity(reporter.acknowledged, 'report')} of one user published")
    if reporter.receipt is not None:
        echo(str(reporter.receipt))
    echo(spent_line(ledger))
    if problem is not None:
        fail(problem)


def _seconds(collection: Collection, epochs: int | None) -> float | None:
    """Return the seconds to the end of so many epochs, including the one in progress; None without an end."""
    if epochs is None:
        return None
    schedule, now = rounds_of(collection).schedule(collection), now_ms()
    last = now // schedule.size_ms // schedule.stride + epochs - 1
    return (schedule.window_of(last, schedule.phases) + schedule.size_ms - now) / 1_000


async def _sets(path: Path) -> AsyncGenerator[list[str], None]:
    source = "standard input" if str(path) == "-" else str(path)
    number = 0
    async with aclosing(lines_of(path)) as chunks:
        async for lines in chunks:
            for line in lines:
                number += 1
                try:
                    yield items_of(line.decode("utf-8-sig"))
                except UnicodeDecodeError:
                    raise DataError(f"{source}:{number}: not UTF-8") from None
                except DataError as error:
                    raise DataError(f"{source}:{number}: {error}") from None


async def _hold(reporter: Reporter, sets: AsyncGenerator[list[str], None], *, seconds: float | None) -> None:
    async def hold_each() -> None:
        async with aclosing(sets):
            async for items in sets:
                await reporter.report(items)

    async with reporter:
        tasks = [asyncio.create_task(hold_each()), asyncio.create_task(reporter.stopped())]
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
