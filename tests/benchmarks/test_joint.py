"""These tests hold docs/accuracy.md and its plot against what was measured."""

from __future__ import annotations

import json
import re

import pytest

from tests.benchmarks.joint import MEASURED, PAGE, PLOT, plot, tables

RESULT = json.loads(MEASURED.read_text(encoding="utf-8"))
TABLES = tables(RESULT)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_the_page_has_the_numbers_that_were_measured(name: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (found,) = re.findall(rf"<!-- {name} -->\n\n(.*?)\n\n<!-- /{name} -->", text, flags=re.DOTALL)
    assert found == TABLES[name]


def test_the_plot_shows_what_was_measured() -> None:
    assert PLOT.read_text(encoding="utf-8") == plot(RESULT)


def test_no_row_is_more_than_five_percent_worse_with_the_windows_before() -> None:
    assert all(each["avd"]["temporal"] <= 1.05 * each["avd"]["window"] for each in RESULT["windows"])
