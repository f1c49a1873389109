"""The command line as a whole: what it lists, and where each command is."""

import re
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from stream_ldp.cli import _Root, app
from stream_ldp.cli.commands import Commands, progress_shown
from stream_ldp.steps import share, steps
from tests.command_lines import parse

GROUPS = {
    "": [
        "try",
        "init",
        "check",
        "plan",
        "demo",
        "evaluate",
        "report",
        "simulate",
        "gateway",
        "worker",
        "watch",
        "query",
        "export",
        "explain",
        "replay",
        "synthesize",
        "page",
        "dead-letters",
        "quarantine",
        "inspect",
        "reset",
        "audit",
        "doctor",
        "broker",
        "schema",
        "topics",
    ],
    "dead-letters": ["list", "replay"],
    "inspect": ["collection", "record"],
    "quarantine": ["list", "release"],
    "reset": ["groups", "position", "topics"],
    "topics": ["create", "list", "retire", "registry", "acls"],
}


def run(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, list(map(str, arguments)))


@cache
def help_of(*words: str) -> str:
    return run(*words, "--help").stdout


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_lists_each_of_its_commands_with_a_sentence(group: str) -> None:
    _, _, panel = help_of(*filter(None, [group])).partition(" Commands " if group else " Begin ")
    shown = [line.strip("│ ").split(maxsplit=1) for line in panel.splitlines() if line.startswith("│")]
    assert [name for name, _ in shown] == GROUPS[group]
    assert all(sentence.endswith(".") for _, sentence in shown)


@pytest.mark.parametrize(
    "command", [[*filter(None, [group]), name] for group, names in GROUPS.items() for name in names], ids=" ".join
)
def test_the_help_of_a_command_begins_as_its_group_lists_it_and_says_more(command: list[str]) -> None:
    listed = next(line for line in help_of(*command[:-1]).splitlines() if f"│ {command[-1]} " in line)
    sentence = listed.strip("│ ").split(maxsplit=1)[1]
    text = " ".join(help_of(*command).split())
    _, _, more = text.partition(sentence)
    assert more, text
    assert " Options " in more


def test_a_command_that_is_not_there_is_a_usage_error() -> None:
    result = run("chekc", "survey.yaml")
    assert result.exit_code == 2
    assert "No such command 'chekc'" in result.stderr


@pytest.mark.parametrize(("typed", "meant"), [(["worke"], "worker"), (["topics", "creat"], "create")])
def test_a_command_that_is_misspelt_is_reported_which_may_be_meant(typed: list[str], meant: str) -> None:
    assert f"No such command {typed[-1]!r}. Did you mean {meant!r}?" in run(*typed).stderr


def test_a_file_in_place_of_a_command_of_a_group_is_reported_which_may_be_missing() -> None:
    said = " ".join(run("dead-letters", "survey.yaml").stderr.replace("│", "").split())
    assert "No such command 'survey.yaml'; there are list and replay." in said
    assert "dead-letters list survey.yaml'?" in said


def test_the_paragraphs_of_help_are_broken_where_the_terminal_ends() -> None:
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["plan", "--help"]).stdout
    assert "--lifetime finds the parameters that spend so" in shown
    assert "much, prints them for the collection's file, and shows their cost. For a" in shown
    of_a_group = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["dead-letters", "replay", "--help"]).stdout
    assert "The command can be run again: a batch" in of_a_group


def test_every_command_of_a_table_is_where_the_table_says() -> None:
    for group in Commands.__subclasses__():
        for known in group.table.values():
            assert callable(known.part.imported())


def test_the_app_has_a_name_for_typer() -> None:
    assert typer.main.get_command(app).name == "stream-ldp"


def test_every_command_stands_under_a_heading_and_has_an_example_with_options_that_it_has() -> None:
    for name, known in _Root.table.items():
        assert known.panel in {"Begin", "Report", "Answer", "Operate"}, name
        command = typer.main.get_command(app).commands[name]._imported()  # type: ignore[attr-defined]
        typed = known.example.split()
        assert typed[0] == name
        command = getattr(command, "commands", {}).get(typed[1], command) if len(typed) > 1 else command
        known_options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in typed if word.startswith("--")} <= known_options, name


@pytest.mark.parametrize(
    "arguments", [["--help"], ["query", "--help"], ["topics", "--help"], ["topics", "create", "--help"]]
)
def test_help_shows_no_type_of_options_that_take_no_value(arguments: list[str]) -> None:
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, arguments).stdout
    assert "<bool>" not in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    "command", [[*filter(None, [group]), name] for group, names in GROUPS.items() for name in names], ids=" ".join
)
def test_the_example_in_the_help_of_a_command_is_one(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("survey.yaml", "films.yaml", "people.csv"):
        (tmp_path / file).touch()
    (example,) = re.findall(r"Example:  stream-ldp (.*?)\s*$", help_of(*command), flags=re.MULTILINE)
    assert example.split()[: len(command)] == command
    parse(example)


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return _Terminal()


def shown(terminal: _Terminal) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())


def until(holds: Callable[[], bool]) -> None:
    """Wait for what another thread draws."""
    for _ in range(500):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("nothing was drawn")


def test_nothing_is_written_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_shown():
        assert list(steps(range(3), "attacks")) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


def test_a_terminal_is_reported_what_is_done_of_how_much(terminal: _Terminal) -> None:
    with redirect_stderr(terminal), progress_shown(patience_s=0):
        for _ in steps(range(3), "attacks"):
            until(lambda: "attacks" in shown(terminal))
    assert re.search(r"attacks .* [0-3]/3 0:00:0\d", shown(terminal))


def test_work_within_work_of_the_same_name_is_counted_with_it_and_other_work_beside_it(terminal: _Terminal) -> None:
    with redirect_stderr(terminal), progress_shown(patience_s=0), share("ways"):
        for _ in range(2):
            list(steps(range(4), "ways"))
        for _ in steps(range(2), "rows"):
            until(lambda: "rows" in shown(terminal))
    assert re.search(r"ways .* 8/\? ", shown(terminal))
    assert re.search(r"rows .* [0-2]/2 ", shown(terminal))


def test_a_bar_is_gone_when_its_work_is_done(terminal: _Terminal) -> None:
    with redirect_stderr(terminal), progress_shown(patience_s=0):
        for _ in steps(range(3), "attacks"):
            until(lambda: "attacks" in shown(terminal))
        written = len(terminal.getvalue())
    assert terminal.getvalue()[:written].endswith("\r\x1b[2K\x1b[?25h\r")
    assert len(terminal.getvalue()) == written


def test_short_work_is_not_shown(terminal: _Terminal) -> None:
    with redirect_stderr(terminal), progress_shown(patience_s=60):
        list(steps(range(3), "attacks"))
    assert terminal.getvalue() == ""
