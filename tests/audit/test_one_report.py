"""These tests audit randomizers that are written in one word."""

from __future__ import annotations

import pytest

from tests.cli.audits import document


@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    [
        ("hadamard:size=8,epsilon=1,hash_bits=1", 1.0),
        pytest.param("hadamard:size=100000,epsilon=2,hash_bits=3", 2.0, marks=pytest.mark.long),
        pytest.param("direct:size=8,epsilon=1.5", 1.5, marks=pytest.mark.long),
        ("direct:size=8,dummies=2,epsilon=1.5", 1.5),
        ("unary:size=8,epsilon=2", 2.0),
        # Quickly shown in test_oracle_attacks.py and test_oracle_reports.py.
        pytest.param("set-hadamard:size=4,slots=2,epsilon=1,hash_bits=2", 1.0, marks=pytest.mark.long),
        pytest.param("set-hadamard:size=100000,slots=5,epsilon=2,hash_bits=5", 2.0, marks=pytest.mark.long),
    ],
)
def test_an_oracle_is_audited_for_its_own_epsilon(mechanism: str, epsilon: float) -> None:
    exact = document(mechanism, "--exact")
    (row,) = exact["results"]
    assert row["enumerated"] == pytest.approx(row["claimed"], abs=1e-9, rel=0)
    assert epsilon - 1e-7 < row["claimed"] <= epsilon
    assert exact["probabilities_as_stated"] is True
    assert ("miniature" in exact) is ("100000" in mechanism)
    attacked = document(mechanism, "--trials", 4_000, "--seed", 1)["results"]
    larger = ["perturb, larger sets"] if mechanism.startswith("set-") else []
    assert [each["target"] for each in attacked] == ["perturb", "perturb, singly", *larger]
    assert all(0 < each["lower_bound"] <= each["epsilon"] <= epsilon for each in attacked)
