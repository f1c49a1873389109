"""Describe a record of any topic of a collection, and never say what a report says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from stream_ldp.cli.displays.answer_text import AnswerText
from stream_ldp.kafka.registry import Registration
from stream_ldp.kafka.unreadable import fault_of
from stream_ldp.kinds import chunk_class, kind_of
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.answer import moment
from stream_ldp.pipeline.partials import CutOff, Watermark, decode
from stream_ldp.pipeline.problem import problem_of
from stream_ldp.pipeline.rows import COLUMNS
from stream_ldp.pipeline.saved_panes import Saved
from stream_ldp.pipeline.windows import pane_of, windows_of
from stream_ldp.quantity import quantity
from stream_ldp.service.dead_letters import DeadLetter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiokafka import ConsumerRecord

    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.layout import Layout

#: What a record is, in one sentence, and what it says, by name.
Description = tuple[str, dict[str, Any]]

#: Most parts of a list that are listed one by one.
MAX_PARTS = 10


def describe(
    record: ConsumerRecord, suffix: str, collection: Collection, *, layouts: Mapping[bytes, Layout]
) -> Description:
    """Describe what a record is.

    suffix: what its topic is named after the prefix and the collection's name, such as `reports`.
    layouts: of the batches that the collection may be sent, by fingerprint.
    """
    if (fault := fault_of(record)) is not None:
        return f"a record that cannot be read: {fault}", {}
    if record.value is None:
        return "a tombstone: it has no value, and compaction deletes the records with its key", {"key": _key(record)}
    kind = kind_of(collection)
    try:
        match suffix:
            case "reports":
                return _batch(record.value, collection, layouts)
            case "partials":
                return _partial(record.value)
            case "rounds":
                return _round(record.value, collection)
            case "dead-letters":
                return _letter(record, collection, layouts)
            case "collections":
                return _registration(record, collection)
            case "records":
                chunk = chunk_class().from_bytes(record.value)
                what = (
                    f"{len(chunk.records):,} synthetic records, of nobody: part {chunk.chunk + 1} of {chunk.chunks}"
                )
                facts = {
                    "window": str(chunk.window),
                    "made_from": f"{quantity(chunk.reports, 'report')}, by {chunk.method}",
                }
                return what, facts | _fingerprint(bytes.fromhex(chunk.fingerprint), collection)
            case _ if suffix == f"{collection.topics.answers}-rows":
                return _row(record.value, collection)
            case _:
                answer = kind.answer.from_bytes(record.value)
                what = "a final answer, which never changes" if answer.final else "a provisional answer"
                facts = {"says": AnswerText.of(answer).line(), "window": str(answer.window)}
                return what, facts | _fingerprint(bytes.fromhex(answer.fingerprint), collection)
    except Exception as error:  # noqa: BLE001  whatever is written there ends no command
        return f"not what belongs on this topic: {problem_of(error)}", {"key": _key(record)}


def time_text(time_ms: int) -> str:
    """Write a time in ISO 8601, UTC, unless a wrong clock has put it beyond all dates."""
    try:
        return moment(time_ms)
    except (OverflowError, ValueError, OSError):
        return f"{time_ms} ms"


def _batch(value: bytes, collection: Collection, layouts: Mapping[bytes, Layout]) -> Description:
    decoded = wire.decode([value], formats=layouts)
    header = wire.Header.of(value)
    refused = "".join(f"{why.reason}: {why.detail}" for _, why in decoded.rejected)
    if header is None:
        return f"{len(value)} bytes that are no batch", {"refused": refused}
    window = collection.window
    starts = windows_of(pane_of(header.time_ms, window), window)
    facts = {
        "event_time": time_text(header.time_ms),
        "windows": [f"{time_text(start)}/{time_text(start + window.size_ms)}" for start in starts],
        "batch_id": header.batch_id.hex(),
        **_fingerprint(header.fingerprint, collection, others=layouts),
        "refused": refused or "no, unless its time was wrong or its windows had closed when it came",
    }
    return f"a batch of {quantity(header.count, 'report')}, in {len(value):,} bytes", facts


def _partial(value: bytes) -> Description:
    record = decode(value)
    if isinstance(record, CutOff):
        until = time_text(record.time_ms)
        what = f"a cut-off: windows of {record.collection} up to {until} are closed without region {record.region}"
        return what, {
            "collection": record.collection,
            "region": record.region,
            "fingerprint": record.fingerprint,
            "passed": {str(partition): time_text(time_ms) for partition, time_ms in record.passed},
        }
    said: dict[str, Any] = {
        "collection": record.collection,
        **({"region": record.region} if record.region else {}),
        "source_partition": record.partition,
        "generation": record.generation,
        "fingerprint": record.fingerprint,
    }
    place = f"partition {record.partition} of {record.collection}"
    named = f"{place} in region {record.region}" if record.region else place
    if isinstance(record, Saved):
        return f"{record.sort} that are saved of windows of {named} that are open, for its next owner", said
    if isinstance(record, Watermark):
        if record.time_ms is None:
            return f"a watermark: windows that are open wait for {named}", said
        return f"a watermark: {named} is complete up to {time_text(record.time_ms)}", said
    first, *others = record.parts
    pane = f"{time_text(first.pane_ms)}/{time_text(first.pane_ms + first.pane_length_ms)}"
    on = f"{', '.join(first.of)} and {quantity(len(others), 'other statistic')}" if others else ", ".join(first.of)
    what = (
        f"counts of {quantity(first.counts.reports, 'report')} on {on} in {pane}, from {named} "
        f"before offset {first.end}"
    )
    return what, said | {"segment": first.segment}


def _round(value: bytes, collection: Collection) -> Description:
    rounds = kind_of(collection).rounds
    if rounds is None:
        raise ValueError("collections of this kind have no rounds")
    asked = rounds.read(collection, value)
    said = {
        name: _few(part)
        for name, part in json.loads(asked.to_bytes()).items()
        if name not in {"schema_version", "collection"}
    }
    said |= {name: time_text(said[name]) for name in ("start_ms", "end_ms") if name in said}
    return "a round: what clients are asked", said | {"batches_fingerprint": asked.fingerprint.hex()}


def _row(value: bytes, collection: Collection) -> Description:
    row = json.loads(value)
    if isinstance(row, dict) and row.keys() == {"schema", "payload"}:
        times = {name: moment(row["payload"][name]) for name, kind in COLUMNS.items() if kind == "time"}
        row = row["payload"] | times
    if not isinstance(row, dict) or row.keys() != COLUMNS.keys():
        raise ValueError("not a row of the columns that this release writes")
    facts = {"says": f"{row['cell_name']}: {row['estimate']}", "series": row["series"], "window": row["window_start"]}
    return "a cell of a final answer, as a flat row", facts | _fingerprint(
        bytes.fromhex(row["fingerprint"]), collection
    )


def _letter(record: ConsumerRecord, collection: Collection, layouts: Mapping[bytes, Layout]) -> Description:
    letter = DeadLetter.of(record)
    inside: dict[str, Any]
    if letter.value is None:
        what, inside = "a value that is too long for a letter", {}
    else:
        what, inside = _batch(letter.value, collection, layouts)
    inside |= {"count": letter.count, "bytes": letter.value_bytes}
    place = f"{letter.topic} partition {letter.source_partition} offset {letter.source_offset}"
    inside.pop("refused", None)
    return f"a dead letter: {what}", {"reason": letter.reason.value, "detail": letter.detail, "from": place} | inside


def _registration(record: ConsumerRecord, collection: Collection) -> Description:
    known, here = Registration.from_record(record.key, record.value), Registration.of(collection)
    said: dict[str, Any] = {"fingerprint": known.fingerprint.hex()}
    if known.name == here.name:
        said["differs_from_file"] = known.differences(here) or "no"
    return f"the registration of collection {known.name}", said


def _fingerprint(
    found: bytes, collection: Collection, *, others: Mapping[bytes, Layout] | None = None
) -> dict[str, str]:
    whose = "of an unknown collection"
    if found == collection.fingerprint:
        whose = f"that of {collection.name}"
    elif found in (others or {}):
        whose = f"that of a round of {collection.name}"
    return {"fingerprint": f"{found.hex()}, {whose}"}


def _few(part: Any) -> Any:
    return f"{len(part):,} in all" if isinstance(part, list) and len(part) > MAX_PARTS else part


def _key(record: ConsumerRecord) -> str | None:
    return None if record.key is None else record.key.decode(errors="backslashreplace")
