"""Lines of a command stay lines of text, whatever is in them."""

import json

import pytest

from stream_ldp.cli.echo import echo, echo_json


def test_a_line_stays_one_line_and_commands_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    echo("survey: \x1b]0;owned\x07\nsurvey: ok", "next \u202e", err=True)
    captured = capsys.readouterr()
    assert captured.err == "survey: \\x1b]0;owned\\x07\\nsurvey: ok\nnext \\u202e\n"
    assert captured.out == ""


def test_json_keeps_its_lines_and_its_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"item": "\x9b2J\n\u200b grüße"}
    echo_json(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
    out = capsys.readouterr().out
    assert out == '{\n  "item": "\\u009b2J\\n\\u200b grüße"\n}\n'
    assert json.loads(out) == value
