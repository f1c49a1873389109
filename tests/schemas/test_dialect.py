"""Schemas without the keywords of the newest draft."""

from pydantic import BaseModel

from stream_ldp.schemas.dialect import fields_of, summary_of, without_prefixes


def test_a_pair_of_numbers_is_a_list_of_two_items() -> None:
    number, pair = {"type": "number"}, {"minItems": 2, "maxItems": 2}
    assert without_prefixes({"anyOf": [{"prefixItems": [number, number], **pair}]}) == {
        "anyOf": [{"items": number, **pair}]
    }


def test_a_list_of_different_items_stays_as_it_is() -> None:
    schema = {"prefixItems": [{"type": "number"}, {"type": "string"}]}
    assert without_prefixes(schema) == schema


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
