"""Tests of finding a collection by its file or by its name."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from stream_ldp.cli.named import collection_or_name, require_series
from tests.client.examples import collection_of


def test_a_file_is_loaded_and_a_name_stays_one(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert collection_or_name(str(survey)) == collection_of()
    assert collection_or_name("care-survey_2") == "care-survey_2"
    with pytest.raises(typer.Exit):
        collection_or_name("survey.yml")
    assert "survey.yml: there is no such file" in capsys.readouterr().err


def test_a_directory_is_taken_for_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "surveys").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(typer.Exit):
        collection_or_name("surveys")
    assert "surveys: a directory, where a collection's file or name was expected" in capsys.readouterr().err


def test_an_estimate_that_the_file_has_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    require_series(collection_of(), ["mobility", "bathing-mobility"])
    require_series("care-survey", ["whatever"])
    for name, hint in (("mobilty", "did you mean 'mobility'?"), ("x", "known are bathing-mobility, mobility")):
        with pytest.raises(typer.Exit):
            require_series(collection_of(), [name])
        assert hint in capsys.readouterr().err
