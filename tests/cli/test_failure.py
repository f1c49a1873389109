"""Commands explain what a user can put right with a message, and anything else with a traceback."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import pytest
from typer.testing import CliRunner, Result

from stream_ldp.cli import app
from tests.forked import Forked


def run(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, list(map(str, arguments)))


def mistaken(*_: object, **__: object) -> NoReturn:
    """As NumPy speaks."""
    raise ValueError("operands could not be broadcast together")


@pytest.mark.parametrize(
    ("place", "arguments"),
    [
        ("stream_ldp.cli.check.load_collection", ["check"]),
        ("stream_ldp.cli.plan.load_collection", ["plan"]),
        ("stream_ldp.cli.plan.predicted", ["plan", "--lifetime", 5]),
        ("stream_ldp.cli.report.Terms", ["report", "--brokers", "127.0.0.1:1", "--secret-file", __file__]),
        ("stream_ldp.cli.simulate.load_population", ["simulate", "--data", __file__]),
        ("stream_ldp.mechanisms.rr_ldp.RRLDP", ["check"]),
        ("stream_ldp.records.collection.require_distinct", ["check"]),
    ],
)
def test_a_mistake_of_the_program_is_no_message_to_its_user(
    monkeypatch: pytest.MonkeyPatch, survey: Path, place: str, arguments: list[object]
) -> None:
    module, _, name = place.rpartition(".")
    monkeypatch.setattr(import_module(module), name, mistaken)
    result = run(arguments[0], survey, *arguments[1:])
    assert isinstance(result.exception, ValueError), result.output
    assert "operands" not in result.output


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("stream_ldp.mechanisms.rr_ldp.RRLDP", "{mechanism: {kind: rr-ldp, f: 0.5}}"),
        ("stream_ldp.records.solve.estimator", "{mechanism: {kind: rr-ldp, f: 0.5}}"),
        ("stream_ldp.sets.evaluation.run_phases", "{mechanism: {kind: svim, k: 1, epsilon: 1}}"),
        ("stream_ldp.sets.methods.spec.require", "{mechanism: {kind: svim, k: 1, epsilon: 1}}"),
    ],
)
def test_a_mistake_of_an_evaluation_is_no_message_to_its_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str, text: str
) -> None:
    module, _, name = place.rpartition(".")
    monkeypatch.setattr(import_module(module), name, mistaken)
    (data := tmp_path / "data").write_text("a,b\n0,0\n1,1\n" if "rr-ldp" in text else "0 1\n1 2\n")
    result = run("evaluate", "--collection", text, "--data", data)
    assert isinstance(result.exception, ValueError), result.output
    assert "operands" not in result.output


@pytest.mark.parametrize(
    ("place", "mechanism"),
    [
        ("stream_ldp.mechanisms.rr_ldp.RRLDP", "rr-ldp:f=0.5,sizes=2"),
        ("stream_ldp.mechanisms.direct.kept_inside", "direct:size=8,epsilon=1"),
    ],
)
def test_a_mistake_of_a_mechanism_is_no_message_to_who_audits_it(
    monkeypatch: pytest.MonkeyPatch, place: str, mechanism: str
) -> None:
    monkeypatch.setattr(place, mistaken)
    result = run("audit", mechanism)
    assert isinstance(result.exception, ValueError), result.output
    assert "operands" not in result.output


def test_a_mistake_of_the_program_ends_with_its_traceback(survey: Path) -> None:
    (program := survey.with_name("mistaken.py")).write_text(
        "import numpy as np, stream_ldp.cli, stream_ldp.mechanisms.rr_ldp as rr_ldp\n"
        "rr_ldp.RRLDP = lambda **_: np.ones(2) + np.ones(3)\n"
        "stream_ldp.cli.main()\n"
    )
    output = survey.with_name("said")
    assert Forked([str(program), "check", str(survey)], output=output, environment=os.environ).wait(60) == 1
    said = output.read_text(encoding="utf-8")
    assert "Traceback (most recent call last)" in said
    assert "in of\n" in said  # where it was made
    assert "ValueError: operands could not be broadcast together" in said


def test_what_a_user_can_put_right_is_said_without_a_traceback(tmp_path: Path) -> None:
    missing = run("plan", tmp_path / "nowhere.yaml")
    assert (missing.exit_code, "nowhere.yaml: there is no such file" in missing.stderr) == (1, True)
    impossible = run("audit", "rr-ldp:f=2,sizes=2")
    assert (impossible.exit_code, "f must be between 0" in impossible.stderr) == (2, True)
    assert "Traceback" not in missing.stderr + impossible.stderr


def test_a_settings_mistake_ends_every_command_with_2(survey: Path) -> None:
    for command in ("report", "watch", "worker"):
        result = run(command, survey, "--brokers", "nowhere")
        assert (result.exit_code, "is not host:port" in result.stderr) == (2, True), result.output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_disk_is_a_message_and_no_traceback(survey: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "stream_ldp", "check", str(survey)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "what the command prints: cannot be written: no space left on the device\n"
