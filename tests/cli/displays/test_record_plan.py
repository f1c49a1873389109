"""The plan of a collection of records as a table and as JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stream_ldp.cli import app

#: By default, the solves of up to a million reports are timed as well, which takes seconds.
FEW = ("--reports", "500")


def test_the_json_gives_cells_state_size_and_privacy(towns_file: Path) -> None:
    done = CliRunner().invoke(app, ["plan", str(towns_file), "--json", "--reports", "500", "--reports", "5000"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["bits"] == 21
    assert document["report_bytes"] == 3
    assert {(row["neighbours"], row["reports"]) for row in document["privacy"]} == {
        (neighbours, reports) for neighbours in (1, 3) for reports in (1, 2, 7, 30, 365, "inf")
    }
    narrow, wide = document["estimates"]
    assert (narrow["cells"], narrow["bits"], narrow["grows"], narrow["state_bytes"]) == (6, 5, False, 2**5 * 8)
    # Wider than 16 bits, the state is the distinct rows: 18 bits are 3 bytes, and a counter.
    assert (wide["cells"], wide["bits"], wide["grows"], wide["state_bytes"]) == (32, 18, True, 7)
    assert [error["reports"] for error in wide["errors"]] == [500, 5_000]
    assert wide["errors"][0]["standard_error"] == pytest.approx(wide["errors"][1]["standard_error"] * math.sqrt(10))


def test_the_table_names_every_estimate_and_rounds_epsilon_up(towns_file: Path) -> None:
    done = CliRunner().invoke(app, ["plan", str(towns_file), *FEW], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "narrow" in done.stdout
    assert "for ever" in done.stdout
    # One report, one attribute: 0.53714...
    assert "0.538" in done.stdout


@pytest.mark.parametrize(("values", "size"), [("[no, yes]", "1 byte "), ("[a, b, c, d, e, f, g, h, i]", "2 bytes ")])
def test_the_size_of_a_report_is_told_in_words_that_fit_the_number(values: str, size: str, tmp_path: Path) -> None:
    (file := tmp_path / "small.yaml").write_text(
        "collection: small\nmechanism: {kind: rr-ldp, f: 0.5}\n"
        f"attributes: [{{name: one, values: {values}}}]\n"
        "window: {size: 60s}\nestimates: [{name: one, of: [one]}]\n"
    )
    assert (
        f"a report, {size}with padding" in CliRunner().invoke(app, ["plan", str(file)], env={"COLUMNS": "200"}).stdout
    )


def test_the_plan_says_whose_rows_are_counted_for_an_estimate_among_more_attributes(tmp_path: Path) -> None:
    (file := tmp_path / "among.yaml").write_text(
        "collection: care\nmechanism: {kind: rr-ldp, f: 0.5}\n"
        f"attributes: [{', '.join(f'{{name: a{number}, values: [no, yes]}}' for number in range(4))}]\n"
        "window: {size: 60s}\n"
        "estimates: [{name: own, of: [a0, a1]}, {name: all, of: [a0, a1], among: [a0, a1, a3]}]\n"
    )
    shown = CliRunner().invoke(app, ["plan", str(file), *FEW], env={"COLUMNS": "200"}).stdout
    assert "a0, a1; rows of 3 attributes" in shown
    assert shown.count("; rows of") == 1
    own, among = json.loads(CliRunner().invoke(app, ["plan", str(file), *FEW, "--json"]).stdout)["estimates"]
    assert (own["bits"], among["bits"]) == (4, 6)
    assert among["counted"] == ["a0", "a1", "a3"]


def test_another_mechanism_with_the_same_epsilon_is_compared(towns_file: Path) -> None:
    done = CliRunner().invoke(app, ["plan", str(towns_file), *FEW], env={"COLUMNS": "300"})
    assert "With `kind: k-rr, epsilon: " in done.stdout
    assert ": it is the better one for " in done.stdout
    document = json.loads(CliRunner().invoke(app, ["plan", str(towns_file), *FEW, "--json"]).stdout)
    assert [other["kind"] for other in document["others"]] == ["k-rr"]
    assert len(document["others"][0]["errors"]) == len(document["estimates"])
