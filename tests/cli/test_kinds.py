"""Tests of the table of what is audited of each kind."""

from __future__ import annotations

import pytest

from stream_ldp.cli.kinds import AUDITED
from stream_ldp.kinds import KINDS


def test_every_kind_can_be_audited() -> None:
    assert list(AUDITED) == list(KINDS)


@pytest.mark.parametrize("name", AUDITED)
def test_what_is_imported_late_is_there(name: str) -> None:
    assert callable(AUDITED[name].imported()), AUDITED[name].place
