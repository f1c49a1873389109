"""Tests of the JSON and the tables of evaluations."""

import json
import math

import pytest

from stream_ldp.cli.evaluate._results import echo_json, show_results


def test_settings_and_results_are_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    echo_json({"users": 3}, [{"avd": 0.5}])
    assert json.loads(capsys.readouterr().out) == {"settings": {"users": 3}, "results": [{"avd": 0.5}]}


def test_a_number_that_json_does_not_have_is_never_printed() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        echo_json({}, [{"avd": math.nan}])


def test_a_table_has_its_numbers_to_the_right_and_text_is_never_markup(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("em", "1"), ("lasso", "20")]
    show_results(rows, title="Errors", words=["method"], numbers=["users"], said="a [bold]table[/bold]")
    said, *table = capsys.readouterr().out.splitlines()
    assert said == "a [bold]table[/bold]"
    assert [line.split() for line in table if "em" in line or "lasso" in line] == [["em", "1"], ["lasso", "20"]]
    assert len({len(line.rstrip()) for line in table if line.strip().endswith(("1", "20", "users"))}) == 1
