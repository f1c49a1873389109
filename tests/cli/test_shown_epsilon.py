"""Tests that no command shows an epsilon below the true one: a promise of privacy is never rounded down."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stream_ldp.cli import app
from stream_ldp.cli.running import spent_line
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import BudgetExceeded, Terms
from stream_ldp.mechanisms import new_secret
from stream_ldp.records.answer import Privacy
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.reports import charges
from stream_ldp.sets.answer import EpochPrivacy
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.phases import epoch_epsilon
from stream_ldp.sets.rounds import Round, RoundRefused
from tests.cli.displays.examples import panel
from tests.client.examples import estimate_of
from tests.client.rankings import result_of

pytestmark = pytest.mark.usefixtures("few_draws")

#: Losses of 3.153829..., which rounds up by itself, and of 1.074285..., which does not.
RECORDS = ["{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}", "{kind: rr-ldp, f: 0.5, p: 0.5, q: 0.75}"]
SETS = [
    "{kind: svim, epsilon: 3.0000049, k: 2, set_size: 2}",
    "{kind: gfim, epsilon: 3.0000049, k: 2, set_size: 2}",
]


def survey(mechanism: str) -> str:
    return (
        f"collection: survey\nmechanism: {mechanism}\n"
        "attributes: [{name: bathing, values: [no, yes]}, {name: mobility, values: [none, some]}]\n"
        "window: {size: 60s}\nestimates: [{name: mobility, of: [mobility]}]\n"
    )


def films(mechanism: str) -> str:
    return f"collection: films\nmechanism: {mechanism}\nitems: {{size: 8}}\nwindow: {{size: 60s}}\n"


def run(*arguments: object) -> str:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.stdout


def check_shown(text: str, pattern: str, epsilons: Sequence[float]) -> None:
    """Check that the groups of a pattern find these epsilons in a text, none below and each within a thousandth."""
    found = re.findall(pattern, text, flags=re.MULTILINE)
    shown = [float(number) for each in found for number in ([each] if isinstance(each, str) else each)]
    assert len(shown) == len(epsilons), text
    for number, epsilon in zip(shown, epsilons, strict=True):
        assert epsilon <= number < epsilon + 0.0011, (number, epsilon, text)


def check_audited(text: str, epsilons: Sequence[float]) -> None:
    """Check that all of these are in the table of an audit, which has six decimals, and none a little below."""
    shown = [float(number) for number in re.findall(r"(?<![\d.])\d+\.\d{6}(?!\d)", text)]
    for epsilon in epsilons:
        near = [number for number in shown if abs(number - epsilon) < 1e-5]
        assert near, (epsilon, text)
        assert min(near) >= epsilon, (epsilon, text)


@pytest.mark.parametrize("mechanism", [pytest.param(RECORDS[0], marks=pytest.mark.long), RECORDS[1]])
def test_no_command_shows_an_epsilon_of_records_below_the_true_one(mechanism: str, tmp_path: Path) -> None:
    (file := tmp_path / "survey.yaml").write_text(survey(mechanism))
    collection = JointCollection.load(file)
    once, lifetime = collection.mechanism.epsilon(), collection.mechanism.epsilon(reports=math.inf)

    def losses(*reports: float) -> list[float]:
        return [collection.mechanism.epsilon(neighbours=m, reports=times) for times in reports for m in (1, 2)]

    row = r"^ +(?:\d+|lifetime) +(\d\S*) +(\d\S*) *$"
    # That an audit rounds up as well is shown in test_audit.py.
    check_shown(run("plan", file, "--reports", 500), row, losses(1, 2, 7, 30, 365, math.inf))

    (data := tmp_path / "people.csv").write_text("bathing,mobility\nno,none\nyes,some\nno,some\n")
    answered = run("evaluate", file, "--data", data, "--repeats", 1, "--users", 50, "--vary", "estimates.0.method=em")
    check_shown(answered, r"^ +\S+ +em +50 .* (\S+) +(\S+) +\S+ *$", [once, lifetime])
    told = r"(\S+) a report, (\S+) a lifetime"

    privacy = Privacy(per_report=once, lifetime=lifetime, assumption="any two records")
    check_shown(panel(estimate_of(privacy=privacy), width=200), told, [once, lifetime])


@pytest.mark.parametrize("mechanism", RECORDS)
def test_no_ledger_shows_what_is_spent_below_what_it_is(mechanism: str, tmp_path: Path) -> None:
    collection = JointCollection.parse(survey(mechanism))
    once = collection.mechanism.epsilon()
    secret = new_secret()
    ledger = PrivacyLedger.create(tmp_path / "ledger", secret=secret, terms=Terms(budget=once))
    reports = charges(collection, [(0, 0)], secret=secret, tag_key=ledger.tag_key)
    ledger.spend(reports, time_ms=0)
    assert ledger.spending.epsilon == once
    check_shown(spent_line(ledger), r"^(\S+) of", [once])
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.spend(reports, time_ms=0)
    check_shown(str(refusal.value), r"cost (\S+) nats", [refusal.value.cost])


@pytest.mark.parametrize("mechanism", [SETS[0], pytest.param(SETS[1], marks=pytest.mark.long)])
def test_no_command_shows_an_epsilon_of_sets_below_the_true_one(mechanism: str, tmp_path: Path) -> None:
    (file := tmp_path / "films.yaml").write_text(films(mechanism))
    method = ItemCollection.load(file).method
    whole, phases = epoch_epsilon(method), [phase.epsilon for phase in method.phases]
    assert whole == 3.0000049
    check_shown(run("check", file), r"at epsilon (\S+),", [whole])
    planned = run("plan", file)
    check_shown(planned, r"^ +\d+ +(\d[\d.]*) *$", [times * whole for times in (1, 7, 30, 365)])
    check_shown(planned, r"(?:, l = \d+|candidates) +(\S+)", phases)
    check_audited(run("audit", "--exact", file), [whole, *phases])

    privacy = EpochPrivacy(per_epoch=whole, phases=tuple(phases), assumption="any two sets of items")
    check_shown(panel(result_of(7, privacy=privacy), width=200), r"at epsilon (\S+) an epoch", [whole])


def test_a_round_that_asks_for_too_much_is_reported_with_no_less_than_it_asks_for() -> None:
    collection = ItemCollection.parse(films(SETS[0]))
    asked = Round.first(collection, epoch=7).model_copy(update={"epsilon": 3.1000049})
    with pytest.raises(RoundRefused) as refusal:
        asked.check(collection)
    check_shown(str(refusal.value), r"epsilon (\S+), the collection allows (\S+)$", [3.1000049, 3.0000049])
