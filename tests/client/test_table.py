"""Tests of tables of answers, in every form."""

from __future__ import annotations

import builtins
import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from stream_ldp.client.answers import Answers
from stream_ldp.client.table import Table, table_of
from stream_ldp.errors import ParameterError
from stream_ldp.extras import MissingExtra
from stream_ldp.kinds import KINDS
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.pipeline.answer import Answer, RegionPart, RegionState
from stream_ldp.pipeline.selection import Selection
from stream_ldp.records.distribution import Axis
from tests.client.examples import estimate_of, of_minute
from tests.client.rankings import result_of
from tests.marginals.examples import TEXT as SAMPLED
from tests.marginals.examples import collection_of as sampled_collection
from tests.marginals.examples import marginals_of, rows_of, users
from tests.questions.examples import solved, sums_of
from tests.strings.examples import collection_of as strings_collection
from tests.strings.examples import ranking_of


def test_an_estimate_has_a_row_for_each_cell() -> None:
    table = table_of([estimate_of()])
    assert len(table.rows) == 6
    assert table.rows[1] == {
        "collection": "care-survey",
        "series": "bathing-mobility",
        "window_start": datetime(1970, 1, 1, tzinfo=UTC),
        "window_end": datetime(1970, 1, 1, 0, 1, tzinfo=UTC),
        "final": True,
        "reports": 12_345,
        "bathing": "no",
        "mobility": "some",
        "estimate": 0.2,
        "standard_error": 0.01,
        "low": pytest.approx(0.1804, abs=1e-4),
        "high": pytest.approx(0.2196, abs=1e-4),
    }


def test_rows_have_the_parts_of_the_regions_where_several_count() -> None:
    parts = (
        RegionPart(region="eu", state=RegionState.WHOLE, reports=12_000),
        RegionPart(region="us", state=RegionState.CUT_OFF, reports=None),
    )
    rows = table_of([estimate_of().with_sources(parts)]).rows
    assert {row["regions"] for row in rows} == {"eu: 12,000 reports, whole; us: cut-off"}


def test_users_at_the_edge_of_a_bin_are_in_one_bin() -> None:
    text = SAMPLED.format(mechanism="epsilon: 4", window="").replace("range: [0, 100]", "range: [0, 100], step: 1")
    collection = SampledCollection.parse(text)
    people = users(8_000)
    people["1"] = np.repeat([40, 20], [7_200, 800])
    answer = solved(collection, (1.0, sums_of(collection, rows_of(collection, people))))
    rows = [row for row in Answers((answer,)).table(of="age", brief=True).rows if row["quantity"] == "share"]
    shares = {row["value"]: row["estimate"] for row in rows}
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-9)
    assert shares["40 to 50"] == pytest.approx(0.9, abs=0.05)
    assert shares["20 to 30"] == pytest.approx(0.1, abs=0.05)


def test_a_ranking_has_a_row_for_each_item() -> None:
    first, second = table_of([result_of(7)]).rows
    assert (first["epoch"], first["rank"], first["item"], first["estimate"]) == (7, 1, "Casablanca", 0.5)
    assert (second["rank"], second["low"]) == (2, pytest.approx(0.25 - 1.96 * 0.02, abs=1e-4))


def test_marginals_have_rows_for_each_value_and_mean() -> None:
    rows = table_of([marginals_of(sampled_collection(), 500)]).rows
    assert {row["quantity"] for row in rows} >= {"frequency", "mean"}
    assert all(row["answers"] > 0 for row in rows)
    diet = table_of([marginals_of(sampled_collection(), 500)], selection=Selection(of=["diet"])).rows
    assert {row["attribute"] for row in diet} == {"diet"}
    with pytest.raises(ParameterError, match="nothing is known of one, given another"):
        table_of([marginals_of(sampled_collection(), 500)], selection=Selection(of=["diet"], given=["age"]))


def test_a_ranking_of_strings_has_a_row_for_each_string() -> None:
    ranking = ranking_of(strings_collection(), 2_000)
    rows = table_of([ranking]).rows
    assert ranking.strings
    assert [row[ranking.attribute] for row in rows] == [each.string for each in ranking.strings]
    assert [row["raw"] for row in rows] == [each.raw for each in ranking.strings]


@pytest.mark.parametrize("kind", KINDS)
def test_the_answers_of_every_kind_name_their_numbers(kind: str) -> None:
    assert KINDS[kind].answer.cells is not Answer.cells, "without cells, `query` would show no numbers"


def test_marginals_have_a_standard_error_or_a_bound_where_nothing_says_how_errors_go_together() -> None:
    (known, _) = table_of([estimate_of()], selection=Selection(of=["bathing"])).rows
    assert known["standard_error"] == pytest.approx(0.01)
    rows = table_of([estimate_of(effects=None)], selection=Selection(of=["bathing"])).rows
    assert [(row["bathing"], row["estimate"]) for row in rows] == [
        ("no", pytest.approx(0.6)),
        ("yes", pytest.approx(0.4)),
    ]
    assert "standard_error" not in rows[0]
    assert rows[0]["standard_error_at_most"] == pytest.approx(0.03)


def test_an_attribute_may_have_the_name_of_a_column() -> None:
    axes = (Axis(attribute="reports", values=("no", "yes")), *estimate_of().axes[1:])
    (row, *_) = table_of([estimate_of(axes=axes)]).rows
    assert (row["reports"], row["reports (attribute)"]) == (12_345, "no")


