"""Final answers as rows over HTTP: which of them a query asks for, and in what form they leave."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2s
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from stream_ldp.collection.located import suggestion
from stream_ldp.errors import ParameterError
from stream_ldp.extras import MissingExtra, imported
from stream_ldp.http.refusal import Refused
from stream_ldp.pipeline.answer import moment
from stream_ldp.pipeline.explanation import sentences
from stream_ldp.pipeline.rows import Row, arrow_of, csv_of, rows_of
from stream_ldp.pipeline.selection import EVERYTHING, Selection
from stream_ldp.pipeline.windows import FIRST_MS, LAST_MS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from multidict import MultiMapping

    from stream_ldp.collection.labels import Labels
    from stream_ldp.page.history import History

#: Final answers of a page of rows where none are asked for, and the most: a joint of 4,096 cells has 2 MB of rows.
LIMIT, MAX_LIMIT = 100, 1_000

MEDIA = {"json": "application/json", "csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """What is asked for.

    selection: what of each answer is wanted.
    between: the ranges of the selection, as they were given.
    since_ms, until_ms: windows that begin at the first or later, and end at the second or earlier; None for any.
    limit: number of answers after which a page of rows ends, with its last window.
    """

    selection: Selection = EVERYTHING
    between: tuple[str, ...] = ()
    series: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    limit: int = LIMIT
    form: str = "json"

    @classmethod
    def parse(cls, given: MultiMapping[str]) -> Query:
        """Read the parameters of a request.

        Raises:
            Refused: one is unknown, or has no such value.
        """
        known = ("of", "given", "between", "series", "since", "until", "limit", "format")
        for name in given:
            if name not in known:
                raise _bad(f"{name!r} is not a parameter{suggestion(name, known)}")
        form, limit = given.get("format", "json"), given.get("limit", str(LIMIT))
        if form not in MEDIA:
            raise _bad(f"format is one of {', '.join(MEDIA)}")
        if not (limit.isascii() and limit.isdecimal() and 1 <= int(limit[:9]) <= MAX_LIMIT):
            raise _bad(f"limit is a number from 1 to {MAX_LIMIT}")
        if given.get("given") and not given.get("of"):
            raise _bad("given needs of: the attributes whose distribution is wanted")
        between = tuple(each for each in given.getall("between", ()) if each)
        try:
            selection = Selection.parse(between, of=_names(given.get("of", "")), given=_names(given.get("given", "")))
        except ParameterError as error:
            raise _bad(f"between: {error}") from None
        return cls(
            selection=selection,
            between=between,
            series=given.get("series"),
            since_ms=_time("since", given.get("since")),
            until_ms=_time("until", given.get("until")),
            limit=int(limit),
            form=form,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """Rows in the form that was asked for.

    etag: changes with the body.
    next: the query of the next page of rows; None after the last.
    """

    body: bytes
    media: str
    next: str | None

    @property
    def etag(self) -> str:
        """A tag of the body, as a header has it."""
        return f'"{blake2s(self.body, digest_size=16).hexdigest()}"'


def find(history: History, collection: str, query: Query) -> Found:
    """Find the rows of a collection's finals; it is slow, so it belongs on a thread of its own.

    Raises:
        Refused: no answer has what is asked for, or the form cannot be made here.
    """
    _require_attributes(query.selection, history.attributes.get(collection, ()))
    finals = [final for final in history.finals(collection) if _is_wanted(final, query)]
    page = list(_page(finals, query.limit))
    later = finals[len(page)].window.start_ms if len(page) < len(finals) else None
    return Found(
        body=_body(
            _rows(page, query, history.labels(collection)),
            query.form,
            collection=collection,
            oldest=history.oldest(collection),
            later=later,
        ),
        media=MEDIA[query.form],
        next=None if later is None else _after(query, later),
    )


def explained(history: History, collection: str, query: Query) -> list[dict[str, Any]]:
    """Describe in sentences the finals that a query chooses; slow, so it belongs on a thread of its own."""
    finals = [final for final in history.finals(collection) if _is_wanted(final, query)]
    labels = history.labels(collection)
    return [
        {
            "series": final.series,
            "window_start": moment(final.window.start_ms),
            "sentences": sentences(final.labelled(labels)),
        }
        for final in _page(finals, query.limit)
    ]


def _require_attributes(selection: Selection, known: Sequence[str]) -> None:
    """Require that a selection names attributes of the collection, which need no answers to be known.

    known: none where they are not.
    """
    for name in (*selection.of, *selection.given, *(selection.within or ())):
        if known and name not in known:
            raise _bad(f"{name!r} is not an attribute of the collection{suggestion(name, known)}")


def _is_wanted(final: Any, query: Query) -> bool:
    return (
        (query.series is None or final.series == query.series)
        and (query.since_ms is None or final.window.start_ms >= query.since_ms)
        and (query.until_ms is None or final.window.end_ms <= query.until_ms)
    )


def _page(finals: Sequence[Any], limit: int) -> Iterator[Any]:
    """Yield the first answers, up to the limit, and the others of the last one's window: the next begins later."""
    for place, final in enumerate(finals):
        if place >= limit and final.window.start_ms != finals[place - 1].window.start_ms:
            return
        yield final


def _rows(finals: Sequence[Any], query: Query, labels: Labels) -> list[Row]:
    rows: list[Row] = []
    refused: ParameterError | None = None
    for final in finals:
        try:
            rows += rows_of(final, selection=query.selection, labels=labels)
        except ParameterError as error:
            refused = refused or error
    if refused is not None and not rows:
        raise _bad(str(refused))
    return rows


def _body(rows: Sequence[Row], form: str, *, collection: str, oldest: int | None, later: int | None) -> bytes:
    if form == "csv":
        return csv_of(rows).encode()
    if form == "parquet":
        try:
            table, parquet = arrow_of(rows), imported("pyarrow.parquet", extra="export")
        except MissingExtra as error:
            raise Refused(501, "no_parquet", str(error).splitlines()[0]) from None
        file = io.BytesIO()
        parquet.write_table(table, file)
        return file.getvalue()
    document = {
        "collection": collection,
        "oldest": None if oldest is None else moment(oldest),
        "next_since": None if later is None else moment(later),
        "rows": [dict(row.values) for row in rows],
    }
    return json.dumps(document, ensure_ascii=False).encode()


def _after(query: Query, since_ms: int) -> str:
    """Write the query of the next page."""
    parts = {
        "of": ",".join(query.selection.of),
        "given": ",".join(query.selection.given),
        "between": query.between,
        "series": query.series,
        "since": moment(since_ms),
        "until": None if query.until_ms is None else moment(query.until_ms),
        "limit": None if query.limit == LIMIT else query.limit,
        "format": query.form,
    }
    return urlencode({name: value for name, value in parts.items() if value}, doseq=True)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip()))


def _time(name: str, text: str | None) -> int | None:
    """Read a time: ISO 8601, UTC without a zone, or milliseconds since 1970, as Grafana's variables have them."""
    if not text:
        return None
    # Eight digits are a date of ISO 8601.
    if text.removeprefix("-").isdecimal() and text.isascii() and len(text) != 8:
        time_ms = int(text[:16])
    else:
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            raise _bad(f"{name} is a time like 2026-01-31T12:30:00Z, or milliseconds since 1970") from None
        time_ms = round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1_000)
    return min(max(time_ms, FIRST_MS), LAST_MS)  # what the query of the next page can write


def _bad(detail: str) -> Refused:
    return Refused(400, "bad_query", detail)
