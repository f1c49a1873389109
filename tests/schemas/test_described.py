"""Docstrings describe the fields of models for readers of their schemas."""

from __future__ import annotations

from pydantic import BaseModel

from stream_ldp.schemas.described import fields_of, summary_of


class Base(BaseModel):
    """A base.

    kind: of the base.
    size: of all.
    """


class Model(Base):
    """A model whose summary takes
    two lines.

    kind: its own,
        in two lines.
    p, q: both.

    Raises (from somewhere):
        ValueError: never.
    """


def test_a_docstring_describes_fields_a_line_each_and_those_that_are_inherited() -> None:
    assert fields_of(Model) == {"kind": "its own, in two lines.", "size": "of all.", "p": "both.", "q": "both."}


def test_a_summary_is_the_first_paragraph_in_one_line() -> None:
    assert summary_of(Model) == "A model whose summary takes two lines."
