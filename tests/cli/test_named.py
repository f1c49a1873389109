"""Tests of finding a collection by its file or by its name."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import typer

from stream_ldp.cli.named import collection_or_name, named_collections, read_as, require_series
from stream_ldp.testing import KafkaInMemory
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


def test_files_and_names_that_are_registered_are_loaded(
    answered: KafkaInMemory, survey: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for given in (str(survey), "care-survey"):
        assert asyncio.run(named_collections([given], settings=answered.settings)) == {given: collection_of()}
    with pytest.raises(typer.Exit):
        asyncio.run(named_collections(["care-surfey"], settings=answered.settings))
    assert (
        "care-surfey: there is no such file, and no collection is registered with this name; did you mean "
        "'care-survey'?" in capsys.readouterr().err
    )
    with pytest.raises(typer.Exit):
        asyncio.run(named_collections([str(survey), "care-survey"], settings=answered.settings))
    assert "hold collections of the same name" in capsys.readouterr().err


def test_an_estimate_that_the_registered_collection_has_not_is_refused(
    answered: KafkaInMemory, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit):
        asyncio.run(read_as("care-survey", settings=answered.settings, series=["mobilty"]))
    assert "--estimate mobilty: care-survey has no such estimate; did you mean 'mobility'?" in capsys.readouterr().err


def test_a_name_that_nobody_has_registered_is_read_as_it_is(answered: KafkaInMemory) -> None:
    assert asyncio.run(read_as("nothing", settings=answered.settings)) == (None, {})
