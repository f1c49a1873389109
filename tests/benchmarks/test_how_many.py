"""The page on how many users a question needs has what its commands measure."""

import re

import pytest

from tests.benchmarks import how_many
from tests.paths import REPOSITORY


@pytest.mark.parametrize(("plot", "line"), [("frequencies", "epsilon 1"), ("joint", "k-rr, epsilon 2")])
def test_a_point_of_the_page_is_measured_again_by_its_command(
    plot: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(REPOSITORY)
    page = how_many.PAGE.read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {re.escape(line)} \|(.*)\|$", page, flags=re.MULTILINE)
    assert row.split("|")[0].strip() == f"{how_many.measured(plot, line, how_many.USERS[0]):.3g}"


def test_the_page_is_made_of_its_numbers_and_names_its_plots() -> None:
    page = how_many.PAGE.read_text(encoding="utf-8")
    found = {
        plot: {
            line: [float(cell) for cell in row.split("|")]
            for line in lines
            for row in re.findall(rf"^\| {re.escape(line)} \|(.*)\|$", page, flags=re.MULTILINE)
        }
        for plot, lines in how_many.COMMANDS.items()
    }
    assert how_many.made(found) == page
    for plot in found:
        assert (REPOSITORY / "docs" / "images" / f"users-{plot}.svg").is_file()
