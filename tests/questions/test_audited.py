"""These tests audit collections whose users answer one question each."""

from pathlib import Path

import pytest

from stream_ldp.mechanisms import RepeatedResponse
from tests.cli.audits import document
from tests.marginals.examples import TEXT


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "diets.yaml"
    path.write_text(TEXT.format(mechanism="epsilon: 2, mean: minimax", window=""), encoding="utf-8")
    return path


def test_the_exact_audit_enumerates_every_question(file: Path) -> None:
    found = document(file, "--exact")
    assert found["probabilities_as_stated"]
    assert [each["about"] for each in found["results"]] == ["diet", "age", "smokes", "any"]
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
    constant = [each["claimed"] for each in answer["results"] if "change" not in each["neighbours"]]
    assert constant == pytest.approx([2, 3.45, 3.92, 4, 4], abs=0.02)
    assert [each["enumerated"] for each in answer["results"]] == pytest.approx(claimed, abs=1e-9)


@pytest.mark.parametrize("buckets", [2, pytest.param(3, marks=pytest.mark.long)])
def test_buckets_that_change_are_enumerated_beside_what_the_ledger_charges(tmp_path: Path, buckets: int) -> None:
    """The expected losses are sums over buckets of the loss of their own reports, shared out as it costs most."""
    file = tmp_path / "habits.yaml"
    file.write_text(
        "collection: habits\n"
        f"mechanism: {{kind: sampled, oracle: loloha, epsilon: 2, per_report: 1, buckets: {buckets}, cohorts: 8}}\n"
        "attributes: [{name: diet, values: [meat, fish, plants]}]\nwindow: {size: 10s}\n",
        encoding="utf-8",
    )
    answer = document(file, "--exact")
    assert answer["probabilities_as_stated"]
    assert answer["results"][0]["question"] == "0 to 7"
    rows = {
        (each["reports"], int(each["neighbours"].split(", ")[1].split()[0])): each
        for each in answer["results"]
        if "change at the same times" in each["neighbours"]
    }
    one, two, three = (RepeatedResponse(size=buckets, epsilon=1, lifetime=2).loss(reports=t) for t in (1, 2, 3))
    expected: dict[tuple[object, int], float]
    expected = {(2, 0): two, (2, 1): 2 * one, (3, 0): three, (3, 1): one + two, (4, 1): max(one + three, 2 * two)}
    expected[3, 2] = 3 * one if buckets == 3 else one + two
    expected["inf", buckets - 1] = 2 * buckets
    for case, loss in expected.items():
        assert rows[case]["enumerated"] == pytest.approx(loss, abs=1e-7), case
    assert all(each["enumerated"] <= each["claimed"] + 1e-9 for each in rows.values())
    # What a change itself shows grows with every report, and is in no claim.
    shown = [each["enumerated"] for each in answer["changing"]]
    assert [each["reports"] for each in answer["changing"]] == [2, 3, 4]
    assert shown[0] > two
    assert shown == sorted(shown)
