"""Lists of names and the values of a file, as evaluations are given them."""

from __future__ import annotations

import pytest
import typer

from stream_ldp.cli.evaluate._inputs import distinct, ordered


@pytest.mark.parametrize(
    ("values", "expected"),
    [(["10", "9", "-1", "9"], ["-1", "9", "10"]), (["10", "9", "b", "b"], ["10", "9", "b"]), ([], [])],
)
def test_values_come_once_in_the_order_of_numbers_if_all_are_numbers(values: list[str], expected: list[str]) -> None:
    assert ordered(values) == expected


def test_names_keep_their_order_and_none_may_come_twice(capsys: pytest.CaptureFixture[str]) -> None:
    assert distinct("svim,gfim", "method") == ["svim", "gfim"]
    with pytest.raises(typer.Exit) as ended:
        distinct("svim,gfim,svim", "method")
    assert ended.value.exit_code == 2
    assert "method 'svim' is given twice in svim,gfim,svim" in capsys.readouterr().err
