"""Sections of a plan as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.cli.displays.plan_text import print_sections
from stream_ldp.pipeline.plan import Section

if TYPE_CHECKING:
    import pytest


def printed(section: Section, capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_sections([section])
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_named_values_stand_below_their_title(capsys: pytest.CaptureFixture[str]) -> None:
    section = Section(title="Collection trips", rows=(("a report", "9 bits"), ("[b]odd[/b]", "\x1b[2J")))
    assert printed(section, capsys) == ["Collection trips", "a report 9 bits", r"[b]odd[/b] \x1b[2J"]


def test_a_table_has_its_headings_and_the_sentences_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    section = Section(title="Errors", columns=("users", "error"), rows=(("10", "0.5"),), notes=("Too large.",))
    lines = printed(section, capsys)
    assert lines[0] == "Errors"
    assert lines.index("users error") < lines.index("10 0.5") < lines.index("Too large.")
