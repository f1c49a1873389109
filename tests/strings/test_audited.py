"""These tests audit collections of strings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.audits import document
from tests.strings.examples import TEXT


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "words.yaml"
    path.write_text(
        TEXT.format(
            mechanism="epsilon: 2", string="length: 6, alphabet: abcdefghijklmnopqrstuvwxyz", window="", more=""
        ),
        encoding="utf-8",
    )
    return path


def test_the_exact_audit_enumerates_what_answers_are_made_with(file: Path) -> None:
    found = document(file, "--exact")
    assert found["probabilities_as_stated"]
    assert [each["randomizer"] for each in found["results"]] == ["direct", "all"]
    for each in found["results"]:
        assert each["enumerated"] == pytest.approx(each["claimed"], abs=1e-9)
    assert found["results"][-1]["neighbours"] == "any two strings"
