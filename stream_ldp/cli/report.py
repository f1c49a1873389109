"""`stream-ldp report`: publish records from a file or standard input."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from typing import Annotated

import typer

from stream_ldp.cli._client import run_client
from stream_ldp.cli._records import Format, RecordReader, lines_of
from stream_ldp.cli.options import CLIENT, fail, load_collections, with_settings
from stream_ldp.client import DeliveryError, Reporter, SecretError, load_or_create_secret
from stream_ldp.collection import Collection
from stream_ldp.settings import Settings

__all__ = ["report"]

#: Bad lines that are shown when they are skipped; the others are counted.
_SHOWN = 10


@with_settings(CLIENT)
def report(
    file: Annotated[Path, typer.Argument(metavar="COLLECTION", help="Collection file.", dir_okay=False)],
    records: Annotated[
        Path,
        typer.Argument(
            metavar="RECORDS",
            help="CSV or JSON lines, one record a line; - for standard input.",
            show_default=False,
        ),
    ] = Path("-"),
    *,
    secret_file: Annotated[
        Path | None,
        typer.Option(
            help="The user's secret; made, for its owner alone, if there is none.",
            show_default="`secret` in the directory of your application settings",
            dir_okay=False,
        ),
    ] = None,
    many_users: Annotated[
        bool,
        typer.Option("--many-users", help="Each line is another user, who reports once in a lifetime: no secret."),
    ] = False,
    form: Annotated[
        Format, typer.Option("--format", help="auto: JSON if the first line begins with a brace.")
    ] = Format.AUTO,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out lines that are not records, and count them.")
    ] = False,
    settings: Settings,
) -> None:
    """Perturb records on this machine and publish them.

    All lines are reports of ONE user, whose permanent noise comes from the secret file: it protects those who report
    again and again, as devices do. A file of many people's answers needs --many-users: under one secret all of them
    would share their noise, and the estimate would be wrong. With --many-users nobody may ever report twice: the
    noise of two reports averages out.

    CSV begins with a line that names the attributes; a line of JSON is an object of them. Lines are published as they
    come. The first bad one ends the command with 1: what came before it is published, what comes after it is not.
    """
    collection = load_collections([file])[str(file)]
    secret = None
    if many_users and secret_file is not None:
        fail("--many-users and --secret-file do not go together: a secret is one user's", code=2)
    if not many_users:
        try:
            secret = load_or_create_secret(secret_file or Path(typer.get_app_dir("stream-ldp")) / "secret")
        except SecretError as error:
            fail(str(error))
    run_client(_report(collection, records, form, secret, settings, skip_bad=skip_bad))


async def _report(
    collection: Collection, path: Path, form: Format, secret: bytes | None, settings: Settings, *, skip_bad: bool
) -> None:
    source = "standard input" if str(path) == "-" else str(path)
    skipped = _Skipped()
    reader = RecordReader(collection, form=form, source=source, on_skip=skipped.add if skip_bad else None)
    reporter = Reporter(collection, settings=settings, secret=secret)
    distinct: set[tuple[int, ...]] = set()
    problem = None
    try:
        async with reporter, aclosing(lines_of(path)) as chunks:
            async for lines in chunks:
                records = reader.read(lines)
                await reporter.report_many(records, secrets=None if secret is None else [secret] * len(records))
                if len(distinct) < 2:
                    distinct.update(records)
                if reader.problem:
                    break
    except (DeliveryError, OSError) as error:
        problem = str(error)
    if secret is not None and len(distinct) > 1:
        typer.echo(_DIFFERING, err=True)
    whose = "as many users" if secret is None else "one user"
    left_out = f"; {skipped.count} lines skipped" if skipped.count else ""
    typer.echo(f"{reporter.acknowledged} reports of {whose} published{left_out}")
    if problem := problem or reader.problem:
        fail(problem)


_DIFFERING = (
    "warning: the records differ, and all are published as one user's. If each is another user's, use --many-users. "
    "The privacy that is stated for a record that stays the same does not hold for these."
)


class _Skipped:
    """Bad lines that are left out: the first few are shown, all are counted."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, problem: str) -> None:
        self.count += 1
        if self.count <= _SHOWN:
            typer.echo(f"skipped {problem}", err=True)
