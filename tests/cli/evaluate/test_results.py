"""Tests of the JSON of evaluations."""

import json
import math

import pytest

from stream_ldp.cli.evaluate._results import echo_json


def test_settings_and_results_are_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    echo_json({"users": 3}, [{"avd": 0.5}])
    assert json.loads(capsys.readouterr().out) == {"settings": {"users": 3}, "results": [{"avd": 0.5}]}


def test_a_number_that_json_does_not_have_is_never_printed() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        echo_json({}, [{"avd": math.nan}])
