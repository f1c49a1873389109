"""The audit of clients in other languages: the Python client passes it as a process, and with a break it does not."""

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stream_ldp.cli import app
from stream_ldp.client.audit import through
from tests.client.audit.broken_client import BREAKS

SURVEY = """
collection: care-survey
mechanism: {kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}
attributes:
  - {name: bathing, values: [no, yes]}
  - {name: mobility, values: [none, some, full]}
window: {size: 60s}
linked: 7d
estimates:
  - {name: both, of: [bathing, mobility]}
"""

#: What says so of each break.
CAUGHT = {
    "charges_half": "the ledger charges each report in full",
    "takes_the_words_of_the_first_value": "every row follows the specification",
    "keeps_its_pseudonym_for_ever": "every row follows the specification",
    "says_when_to_the_millisecond": "a sent record has what the specification says",
    "says_who_it_is_in_a_header": "a sent record has what the specification says",
    "sends_before_it_counts": "each report is charged before it leaves",
    "takes_any_value": "nothing beyond the user's terms is sent",
    "draws_the_same_noise_again": "fresh noise is not the same twice",
}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at fewer users and reports, too few for a test of ids."""
    for name, number in {"_USERS": 3, "_CHARGED": 1, "_IDS": 4, "_RANDOM": 64}.items():
        monkeypatch.setattr(through, name, number)
    monkeypatch.setattr(through, "id_problems", lambda _: [])


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.yaml"
    path.write_text(SURVEY, encoding="utf-8")
    return path


def audited(survey: Path, break_of: str = "") -> tuple[int, str]:
    command = f"{sys.executable} -m tests.client.audit.broken_client {break_of}"
    result = CliRunner().invoke(app, ["audit", str(survey), "--client", "--through", command], env={"COLUMNS": "200"})
    return result.exit_code, result.output


@pytest.mark.usefixtures("few")
def test_an_honest_client_in_a_process_passes(survey: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each restart loads the package again, for which the long test has the time.
    for slow in ("restarts", "crashes"):
        monkeypatch.setattr(through._Through, slow, lambda _: iter(()))
    code, output = audited(survey)
    assert code == 0, output
    assert output.count(" holds") == 11


@pytest.mark.long
def test_an_honest_client_in_a_process_passes_at_full_length(survey: Path) -> None:
    code, output = audited(survey)
    assert code == 0, output


def test_every_break_has_what_says_so() -> None:
    assert CAUGHT.keys() == BREAKS.keys()


@pytest.mark.long
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("break_of", BREAKS)
def test_a_broken_client_in_a_process_is_caught(survey: Path, break_of: str) -> None:
    code, output = audited(survey, break_of)
    assert code == 1
    assert "DISPROVED" in output
    assert f"\n  {CAUGHT[break_of]}" in output


def test_a_program_that_does_not_speak_the_protocol_is_no_finding(survey: Path) -> None:
    result = CliRunner().invoke(app, ["audit", str(survey), "--client", "--through", "cat"])
    assert result.exit_code == 2
    assert "--through: cat" in result.output
    missing = CliRunner().invoke(app, ["audit", str(survey), "--client", "--through", "no-such-program"])
    assert "no-such-program cannot be started" in missing.output


def test_through_is_for_the_audit_of_clients_of_records(survey: Path, tmp_path: Path) -> None:
    alone = CliRunner().invoke(app, ["audit", str(survey), "--through", "cat"])
    assert alone.exit_code == 2
    assert "--through belongs to --client" in alone.output
    films = tmp_path / "films.yaml"
    films.write_text(
        "collection: films\nmechanism: {kind: svim, epsilon: 3, k: 3}\nitems: {size: 30}\nwindow: {size: 60s}\n",
        encoding="utf-8",
    )
    sets = CliRunner().invoke(app, ["audit", str(films), "--client", "--through", "cat"])
    assert sets.exit_code == 2
    assert "a suite tests clients that answer rounds" in sets.output
