"""These tests audit collections whose users answer one question each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.audits import document
from tests.marginals.examples import TEXT


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "diets.yaml"
    path.write_text(TEXT.format(mechanism="epsilon: 2, mean: hybrid", window=""), encoding="utf-8")
    return path


def test_the_exact_audit_enumerates_every_question(file: Path) -> None:
    found = document(file, "--exact")
    assert found["probabilities_as_stated"]
    assert [each["about"] for each in found["results"]] == ["diet", "age", "age", "smokes", "any"]
    for each in found["results"]:
        assert each["enumerated"] == pytest.approx(each["claimed"], abs=1e-9)


def test_answers_that_are_perturbed_again_are_enumerated_for_several_reports(tmp_path: Path) -> None:
    file = tmp_path / "habits.yaml"
    file.write_text(
        "collection: habits\nmechanism: {kind: sampled, epsilon: 4, per_report: 2}\n"
        "attributes: [{name: diet, values: [meat, fish, plants]}]\nwindow: {size: 10s}\n",
        encoding="utf-8",
    )
    answer = document(file, "--exact")
    assert answer["probabilities_as_stated"]
    claimed = [each["claimed"] for each in answer["results"]]
    assert claimed == pytest.approx([2, 3.45, 3.92, 4, 4], abs=0.02)
    assert [each["enumerated"] for each in answer["results"]] == pytest.approx(claimed, abs=1e-9)
