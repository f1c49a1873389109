"""Tests of the user that `report` is told of: whose secret and ledger, and on what terms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer

from stream_ldp.cli.inputs.records import Format
from stream_ldp.cli.report_options import ReportOptions
from stream_ldp.kafka.settings import Settings
from stream_ldp.privacy.ledger.ledger_file import LooserTerms
from stream_ldp.privacy.ledger.terms import Assumption


def told(secret_file: Path, *, new_ledger: bool = False, change_terms: bool = False, **given: Any) -> ReportOptions:
    return ReportOptions(
        path=Path("-"),
        epochs=None,
        secret_file=secret_file,
        many_users=False,
        given=given,
        change_terms=change_terms,
        new_ledger=new_ledger,
        form=Format.AUTO,
        skip_bad=False,
        settings=Settings.load(),
    )


def test_a_new_user_has_the_terms_that_were_given_and_keeps_them(tmp_path: Path) -> None:
    secret, ledger = told(tmp_path / "secret", budget=2.0).user()
    assert ledger.terms.budget == 2.0
    again, kept = told(tmp_path / "secret").user()
    assert (again, kept.terms) == (secret, ledger.terms)


def test_terms_that_allow_more_need_to_be_agreed_to(tmp_path: Path) -> None:
    told(tmp_path / "secret", budget=2.0).user()
    with pytest.raises(LooserTerms):
        told(tmp_path / "secret", budget=3.0).user()
    _, ledger = told(tmp_path / "secret", budget=3.0, change_terms=True).user()
    assert ledger.terms.budget == 3.0


def test_another_assumption_does_not_keep_the_number_of_values_of_the_one_before(tmp_path: Path) -> None:
    told(tmp_path / "secret", budget=2.0, assumption=Assumption.VALUES, max_values=3).user()
    _, ledger = told(tmp_path / "secret", assumption=Assumption.CONSTANT).user()
    assert (ledger.terms.assumption, ledger.terms.max_values) == (Assumption.CONSTANT, None)


def test_a_mistake_in_the_terms_is_found_before_anything_is_created(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong in (told(tmp_path / "secret", new_ledger=True), told(tmp_path / "secret", budget=-1.0)):
        with pytest.raises(typer.Exit):
            wrong.user()
        assert "budget" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