def test_rankings_have_no_attributes_to_choose_from() -> None:
    with pytest.raises(ParameterError, match="have no attributes"):
        table_of([result_of(7)], selection=Selection(of=["item"]))


def test_every_form_holds_the_same_numbers(tmp_path: Path) -> None:
    table = table_of([of_minute(0), of_minute(1)])
    frame = table.to_pandas()
    assert list(frame.columns) == list(table.columns)
    assert str(frame["window_start"].dt.tz) == "UTC"
    assert frame["estimate"].sum() == pytest.approx(2.0)
    read = list(csv.DictReader(io.StringIO(table.to_csv())))
    documents = json.loads(table.to_json())
    assert [float(row["estimate"]) for row in read] == list(frame["estimate"])
    assert [row["estimate"] for row in documents] == list(frame["estimate"])
    assert read[0]["window_start"] == documents[0]["window_start"] == "1970-01-01T00:00:00+00:00"
    table.to_parquet(tmp_path / "answers.parquet")
    stored = pq.read_table(tmp_path / "answers.parquet").to_pandas()
    pd.testing.assert_frame_equal(stored, frame, check_dtype=False)


def test_what_is_not_known_is_empty_and_never_nan() -> None:
    estimate = estimate_of(probability=[[0.3, 0.3, 0.4], [0.0, 0.0, 0.0]])
    table = table_of([estimate], selection=Selection(of=["mobility"], given=["bathing"]))
    assert [row["estimate"] for row in json.loads(table.to_json())][3:] == [None] * 3
    assert "nan" not in table.to_csv().lower()


def test_answers_with_other_attributes_share_a_table() -> None:
    table = table_of([estimate_of(), result_of(7)])
    assert {"bathing", "item"} <= set(table.columns)
    assert json.loads(table.to_json())[0]["item"] is None
    assert len(table.to_pandas()) == 8


def test_nothing_is_an_empty_table() -> None:
    empty = table_of([])
    assert json.loads(empty.to_json()) == []
    assert empty.to_pandas().empty


@pytest.mark.parametrize("form", ["to_pandas", "to_arrow"])
def test_a_package_that_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    def missing(module: str) -> Any:
        raise ModuleNotFoundError(module)

    monkeypatch.setattr("stream_ldp.extras.import_module", missing)
    with pytest.raises(MissingExtra, match=r"pip install 'stream-ldp\[analysis\]'"):
        getattr(table_of([estimate_of()]), form)()


def test_text_needs_no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without(name: str, *arguments: Any, **named: Any) -> Any:
        if name.partition(".")[0] in {"pandas", "pyarrow"}:
            raise ModuleNotFoundError(name)
        return original(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    assert table_of([estimate_of()]).to_csv().startswith("collection,")


def test_answers_that_lack_an_attribute_are_left_out_where_others_have_it() -> None:
    bathing, mobility = estimate_of().axes
    lacking = estimate_of(estimate="other", axes=(Axis(attribute="diet", values=bathing.values), mobility))
    rows = table_of([lacking, estimate_of()], selection=Selection(of=["bathing"])).rows
    assert [(row["series"], row["bathing"]) for row in rows] == [
        ("bathing-mobility", "no"),
        ("bathing-mobility", "yes"),
    ]
    with pytest.raises(ParameterError) as caught:
        table_of([lacking, lacking, estimate_of()], selection=Selection(of=["sleep"]))
    assert str(caught.value).splitlines() == [
        "other: 'sleep' is not an attribute of this estimate; known are diet, mobility",
        "bathing-mobility: 'sleep' is not an attribute of this estimate; known are bathing, mobility",
    ]


@pytest.mark.parametrize("text", ["=1+1", "+a", "-a", "@a", "\t=1", "\r=1", "'=1", "'", "-1-1", "=HYPERLINK(1)", "-"])
def test_text_that_a_spreadsheet_would_evaluate_has_an_apostrophe_before_it(text: str) -> None:
    axes = (Axis(attribute=text, values=("no", "yes")), Axis(attribute="mobility", values=(text, "some", "full")))
    table = table_of([estimate_of(axes=axes)])
    header, first, *_ = csv.reader(io.StringIO(table.to_csv()))
    assert f"'{text}" in header
    assert first[header.index("mobility")] == f"'{text}"
    again = [[cell.removeprefix("'") for cell in row] for row in (header, first)]
    assert dict(zip(*again, strict=True))["mobility"] == text
    assert text in again[0]


@pytest.mark.parametrize("text", ["-1", "+2.5", "-1e-3", "a=1", "10-20", "", "-.5"])
def test_text_that_is_a_number_or_no_formula_stays_as_it_is_in_csv(text: str) -> None:
    first = next(csv.DictReader(io.StringIO(Table(({"m": text, "n": -1.5, "k": None},)).to_csv())))
    assert first == {"m": text, "n": "-1.5", "k": ""}


def test_a_table_is_shown_in_a_notebook_without_obeying_its_texts() -> None:
    table = Table(tuple({"item": "<script>", "estimate": 0.123456, "low": None} for _ in range(70)))
    shown = table._repr_html_()
    assert "<td>&lt;script&gt;</td><td>0.1235</td><td></td>" in shown
    assert shown.endswith("<p>and 10 more rows</p>")
    assert table.to_html().count("<tr>") == 71


def test_a_table_becomes_a_polars_frame_with_the_same_rows() -> None:
    table = table_of([of_minute(1)])
    frame = table.to_polars()
    assert frame["estimate"].to_list() == [row["estimate"] for row in table.rows]
    assert frame.columns == list(table.columns)
