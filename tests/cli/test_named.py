"""Tests of finding a collection by its file or by its name."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from stream_ldp.cli.named import collection_or_name
from tests.client.examples import collection_of


def test_a_file_is_loaded_and_a_name_stays_one(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert collection_or_name(str(survey)) == collection_of()
    assert collection_or_name("care-survey_2") == "care-survey_2"
    with pytest.raises(typer.Exit):
        collection_or_name("survey.yml")
    assert "survey.yml: there is no such file" in capsys.readouterr().err
