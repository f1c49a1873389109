"""The command line as a whole: what it lists, and where each command is."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner, Result

from stream_ldp.cli import app
from stream_ldp.cli.commands import Commands

GROUPS = {
    "": [
        "check",
        "plan",
        "report",
        "simulate",
        "worker",
        "dead-letters",
        "quarantine",
        "inspect",
        "reset",
        "watch",
        "query",
        "replay",
        "synthesize",
        "gateway",
        "page",
        "audit",
        "doctor",
        "broker",
        "demo",
        "evaluate",
        "schema",
        "topics",
    ],
    "dead-letters": ["list", "replay"],
    "inspect": ["collection", "record"],
    "quarantine": ["list", "release"],
    "reset": ["groups", "position", "topics"],
    "topics": ["create", "list", "acls"],
}


def run(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, list(map(str, arguments)))


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_lists_each_of_its_commands_with_a_sentence(group: str) -> None:
    _, _, panel = run(*filter(None, [group]), "--help").stdout.partition(" Commands ")
    shown = [line.strip("│ ").split(maxsplit=1) for line in panel.splitlines() if line.startswith("│")]
    assert [name for name, _ in shown] == GROUPS[group]
    assert all(sentence.endswith(".") for _, sentence in shown)


@pytest.mark.parametrize(
    "command", [[*filter(None, [group]), name] for group, names in GROUPS.items() for name in names], ids=" ".join
)
def test_the_help_of_a_command_begins_as_its_group_lists_it_and_says_more(command: list[str]) -> None:
    listed = next(line for line in run(*command[:-1], "--help").stdout.splitlines() if f"│ {command[-1]} " in line)
    sentence = listed.strip("│ ").split(maxsplit=1)[1]
    text = " ".join(run(*command, "--help").stdout.split())
    _, _, more = text.partition(sentence)
    assert more, text
    assert " Options " in more


def test_a_command_that_is_not_there_is_a_usage_error() -> None:
    result = run("chekc", "survey.yaml")
    assert result.exit_code == 2
    assert "No such command 'chekc'" in result.stderr


@pytest.mark.parametrize(("typed", "meant"), [(["worke"], "worker"), (["topics", "creat"], "create")])
def test_a_command_that_is_misspelt_is_told_which_may_be_meant(typed: list[str], meant: str) -> None:
    assert f"No such command {typed[-1]!r}. Did you mean {meant!r}?" in run(*typed).stderr


def test_the_paragraphs_of_help_are_broken_where_the_terminal_ends() -> None:
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["plan", "--help"]).stdout
    assert "--for-ever finds the parameters that spend so" in shown
    assert "much, prints them for the collection's file, and shows their cost. For a" in shown


def test_every_command_of_a_table_is_where_the_table_says() -> None:
    for group in Commands.__subclasses__():
        for known in group.table.values():
            assert callable(known.part.imported())


def test_the_app_has_a_name_for_typer() -> None:
    assert typer.main.get_command(app).name == "stream-ldp"
