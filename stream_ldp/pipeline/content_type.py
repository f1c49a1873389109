"""The content types of records: a header says what a value is, and in which version, to a reader without its topic.

The header is the same bytes on every record of its sort, whatever its writer, so that it groups nobody's records. It
is short, since on a batch of one report it is a third of the record. Readers of this package do not need it: the
version that decides is in the value itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.pipeline import wire

if TYPE_CHECKING:
    from pydantic import BaseModel

#: Name of the header.
CONTENT_TYPE = "content-type"

#: Headers of a record: their names and values.
Headers = tuple[tuple[str, bytes], ...]

_TYPES = "application/vnd.sldp."


def _headers(name: str, *, version: int, suffix: str = "") -> Headers:
    return ((CONTENT_TYPE, f"{_TYPES}{name}{suffix};v={version}".encode()),)


#: The media type of a batch, without its version: over HTTP, scripts of a page may send it only where they may.
BATCH_TYPE = f"{_TYPES}batch"
#: A batch of reports.
BATCH = _headers("batch", version=wire.VERSION)
#: Version of partials and watermarks. It stands here, since clients need not load `stream_ldp.pipeline.partials`.
PARTIAL_VERSION = 1

#: A partial or a watermark.
PARTIAL = _headers("partial", version=PARTIAL_VERSION)
#: A further header of what only the next owner of a source partition needs: a mirror to another region leaves it out.
STAYS = ("stays-in-region", b"1")
#: What the name of a collection means.
REGISTRATION = _headers("registration", version=1, suffix="+json")
#: A cell of a final answer as a flat row.
ROW = _headers("row", version=1, suffix="+json")
#: The same with the schema of Kafka Connect.
CONNECT_ROW = _headers("connect-row", version=1, suffix="+json")
#: A refused record as it came, with the reason in other headers.
DEAD_LETTER = _headers("dead-letter", version=1)


def content_type_of(message: type[BaseModel]) -> Headers:
    """Return the headers of the records of a message, whose version is its `schema_version`, or 1 without one.

    >>> from stream_ldp.records.answer import Estimate
    >>> content_type_of(Estimate)
    (('content-type', b'application/vnd.sldp.estimate+json;v=1'),)
    """
    field = message.model_fields.get("schema_version")
    version = 1 if field is None else field.default
    return _headers(message.__name__.lower(), version=version, suffix="+json")
