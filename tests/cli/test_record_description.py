"""Records in words: an operator is told what each of them is, whatever it holds, and no report."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from stream_ldp.cli.record_description import describe, time_text
from stream_ldp.kafka.unreadable import UnreadableRecord
from stream_ldp.kinds import kind_of
from stream_ldp.pipeline import partials, wire
from stream_ldp.pipeline.answer import Status
from stream_ldp.pipeline.rows import COLUMNS, rows_of
from stream_ldp.pipeline.saved_panes import PanesList, Saved
from stream_ldp.records.layout import JointLayout
from stream_ldp.sets.layout import PhaseLayout
from tests.client.examples import collection_of, estimate_of
from tests.client.items import film_round, films
from tests.service.lived import batch

SURVEY = collection_of()
LAYOUTS = {SURVEY.fingerprint: JointLayout(SURVEY)}


def record(value: bytes | None, *, key: bytes | None = None) -> Any:
    return SimpleNamespace(value=value, key=key, headers=(), offset=0, timestamp=0)


def test_a_batch_that_no_file_here_has_made_is_reported_as_foreign() -> None:
    value = batch(collection_of(mechanism="{kind: rr-ldp, f: 0.5, p: 0.5, q: 0.75}"), time_ms=61_000, reports=3)
    what, said = describe(record(value), "reports", SURVEY, layouts=LAYOUTS)
    assert what == f"a batch of 3 reports, in {len(value)} bytes"
    assert said["windows"] == ["1970-01-01T00:01:00Z/1970-01-01T00:02:00Z"]
    assert said["fingerprint"].endswith(", of an unknown collection")
    assert said["refused"].startswith("unknown_fingerprint: ")


def test_a_batch_that_answers_a_round_is_reported_as_such() -> None:
    collection = films()
    asked = film_round(2, epoch=3, collection=collection, candidates=range(4))
    layout = PhaseLayout(collection, asked)
    value = wire.encode(
        wire.Batch(fingerprint=asked.fingerprint, batch_id=bytes(16), time_ms=asked.start_ms, rows=_rows(layout))
    )
    _, said = describe(record(value), "reports", collection, layouts={layout.fingerprint: layout})
    assert said["fingerprint"].endswith(f", that of a round of {collection.name}")
    what, said = describe(record(asked.to_bytes()), "rounds", collection, layouts={})
    assert what == "a round: what clients are asked"
    assert (said["phase"], said["epoch"], said["candidates"]) == (2, 3, [0, 1, 2, 3])
    assert said["batches_fingerprint"] == asked.fingerprint.hex()


def _rows(layout: PhaseLayout) -> Any:
    return np.zeros((1, -(-layout.bits // 8)), dtype=np.uint8)


@pytest.mark.parametrize("final", [True, False])
def test_an_answer_is_reported_with_its_window_and_on_one_line(final: bool) -> None:
    answer = estimate_of(final=final)
    what, said = describe(record(answer.to_bytes()), "estimates", SURVEY, layouts={})
    assert what.startswith("a final answer" if final else "a provisional answer")
    assert said["window"] == "1970-01-01T00:00:00Z/1970-01-01T00:01:00Z"
    assert "reports=12345" in said["says"]
    assert said["fingerprint"].endswith(f", that of {SURVEY.name}")


def test_a_message_that_nobody_reported_has_no_numbers() -> None:
    silent = estimate_of(status=Status.NO_REPORTS)
    _, said = describe(record(silent.to_bytes()), "estimates", SURVEY, layouts={})
    assert said["says"].endswith("bathing-mobility no-reports")


def test_a_row_is_reported_by_its_cell() -> None:
    row, *_ = rows_of(estimate_of())
    what, said = describe(record(row.to_bytes()), "estimates-rows", SURVEY, layouts={})
    assert what == "a cell of a final answer, as a flat row"
    assert said["says"] == f"{row.values['cell_name']}: {row.values['estimate']}"
    assert (said["series"], said["window"]) == ("bathing-mobility", "1970-01-01T00:00:00Z")
    assert said["fingerprint"].endswith(f", that of {SURVEY.name}")


@pytest.mark.parametrize(
    "suffix",
    ["reports", "partials", "estimates", "estimates-rows", "rounds", "dead-letters", "collections", "records"],
)
@pytest.mark.parametrize(
    "value",
    [
        *(b"", b"{}", b"[]", b"7", b"\xff" * 100, b"[" * 100_000),
        *(b'{"schema": 1, "payload": 2}', json.dumps(dict.fromkeys(COLUMNS)).encode()),
    ],
)
def test_junk_on_any_topic_is_reported_as_junk(suffix: str, value: bytes) -> None:
    what, _ = describe(record(value), suffix, SURVEY, layouts=LAYOUTS)
    assert "no batch" in what or what.startswith("not what belongs on this topic: ")


def test_what_is_saved_of_open_windows_is_reported_without_a_hash() -> None:
    source: dict[str, Any] = {"collection": "survey", "fingerprint": "ab" * 16, "partition": 3, "generation": 1}
    hashes = Saved.of_hashes(np.array([7, 8], dtype=np.uint64), **source)
    listed = Saved.of_panes(PanesList(file="f", offset=40, id_key="aa", panes=()), **source)
    of = "that are saved of windows of partition 3 of survey that are open, for its next owner"
    for saved, told in ((hashes, f"hashes {of}"), (listed, f"panes {of}")):
        _, value = partials.encode(saved, writer="w")
        what, said = describe(record(value), "partials", SURVEY, layouts={})
        assert what == told
        assert said == {"collection": "survey", "source_partition": 3, "generation": 1, "fingerprint": "ab" * 16}


def test_a_tombstone_and_a_damaged_record_are_reported_as_they_are() -> None:
    what, said = describe(record(None, key=b"its key"), "partials", SURVEY, layouts={})
    assert what.startswith("a tombstone")
    assert said == {"key": "its key"}
    damaged = UnreadableRecord(*[None] * 11, fault="its checksum is wrong")
    assert describe(damaged, "reports", SURVEY, layouts={}) == (
        "a record that cannot be read: its checksum is wrong",
        {},
    )


def test_no_row_of_a_report_is_reported() -> None:
    value = bytearray(batch(SURVEY, time_ms=0, reports=40))
    what, said = describe(record(bytes(value)), "reports", SURVEY, layouts=LAYOUTS)
    assert {"rows", "bits", "values"} & set(said) == set()
    assert "00" * 20 not in f"{what}{said}".replace(f"{bytes(range(16)).hex()}", "")
    assert kind_of(SURVEY).name == "records"


def test_a_time_beyond_all_dates_is_reported_as_a_number() -> None:
    assert time_text(0) == "1970-01-01T00:00:00Z"
    assert time_text(2**62) == f"{2**62} ms"
