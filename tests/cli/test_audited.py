"""These tests audit collections of either kind, and mechanisms written in one word."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner, Result

from stream_ldp.cli import app

if TYPE_CHECKING:
    from pathlib import Path
from typing import TYPE_CHECKING

MECHANISM = "rr-ldp:f=0.5,p=0.5,q=0.75,sizes=2x3"


def run(*arguments: object) -> Result:
    result = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["audit", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def document(*arguments: object) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    path = tmp_path / "survey.yaml"
    path.write_text(
        """
        collection: survey
        mechanism: {kind: rr-ldp, f: 0.5, p: 0.5, q: 0.75}
        attributes: [{name: bathing, values: [no, yes]}, {name: mobility, values: [none, some, full]}]
        window: {size: 60s}
        estimates: [{name: mobility, of: [mobility]}]
        """
    )
    return path


def test_a_mechanism_is_audited_like_the_collection_that_has_it(collection: Path) -> None:
    assert document(collection, "--exact") == document(MECHANISM, "--exact")


@pytest.mark.parametrize("sizes", ["x".join(["24"] * 16), "60x2x33", "2"])
def test_a_collection_as_large_as_users_have_can_be_enumerated(sizes: str) -> None:
    answer = document(f"rr-ldp:f=0.25,p=0.25,q=0.75,sizes={sizes}", "--exact")
    assert len(answer["results"]) == 4 * (sizes.count("x") + 1)
    assert {row["reports"] for row in answer["changing"]} >= {2, 3, 4}


@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    [
        ("hadamard:size=8,epsilon=1,hash_bits=1", 1.0),
        ("hadamard:size=100000,epsilon=2,hash_bits=3", 2.0),
        ("direct:size=8,epsilon=1.5", 1.5),
        ("direct:size=8,dummies=2,epsilon=1.5", 1.5),
        ("unary:size=8,epsilon=2", 2.0),
        ("set-hadamard:size=5,slots=2,epsilon=1,hash_bits=2", 1.0),
        ("set-hadamard:size=100000,slots=5,epsilon=2,hash_bits=5", 2.0),
    ],
)
def test_an_oracle_is_audited_for_its_own_epsilon(mechanism: str, epsilon: float) -> None:
    exact = document(mechanism, "--exact")
    (row,) = exact["results"]
    assert row["enumerated"] == pytest.approx(row["claimed"], abs=1e-9, rel=0)
    assert epsilon - 1e-7 < row["claimed"] <= epsilon
    assert exact["probabilities_as_stated"] is True
    assert ("miniature" in exact) is ("100000" in mechanism)
    attacked = document(mechanism, "--trials", 20_000, "--seed", 1)["results"]
    assert [each["target"] for each in attacked] == ["perturb", "perturb, singly"]
    assert all(0 < each["lower_bound"] <= each["epsilon"] <= epsilon for each in attacked)


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        ("hadamard:size=8", "not a mechanism; write it like hadamard:size=8,epsilon=1,hash_bits=1"),
        ("hadamard:size=8,epsilon=1,bits=1", "not a mechanism; write it like hadamard:"),
        ("set-hadamard:size=8,slots=2,epsilon=1,hash_bits=1", "1 bits of hash are for 1 to 1 slots, got 2"),
        ("direct:size=1,epsilon=1", "2 to 2^32 choices, got size=1"),
        ("unary:size=8,epsilon=0", "epsilon must be positive and finite, got 0.0"),
        ("unary:size=8.5,epsilon=1", "size: Input should be a valid integer"),
        ("rr-ldp:", "not a mechanism; write it like rr-ldp:f=0.5,p=0.5,q=0.75,sizes=2x3"),
        ("rr-ldp:f=0.5", "not a mechanism"),
        ("rr-ldp:f=0.5,sizes=2,z=1", "not a mechanism"),
        ("rr-ldp:f=2,sizes=2", "f must be between 0 (no privacy) and 1"),
        ("rr-ldp:f=0.5,sizes=1x2", "every attribute needs at least 2 values"),
        ("rr-ldp:f=half,sizes=2", "f: Input should be a valid number"),
    ],
)
def test_why_a_mechanism_cannot_be_read_is_explained(subject: str, message: str) -> None:
    result = run(subject, "--exact")
    assert result.exit_code == 2
    assert message in result.stderr


def test_an_attribute_of_many_values_is_audited_in_miniature() -> None:
    exact = document("k-rr:epsilon=2,sizes=2x3000", "--exact")
    assert "sizes=(2, 2)" in exact["miniature"]
    assert [row["claimed"] for row in exact["results"][:1]] == pytest.approx([2.0])
