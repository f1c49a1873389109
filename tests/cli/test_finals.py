"""`stream-ldp plan --finals`: a design for the dependence that finals have shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from stream_ldp.cli import app
from tests.client.examples import write_survey
from tests.views.examples import TEXT, collection_of, estimated

pytestmark = pytest.mark.usefixtures("few_draws")

PAIRS = collection_of("epsilon: 4, ask: pairs", estimates="[{name: three, of: [walks, bathes, diet]}]")
FINAL = estimated(PAIRS, 20_000, name="three")


@pytest.fixture
def planned(tmp_path: Path) -> Callable[..., Result]:
    def run(*options: str, ask: str = "auto", finals: str = FINAL.to_bytes().decode() + "\n") -> Result:
        file = tmp_path / "care.yaml"
        estimates = "[{name: care, of: [walks, bathes]}]"
        file.write_text(TEXT.format(mechanism=f"epsilon: 4, ask: {ask}", estimates=estimates, window=""))
        return CliRunner().invoke(app, ["plan", str(file), "--finals", "-", *options], input=finals)

    return run


def test_the_design_is_chosen_for_the_dependence_of_the_finals(planned: Callable[..., Result]) -> None:
    provisional = FINAL.model_copy(update={"final": False}).to_bytes().decode()
    shown = planned(finals=f"{provisional}\n\n{FINAL.to_bytes().decode()}\n")
    assert shown.exit_code == 0, shown.output
    first = shown.stdout.splitlines()[0]
    assert first.startswith("dependence: 0.1")
    assert first.endswith("as the finals show of 3 pairs of attributes")
    document = json.loads(planned("--json").stdout)
    assert f"dependence: {document['dependence']}," in first


@pytest.mark.parametrize(
    ("finals", "code", "problem"),
    [
        ("", 2, "the finals have no two attributes of this collection together"),
        ("walks\n", 1, "standard input, line 1: not an estimate; write them by `stream-ldp watch"),
    ],
)
def test_what_are_no_finals_is_refused(planned: Callable[..., Result], finals: str, code: int, problem: str) -> None:
    result = planned(finals=finals)
    assert result.exit_code == code
    assert problem in " ".join(result.stderr.split())


def test_views_that_a_file_names_are_not_chosen(planned: Callable[..., Result], tmp_path: Path) -> None:
    result = planned(ask="pairs")
    assert (result.exit_code, "only `ask: auto` chooses views" in result.stderr) == (2, True)
    survey = write_survey(tmp_path / "survey.yaml")
    other = CliRunner().invoke(app, ["plan", str(survey), "--finals", str(tmp_path / "missing.json")])
    assert (other.exit_code, "--finals is for collections of views" in other.stderr) == (2, True)
