"""Tests of the commands' table of kinds."""

from __future__ import annotations

from dataclasses import fields

import pytest

from stream_ldp.cli.deferred import Deferred
from stream_ldp.cli.kinds import FACES
from stream_ldp.kinds import KINDS


def test_commands_know_every_kind() -> None:
    assert list(FACES) == list(KINDS)


@pytest.mark.parametrize("name", FACES)
def test_what_is_imported_late_is_there(name: str) -> None:
    parts = [getattr(FACES[name], field.name) for field in fields(FACES[name])]
    for part in parts:
        if isinstance(part, Deferred):
            assert callable(part.imported()), part.place
