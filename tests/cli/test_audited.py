"""These tests audit collections of either kind, and mechanisms written in one word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.audits import MECHANISM, collection, document, run

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["collection"]


def test_a_mechanism_is_audited_like_the_collection_that_has_it(collection: Path) -> None:
    assert document(collection, "--exact") == document(MECHANISM, "--exact")


@pytest.mark.parametrize("sizes", [pytest.param("x".join(["24"] * 16), marks=pytest.mark.long), "30x2x17", "2"])
def test_a_collection_as_large_as_users_have_can_be_enumerated(sizes: str) -> None:
    answer = document(f"rr-ldp:f=0.25,p=0.25,q=0.75,sizes={sizes}", "--exact")
    assert len(answer["results"]) == 4 * (sizes.count("x") + 1)
    assert {row["reports"] for row in answer["changing"]} >= {2, 3, 4}


@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    [
        ("hadamard:size=8,epsilon=1,hash_bits=1", 1.0),
        pytest.param("hadamard:size=100000,epsilon=2,hash_bits=3", 2.0, marks=pytest.mark.long),
        ("direct:size=8,epsilon=1.5", 1.5),
        ("direct:size=8,dummies=2,epsilon=1.5", 1.5),
        ("unary:size=8,epsilon=2", 2.0),
        ("set-hadamard:size=4,slots=2,epsilon=1,hash_bits=2", 1.0),
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
    attacked = document(mechanism, "--trials", 20_000, "--seed", 1)["results"]
    larger = ["perturb, larger sets"] if mechanism.startswith("set-") else []
    assert [each["target"] for each in attacked] == ["perturb", "perturb, singly", *larger]
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
        ("k-rr", "not a mechanism"),
        ("rr-lpd:f=0.5,sizes=2", "no such file, and 'rr-lpd' is no mechanism; did you mean 'rr-ldp'?"),
        ("svim:epsilon=3,k=3", "svim is a method of item collections: write it in a collection file"),
    ],
)
def test_why_a_mechanism_cannot_be_read_is_explained(subject: str, message: str) -> None:
    result = run(subject, "--exact")
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_file_is_read_although_its_name_looks_like_a_mechanism(
    collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(collection.parent)
    collection.rename("rr-ldp:survey.yaml")
    assert document("rr-ldp:survey.yaml", "--exact") == document(MECHANISM, "--exact")


def test_an_attribute_of_many_values_is_audited_in_miniature() -> None:
    exact = document("k-rr:epsilon=2,sizes=2x3000", "--exact")
    assert "sizes=(2, 2)" in exact["miniature"]
    assert [row["claimed"] for row in exact["results"][:1]] == pytest.approx([2.0])


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
