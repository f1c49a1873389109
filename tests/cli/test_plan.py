"""`stream-ldp plan`: parameters for a wanted epsilon, and which options are refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stream_ldp.cli import app
from stream_ldp.records.collection import JointCollection

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
