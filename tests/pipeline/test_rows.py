"""Rows have one schema for all kinds, and each has a key of its own."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from stream_ldp.kinds import KINDS
from stream_ldp.pipeline.answer import RegionPart, RegionState
from stream_ldp.pipeline.content_type import CONTENT_TYPE
from stream_ldp.pipeline.rows import COLUMNS, KEY, published_rows, rows_of
from tests.client.examples import estimate_of
from tests.client.rankings import result_of
from tests.marginals.examples import collection_of as sampled
from tests.marginals.examples import marginals_of, outputs_of
from tests.pairs import examples as pairs
from tests.places import examples as places
from tests.strings import examples as strings

ANSWERS = [
    estimate_of(),
    result_of(7),
    marginals_of(sampled(), 100),
    outputs_of(9),
    places.counts_of(places.collection_of(), 100),
    strings.ranking_of(strings.collection_of(), 2_000),
    pairs.estimates_of(pairs.collection_of(), 2_000),
]

_TYPES = {"text": str, "time": str, "integer": int, "number": float, "truth": bool}

#: Words that no column may be called by, as SQL:2016, PostgreSQL, MySQL, Oracle, ClickHouse or Flink reserves them.
RESERVED = frozenset(
    {"collection", "end", "final", "group", "interval", "key", "level", "number", "order", "raw", "rank", "row"}
    | {"start", "time", "timestamp", "value", "values", "window", "user", "table", "column", "result", "method"}
)


def test_every_kind_has_an_example() -> None:
    assert {type(answer) for answer in ANSWERS} == {kind.answer for kind in KINDS.values()}


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: type(answer).__name__)
def test_rows_are_flat_and_each_has_a_key_of_its_own(answer: Any) -> None:
    rows = list(rows_of(answer))
    assert len({row.key for row in rows}) == len(rows) == rows[0].values["cells"]
    for row in rows:
        assert tuple(row.values) == tuple(COLUMNS)
        for name, kind in COLUMNS.items():
            assert row.values[name] is None or type(row.values[name]) is _TYPES[kind], name
        assert datetime.fromisoformat(row.values["window_start"]).utcoffset() is not None
        assert json.loads(row.to_json()) == dict(row.values)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: type(answer).__name__)
def test_a_row_for_kafka_connect_has_the_same_key_and_values_and_its_schema(answer: Any) -> None:
    java: dict[str, type] = {"string": str, "int64": int, "double": float, "boolean": bool}
    for row, plain in zip(published_rows(answer, "connect"), published_rows(answer, True), strict=True):
        assert (row.key, row.values) == (plain.key, plain.values)
        document = json.loads(row.to_bytes())
        fields = {each["field"]: each for each in document["schema"]["fields"]}
        assert list(document["payload"]) == list(fields) == list(COLUMNS)
        for name, value in document["payload"].items():
            assert type(value) is java[fields[name]["type"]] or (value is None and fields[name]["optional"]), name
        moment = datetime.fromtimestamp(document["payload"]["window_start"] / 1000, UTC)
        assert moment == datetime.fromisoformat(plain.values["window_start"])
        assert row.headers == ((CONTENT_TYPE, b"application/vnd.sldp.connect-row+json;v=1"),)


def test_a_row_has_the_numbers_of_its_cell() -> None:
    estimate = estimate_of()
    for row, cell in zip(rows_of(estimate), estimate.cells(), strict=True):
        assert row.values["estimate"] == cell.estimate
        assert (row.values["interval_low"], row.values["interval_high"]) == cell.interval()
        assert json.loads(row.values["cell_labels"]) == dict(cell.labels)


def test_a_row_says_what_each_region_has_counted() -> None:
    parts = (
        RegionPart(region="eu", state=RegionState.WHOLE, reports=3),
        RegionPart(region="us", state=RegionState.CUT_OFF, reports=None),
    )
    assert {row.values["sources"] for row in rows_of(estimate_of())} == {None}
    (sources,) = {row.values["sources"] for row in rows_of(estimate_of().with_sources(parts))}
    assert json.loads(sources) == [
        {"region": "eu", "state": "whole", "reports": 3},
        {"region": "us", "state": "cut-off", "reports": None},
    ]


def test_no_column_has_a_name_that_sql_reserves() -> None:
    assert not RESERVED & set(COLUMNS)
    assert set(KEY) <= set(COLUMNS)


def test_a_provisional_answer_has_no_rows() -> None:
    with pytest.raises(ValueError, match="provisional"):
        list(rows_of(estimate_of(final=False)))
