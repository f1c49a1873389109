"""The arguments and options that several commands take, each described once."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from stream_ldp.collection import milliseconds as duration


def time_option(text: str) -> datetime:
    """Read a time in ISO 8601, where one without a zone is UTC, or how long ago it was, such as 30d."""
    if re.fullmatch(r"[0-9]+(s|m|h|d)", text):
        return datetime.now(UTC) - timedelta(milliseconds=duration(text))
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a time like 2026-01-31T12:30:00Z, or 30d ago") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def milliseconds(time: datetime | None) -> int | None:
    """Return a time as milliseconds since 1970-01-01 UTC, as windows have them; None stays None."""
    return None if time is None else round(time.timestamp() * 1000)


CollectionFile = Annotated[Path, typer.Argument(metavar="COLLECTION", help="Collection file.", dir_okay=False)]

CollectionFiles = Annotated[
    list[Path], typer.Argument(metavar="COLLECTION", help="One or more collection files.", dir_okay=False)
]

CollectionOrName = Annotated[
    str, typer.Argument(metavar="COLLECTION", help="Collection file, or a collection's name.")
]

CollectionsOrNames = Annotated[
    list[str],
    typer.Argument(metavar="COLLECTION", help="One or more collection files, or names of registered collections."),
]

EstimateNames = Annotated[
    list[str] | None,
    typer.Option(
        "--estimate",
        metavar="NAME",
        help="Estimate, by its name in the collection file; give it again for more.",
        show_default="all",
    ),
]

Since = Annotated[
    datetime | None,
    typer.Option(
        parser=time_option,
        metavar="TIME",
        help="All answers of windows that begin then or later: ISO 8601, UTC without a zone, or 30d for so long ago.",
        show_default="the newest",
    ),
]

WindowStart = Annotated[
    datetime | None,
    typer.Option(
        parser=time_option,
        metavar="TIME",
        help="Start of the window, ISO 8601; UTC without a zone.",
        show_default="the last one with a final answer",
    ),
]
