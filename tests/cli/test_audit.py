"""Tests of `stream-ldp audit`: what an operator reads of a collection's privacy, and when the command fails."""

import math
from pathlib import Path
from typing import Any, NoReturn

import pytest

from stream_ldp.audit.audited import Exact
from stream_ldp.cli import audit
from stream_ldp.cli.audit import audit_clients
from stream_ldp.kinds import KINDS, parse_collection
from stream_ldp.mechanisms import RRLDP, FrequencyOracle, notation, rr_ldp
from stream_ldp.records.collection import JointCollection
from stream_ldp.sets.phases import Phase
from tests.audit import broken
from tests.cli.audits import MECHANISM, Enumerated, document, run
from tests.client.audit.files import data
from tests.coins import TEXT as COINS
from tests.schemas.recorded import COLLECTIONS
from tests.toy import Coins


@pytest.fixture
def once_enumerated(enumerated: Exact, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command have what is enumerated already."""
    monkeypatch.setattr(audit, "read", lambda _: Enumerated(enumerated))


@pytest.mark.usefixtures("once_enumerated")
def test_the_exact_audit_gives_the_published_epsilons(collection: Path) -> None:
    found = document(collection, "--exact")
    table = {(row["neighbours"], row["reports"]): row for row in found["results"]}
    assert list(table) == [(neighbours, reports) for neighbours in (1, 2) for reports in (1, 2, 3, "inf")]
    published = {(1, 1): 0.5371, (2, 1): 1.0743, (2, 2): 2.0170, (2, 3): 2.7556, (2, "inf"): 4.3944}
    mechanism = JointCollection.load(collection).mechanism
    for (neighbours, reports), row in table.items():
        claim = mechanism.epsilon(neighbours=neighbours, reports=math.inf if reports == "inf" else reports)
        assert row["claimed"] == claim
        assert row["enumerated"] == pytest.approx(claim, abs=1e-9, rel=0)
        assert row["enumerated"] == pytest.approx(published.get((neighbours, reports), claim), abs=5e-5)
    assert found["probabilities_as_stated"] is True


@pytest.mark.usefixtures("once_enumerated")
def test_the_exact_audit_shows_that_a_changing_record_costs_more(collection: Path) -> None:
    changing = document(collection, "--exact")["changing"]
    assert {row["reports"] for row in changing} == {2, 3, 4}
    assert all(row["enumerated"] > row["if_constant"] for row in changing)


def test_an_infinite_epsilon_is_a_string_in_json() -> None:
    changing = document("rr-ldp:f=0.5,sizes=2", "--exact")["changing"]
    assert {row["enumerated"] for row in changing} == {"inf"}


@pytest.mark.usefixtures("once_enumerated")
def test_the_table_rounds_an_epsilon_up_and_explains_its_columns(collection: Path) -> None:
    """0.53714293..., 1.07428586..., 4.39444915... and, for one that changes, 1.21762372..."""
    result = run(collection, "--exact")
    assert result.exit_code == 0
    assert "A record that does not change" in result.stdout
    for shown in ("0.537143", "1.074286", "4.394450", "lifetime", "1.217624"):
        assert shown in result.stdout
    assert "`if constant` is what so many reports cost" in result.stdout


@pytest.mark.parametrize("kind", [broken.QuantisesF, broken.NeverClearsOneBit, broken.SwapsPAndQ])
def test_the_exact_audit_fails_a_mechanism_that_does_not_do_what_it_states(
    kind: type[RRLDP], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rr_ldp, "RRLDP", kind)
    result = run("rr-ldp:f=0.3,p=0.2,q=0.8,sizes=2", "--exact")
    assert result.exit_code == 1
    assert "DISPROVED" in result.stderr
    assert "does not have the probabilities that it states" in result.stderr
    assert f"in {kind.__name__}." in result.stderr


def test_the_exact_audit_fails_code_that_sends_the_truth_and_says_where(
    collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RRLDP, "perturb", lambda self, values, **_: self.packed(broken.one_hot(self, values)))
    result = run(collection, "--exact")
    assert result.exit_code == 1
    assert "DISPROVED" in result.stderr
    assert "in RRLDP.perturb, one user, record (0, 0), no permanent words" in result.stderr
    assert "in RRLDP.perturb, 1 users in a call, without permanent words" in result.stderr


def test_the_attack_fails_a_mechanism_that_does_not_do_what_it_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rr_ldp, "RRLDP", broken.NeverClears)
    result = run("rr-ldp:f=0.5,sizes=3", "--trials", 500, "--seed", 1)
    assert result.exit_code == 1
    assert "attacks show more than the epsilon that is claimed" in result.stderr


def test_an_attack_can_be_repeated_from_its_seed() -> None:
    def rows(seed: int) -> list[dict[str, Any]]:
        found = document("rr-ldp:f=0.3,sizes=2", "--trials", 100, "--seed", seed)["results"]
        return [{name: value for name, value in row.items() if name != "seconds"} for row in found]

    assert rows(5) == rows(5)
    assert rows(5) != rows(6)


def test_without_a_seed_an_attack_uses_the_operating_systems_randomness(
    collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bounds hold with confidence 0.9999: an honest run of this test fails once in 10,000."""
    monkeypatch.delattr(audit, "SeededEntropy")
    answer = document(collection, "--trials", 200, "--confidence", 0.9999)
    assert answer["confidence"] == 0.9999
    targets = {(row["target"], row["reports"], row["values"]) for row in answer["results"]}
    expected = {("perturb", 1), ("client", 3), ("client, averaged", 30)}
    assert {*((*each, "constant") for each in expected), ("client, changing", 2, "changing")} <= targets
    assert all(0 <= row["lower_bound"] <= row["epsilon"] for row in answer["results"])


def test_the_table_of_an_attack_has_all_its_columns() -> None:
    result = run(MECHANISM, "--trials", 100, "--seed", 1)
    assert result.exit_code == 0
    for shown in ("target", "neighbours", "reports", "epsilon", "bound", "trials", "seconds", "client, changing"):
        assert shown in result.stdout


def test_a_k_subset_of_wide_attributes_is_attacked_at_full_width() -> None:
    result = run("k-subset:epsilon=1,sizes=2x8x12", "--trials", 100, "--seed", 1)
    assert result.exit_code == 0, result.stderr
    assert "client, changing" in result.stdout


def test_the_exact_audit_fails_an_oracle_that_costs_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(notation._RANDOMIZERS, "unary", broken.SpendsEpsilonOnEachBit)
    result = run("unary:size=4,epsilon=1", "--exact")
    assert result.exit_code == 1
    assert "DISPROVED: 1 of 1 claims; the code has the probabilities that it states" in result.stderr


def test_the_exact_audit_fails_an_oracle_that_tells_an_empty_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(notation._RANDOMIZERS, "hadamard", broken.SendsDummiesPlainly)
    result = run("hadamard:size=4,epsilon=1", "--exact")
    assert result.exit_code == 1
    assert "DISPROVED: 2 of 2 claims; the code does not have the probabilities that it states" in result.stderr


def test_the_exact_audit_fails_an_oracle_whose_probabilities_it_cannot_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(notation._RANDOMIZERS, "hadamard", broken.TakesRawWords)
    result = run("hadamard:size=4,epsilon=1", "--exact")
    assert result.exit_code == 1
    assert "cannot be enumerated: 1 raw words are asked for" in result.stderr


def test_a_missing_file_is_named() -> None:
    result = run("nowhere.yaml", "--exact")
    assert result.exit_code == 1
    assert "nowhere.yaml: there is no such file" in result.stderr


@pytest.mark.parametrize("option", ["--trials", "--confidence", "--seed"])
def test_an_option_without_effect_is_refused(option: str) -> None:
    result = run(MECHANISM, "--exact", option, 1000 if option == "--trials" else 0)
    assert result.exit_code == 2
    assert "--exact draws nothing" in result.stderr


@pytest.mark.parametrize("confidence", [0, 1, 99])
def test_a_confidence_that_is_not_between_0_and_1_is_refused(confidence: float) -> None:
    result = run(MECHANISM, "--confidence", confidence)
    assert result.exit_code == 2
    assert "--confidence must be above 0 and below 1" in result.stderr


@pytest.mark.parametrize("exact", [True, False])
def test_code_that_fails_is_a_finding_that_names_the_place(
    exact: bool, item_collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sampled(*_: object, **__: object) -> NoReturn:
        raise ZeroDivisionError("slots")

    monkeypatch.setattr(FrequencyOracle, "sampled", sampled)
    result = run(item_collection, *(["--exact"] if exact else ["--trials", 200, "--seed", 1]))
    assert result.exit_code == 1
    assert "DISPROVED" in result.stderr
    assert "fails in sampled" in result.stderr
    assert "test_audit.py" in result.stderr
    assert "ZeroDivisionError: slots" in result.stderr


@pytest.mark.parametrize("exact", [True, False])
def test_a_user_asked_by_two_phases_that_should_share_nobody_is_a_finding(
    exact: bool, item_collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Phase, "asks", lambda self, words: (words >= self.share[0]) & (words <= self.share[1]))
    result = run(item_collection, *(["--exact"] if exact else ["--trials", 200, "--seed", 1]))
    assert result.exit_code == 1
    assert "users of one part of the user partition are asked by different phases" in result.stderr


def test_the_help_names_the_unit() -> None:
    assert "in nats" in " ".join(run("--help").stdout.split())


def test_the_audit_of_a_client_says_of_each_promise_that_it_holds(collection: Path) -> None:
    """It fails by chance in 5 of 10^6 runs."""
    rows = document(collection, "--client")["results"]
    assert len(rows) >= 12
    assert {row["result"] for row in rows} == {"holds"}
    assert {row["chance"] for row in rows} <= {0.0, 1e-6, 2e-6}


def test_the_audit_of_a_client_says_which_promise_is_broken(
    collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RRLDP, "perturb", lambda self, values, **_: self.packed(broken.one_hot(self, values)))
    result = run(collection, "--client")
    assert result.exit_code == 1
    assert "BROKEN" in result.stdout
    assert "DISPROVED: " in result.stderr
    assert "every row follows the specification, given user, record, time and noise" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([MECHANISM, "--client"], "give the file of one"),
        ([MECHANISM, "--client", "--exact"], "give one of them"),
        ([MECHANISM, "--client", "--seed", 1], "--client has no number of trials"),
    ],
)
def test_a_client_audit_that_cannot_be_is_refused(arguments: list[object], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        ("hadamard:size=8", "not a mechanism; write it like hadamard:size=8,epsilon=1,hash_bits=1"),
        ("hadamard:size=8,epsilon=1,bits=1", "not a mechanism; write it like hadamard:"),
        ("set-hadamard:size=8,slots=2,epsilon=1,hash_bits=1", "1 bits of hash are for 1 to 1 slots, got 2"),
        ("direct:size=1,epsilon=1", "2 to 2^32 choices, got size=1"),
        ("unary:size=8,epsilon=0", "epsilon must be positive and finite, got 0.0"),
        ("unary:size=8.5,epsilon=1", "size: expected a whole number, got '8.5'"),
        ("rr-ldp:", "not a mechanism; write it like rr-ldp:f=0.5,p=0.5,q=0.75,sizes=2x3"),
        ("rr-ldp:f=0.5", "not a mechanism"),
        ("rr-ldp:f=0.5,sizes=2,z=1", "not a mechanism"),
        ("rr-ldp:f=2,sizes=2", "f must be between 0 (no privacy) and 1"),
        ("rr-ldp:f=0.5,sizes=1x2", "every attribute needs at least 2 values"),
        ("rr-ldp:f=half,sizes=2", "f: 'half' is not a number"),
        ("k-rr", "not a mechanism"),
        ("rr-lpd:f=0.5,sizes=2", "no such file, and 'rr-lpd' is no mechanism; did you mean 'rr-ldp'?"),
        ("svim:epsilon=3,k=3", "svim is a mechanism of collections of sets: write it in a collection file"),
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
    assert document("rr-ldp:survey.yaml", "--trials", 100, "--seed", 1)["results"]


@pytest.mark.parametrize(
    "kind",
    # Those of records are audited above. Reports of the other kinds that are long are answers to other questions than
    # those of `sampled`, through the same client. That they are the specified ones is quickly shown in
    # tests/audit/test_specified_rows.py.
    [pytest.param(kind, marks=() if kind in {"sampled", "sets"} else pytest.mark.long) for kind in KINDS],
)
async def test_honest_clients_of_every_kind_break_no_promise(kind: str, tmp_path: Path) -> None:
    """It fails by chance in 5 of 10^6 runs."""
    text = COLLECTIONS[kind]
    found = await audit_clients(parse_collection(text), data(text), tmp_path)
    assert [each for each in found if each.problem is not None] == []
    assert sum(each.chance for each in found) < 6e-6


async def test_clients_of_a_kind_that_the_package_does_not_know_are_audited(coins: Coins, tmp_path: Path) -> None:
    found = await audit_clients(coins, data(COINS), tmp_path)
    assert [each for each in found if each.problem is not None] == []
