"""A spreadsheet evaluates nothing of what a line of CSV holds."""

import csv
from datetime import UTC, datetime

import pytest

from stream_ldp.spreadsheet import csv_line


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@sum", "\tx", "'quoted"])
def test_text_that_would_be_evaluated_has_an_apostrophe_before_it(text: str) -> None:
    ((cell,),) = csv.reader([csv_line([text])])
    assert cell == f"'{text}"


@pytest.mark.parametrize("value", ["-1.5", "+2e3", "no", -3, 0.25])
def test_numbers_and_other_text_stay_as_they_are(value: object) -> None:
    assert csv_line([value]) == f"{value}\n"


def test_times_are_iso_8601_and_what_is_not_known_is_empty() -> None:
    assert csv_line([datetime(2026, 1, 31, tzinfo=UTC), None, "a,b"]) == '2026-01-31T00:00:00+00:00,,"a,b"\n'
