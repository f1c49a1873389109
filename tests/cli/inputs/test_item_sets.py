"""Sets of items on the lines of a file."""

import pytest

from stream_ldp.cli.inputs.item_sets import items_of


@pytest.mark.parametrize(
    ("line", "items"),
    [
        ("", []),
        (" a  b\t\n", ["a", "b"]),
        ('["a b", "c,d"]\n', ["a b", "c,d"]),
        ("[]", []),
    ],
)
def test_items_of_a_line_are_split_at_blanks_or_read_as_json(line: str, items: list[str]) -> None:
    assert items_of(line) == items
