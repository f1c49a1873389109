"""Tests of the plan of a collection of records."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from stream_ldp.cli import app
from stream_ldp.mechanisms import RRLDP, SeededEntropy
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.plan import cell_error, plan

TEXT = """
collection: survey
mechanism: {kind: rr-ldp, f: 0.5, p: 0.5, q: 0.75}
attributes:
  - {name: bathing, values: [no, yes]}
  - {name: mobility, values: [none, some, full]}
  - {name: town, values: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]}
window: {size: 60s}
estimates:
  - {name: narrow, of: [bathing, mobility]}
  - {name: wide, of: [bathing, town]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "survey.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.mark.parametrize("sizes", [(2,), (2, 3), (4, 2, 3)])
@pytest.mark.parametrize("response", [(None, None), (0.25, 0.75)])
def test_the_expected_error_is_that_of_the_linear_estimate(
    sizes: tuple[int, ...], response: tuple[float | None, float | None]
) -> None:
    p, q = response
    mechanism = RRLDP(sizes=sizes, f=0.4, p=p, q=q)
    channel, reports, repeats = mechanism.channel(), 400, 1_500
    rng = np.random.default_rng(20260718)
    values = np.stack([rng.integers(size, size=reports * repeats) for size in sizes], axis=1)
    rows = mechanism.perturb(values, entropy=SeededEntropy(5))
    bits = np.unpackbits(rows, axis=1, count=mechanism.bits, bitorder="little")
    first_bits = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    factors = (bits[:, first_bits] - channel.zero) / (channel.one - channel.zero)
    estimates = factors.prod(axis=1).reshape(repeats, reports).mean(axis=1)
    assert estimates.mean() == pytest.approx(1 / math.prod(sizes), abs=5 * estimates.std() / math.sqrt(repeats))
    # The standard deviation of 1,500 estimates is within 10 % of the truth but for one seed in 10^6.
    assert estimates.std() == pytest.approx(cell_error(mechanism.supports, sizes, reports=reports), rel=0.1)


def test_every_stated_epsilon_is_the_mechanisms_own(file: Path) -> None:
    mechanism = JointCollection.load(file).mechanism
    for loss in plan(JointCollection.load(file)).privacy:
        assert loss.epsilon == mechanism.epsilon(neighbours=loss.neighbours, reports=loss.reports)


def test_the_json_gives_cells_state_size_and_privacy(file: Path) -> None:
    done = CliRunner().invoke(app, ["plan", str(file), "--json", "--reports", "500", "--reports", "5000"])
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


def test_the_table_names_every_estimate_and_rounds_epsilon_up(file: Path) -> None:
    done = CliRunner().invoke(app, ["plan", str(file)], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "narrow" in done.stdout
    assert "for ever" in done.stdout
    # One report, one attribute: 0.53714...
    assert "0.538" in done.stdout


def test_check_says_what_is_wrong_where_and_what_would_be_right(file: Path) -> None:
    wrong = file.with_name("wrong.yaml")
    wrong.write_text(TEXT.replace("size: 60s", "sise: 60s"), encoding="utf-8")
    done = CliRunner().invoke(app, ["check", str(file), str(wrong)])
    assert done.exit_code == 1
    assert f"{file}: ok: collection survey" in done.stdout
    assert f"{wrong}:8:10: window.sise: unknown key; did you mean 'size'?" in done.stderr
    assert f"{wrong}:8:9: window.size: this key is required" in done.stderr


def test_parameters_for_a_wanted_epsilon_can_be_pasted_into_the_file(file: Path) -> None:
    done = CliRunner().invoke(app, ["plan", str(file), "--for-ever", "12", "--per-report", "3"])
    assert done.exit_code == 0, done.output
    line = done.stdout.splitlines()[0]
    assert line.startswith("mechanism: {kind: rr-ldp, f: ")
    old = "mechanism: {kind: rr-ldp, f: 0.5, p: 0.5, q: 0.75}"
    mechanism = JointCollection.parse(TEXT.replace(old, line)).mechanism
    assert 12 - 1e-6 < mechanism.epsilon(reports=math.inf) <= 12
    assert 3 - 1e-6 < mechanism.epsilon(reports=1) <= 3


@pytest.mark.parametrize(
    "wanted", [["--for-ever", "2", "--per-report", "3"], ["--per-report", "1"], ["--for-ever", "0"]]
)
def test_an_unattainable_epsilon_is_refused(file: Path, wanted: list[str]) -> None:
    done = CliRunner().invoke(app, ["plan", str(file), *wanted])
    assert done.exit_code == 2
    assert done.stderr.strip()
