"""Schemas without the keywords of the newest draft."""

from __future__ import annotations

from stream_ldp.schemas.dialect import without_prefixes


def test_a_pair_of_numbers_is_a_list_of_two_items() -> None:
    number, pair = {"type": "number"}, {"minItems": 2, "maxItems": 2}
    assert without_prefixes({"anyOf": [{"prefixItems": [number, number], **pair}]}) == {
        "anyOf": [{"items": number, **pair}]
    }


def test_a_list_of_different_items_stays_as_it_is() -> None:
    schema = {"prefixItems": [{"type": "number"}, {"type": "string"}]}
    assert without_prefixes(schema) == schema
