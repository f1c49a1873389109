"""These tests audit collections of places."""

from pathlib import Path

import pytest

from tests.cli.audits import document
from tests.places.examples import TEXT


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "visits.yaml"
    path.write_text(TEXT.format(mechanism="epsilon: [0.5, 2]", window=""), encoding="utf-8")
    return path


def test_the_exact_audit_enumerates_every_size_of_region_and_epsilon(file: Path) -> None:
    found = document(file, "--exact")
    assert found["probabilities_as_stated"]
    assert [(each["places"], each["claimed"]) for each in found["results"]] == [
        (size, epsilon) for size in (5, 3, 2) for epsilon in (0.5, 2.0)
    ]
    for each in found["results"]:
        assert each["enumerated"] == pytest.approx(each["claimed"], abs=1e-8)
        assert each["neighbours"] == "any two places of a region"
