"""This module runs `stream-ldp report` for a collection of records: those of one user, or one of each of many."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.records import RecordReader, lines_of
from stream_ldp.cli.progress import progress_bar
from stream_ldp.cli.running import run_client, spent_line
from stream_ldp.client.errors import DeliveryError
from stream_ldp.client.place_reporter import PlaceReporter
from stream_ldp.client.reporter import Reporter
from stream_ldp.client.sampled_reporter import SampledReporter
from stream_ldp.client.string_reporter import StringReporter
from stream_ldp.privacy.ledger.ledger_file import PrivacyLedger
from stream_ldp.privacy.ledger.terms import ReportRefused, TooManyValues
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream_ldp.cli.report_options import ReportOptions
    from stream_ldp.client.record_reporter import RecordReporter
    from stream_ldp.collection.records import CollectionOfRecords
    from stream_ldp.places.collection import PlaceCollection
    from stream_ldp.questions.collection import AskingCollection
    from stream_ldp.records.collection import JointCollection
    from stream_ldp.strings.collection import StringCollection

__all__ = ["report_places", "report_records", "report_sampled", "report_strings"]

_User = tuple[bytes, PrivacyLedger]

#: Number of skipped bad lines that are shown; the others are only counted.
_SHOWN = 10

_OTHER_VALUES = (
    "  -> if each line is another user's: --many-users\n"
    "  -> if this user's values change: --assume values --max-values N, or --assume fresh, with --change-terms"
)


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
    left_out = f"; {quantity(skipped.count, 'line')} skipped" if skipped.count else ""
    whose = "as many users" if ledger is None else "one user"
    counted = "; what these users have spent is not counted" if ledger is None else ""
    echo(f"{quantity(reporter.acknowledged, 'report')} of {whose} published{left_out}{counted}")
    if ledger is not None:
        echo(spent_line(ledger))
    if problem := problem or reader.problem:
        fail(problem)


async def _report_series(reporter: RecordReporter, records: Sequence[tuple[Any, ...]]) -> None:
    """Report records of one user, up to the first that is refused."""
    try:
        await reporter.report_series(records)
    except ReportRefused:
        for record in records:
            await reporter.report_series([record])


class _Skipped:
    """A counter of the bad lines that are skipped, which prints the first few."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, problem: str) -> None:
        self.count += 1
        if self.count <= _SHOWN:
            echo(f"skipped {problem}", err=True)
