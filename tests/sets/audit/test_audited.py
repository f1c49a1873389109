"""These tests audit the methods of collections of item sets, honest and broken."""

from pathlib import Path
from typing import Any

import pytest

from stream_ldp.audit import oracle_attacks
from stream_ldp.mechanisms import FrequencyOracle, UnaryResponse
from stream_ldp.sets.methods import ldpminer
from tests.audit import broken
from tests.cli.audits import document, run


def test_an_epoch_of_item_sets_costs_the_sum_of_a_users_phases(item_collection: Path) -> None:
    answer = document(item_collection, "--exact")
    assert answer["probabilities_as_stated"] is True
    assert answer["miniature"].startswith("6 items")
    rows = answer["results"]
    assert [(row["phase"], row["reports"]) for row in rows] == [(1, 1), (2, 1), (3, 1), ("all", "epoch")]
    assert {row["neighbours"] for row in rows} == {"any two sets"}
    for row, allowed in zip(rows, (1.2, 0.8, 0.8, 2.0), strict=True):
        assert row["allowed"] == pytest.approx(allowed)
        assert row["claimed"] <= row["allowed"]
        assert row["enumerated"] == pytest.approx(row["claimed"], abs=1e-9, rel=0)
        assert row["enumerated"] == pytest.approx(allowed, abs=1e-8)
    shown = run(item_collection, "--exact")
    assert shown.exit_code == 0
    assert "Every claim holds to 1e-9" in shown.stdout
    assert "in miniature: 6 items" in shown.stdout


def test_an_epoch_of_item_sets_is_attacked_phase_by_phase_and_as_a_whole(
    item_collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An attack that asks for one user a call takes seconds with as many as find noise that is shared.
    monkeypatch.setattr(oracle_attacks, "SINGLE_USERS", 100)
    rows = document(item_collection, "--trials", 5_000, "--seed", 1)["results"]
    phases = ["phase 1", "phase 2", "phase 3"]
    larger = [f"{phase}, larger sets" for phase in phases]
    assert [row["target"] for row in rows] == [*phases, *larger, "epoch", "epoch, singly"]
    # Everybody answers the first phase, and one of the others.
    assert [row["reports"] for row in rows] == [1] * 6 + [2, 2]
    assert all(0 <= row["lower_bound"] <= row["epsilon"] for row in rows)
    assert rows[0]["lower_bound"] > 0.9


def test_the_exact_audit_fails_a_biased_sampler(item_collection: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FrequencyOracle, "sampled", broken.DirectOfTheFirstValue.sampled)
    result = run(item_collection, "--exact")
    assert result.exit_code == 1
    assert "does not have the probabilities that it states" in result.stderr


@pytest.mark.parametrize(
    ("twin", "states_it"),
    [
        # By itself, tests/cli/test_audit.py shows it.
        pytest.param(broken.SpendsEpsilonOnEachBit, False, marks=pytest.mark.long),
        # It states what it does, but that is twice what the phase allows.
        (lambda size, epsilon: UnaryResponse(size=size, epsilon=2 * epsilon), True),
    ],
    ids=["more than it states", "as it states, more than it may"],
)
def test_the_exact_audit_fails_a_phase_that_costs_too_much(
    twin: Any, states_it: bool, item_collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item_collection.write_text(item_collection.read_text().replace("gfim", "ldpminer"))
    monkeypatch.setattr(ldpminer, "UnaryResponse", twin)
    result = run(item_collection, "--exact")
    assert result.exit_code == 1
    assert "DISPROVED: 2 of 4 claims; " in result.stderr
    assert ("the phase allows 1.0" in result.stderr) is states_it
