"""Linked reports: gathered user by user, as counting them one by one would."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.linking import LinkedUsers

if TYPE_CHECKING:
    from collections.abc import Sequence

BITS = 5
#: A report: the number of its user, and its bits.
reports = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2**BITS - 1)), max_size=12)


def counted(window: Sequence[tuple[int, int]]) -> RowCounts:
    rows = [[*(251 * user).to_bytes(8, "big"), bits] for user, bits in window]
    return RowCounts.of(np.array(rows, dtype=np.uint8).reshape(-1, 9), bits=64 + BITS)


@settings(deadline=None)
@given(windows=st.lists(reports, min_size=1, max_size=4))
def test_each_users_reports_of_the_period_are_counted_if_the_user_reports_in_the_window(
    windows: list[list[tuple[int, int]]],
) -> None:
    found = LinkedUsers.of([counted(window) for window in windows], bits=BITS)
    users = {user for user, _ in windows[0]}
    in_period = [report for window in windows for report in window if report[0] in users]
    expected: Counter[tuple[int, tuple[int, ...], int]] = Counter()
    for user in users:
        own = [bits for each, bits in in_period if each == user]
        ones = tuple(sum(bits >> place & 1 for bits in own) for place in range(BITS))
        expected[len(own), ones, sum(each == user for each, _ in windows[0])] += 1
    assert (
        Counter(zip(found.reports.tolist(), map(tuple, found.ones.tolist()), found.in_window.tolist(), strict=True))
        == expected
    )
    if len(windows) > 1 and users:
        assert found.returning == len(users & {user for user, _ in windows[1]}) / len(users)
    if windows[0]:
        of_report = [sum(each == user for each, _ in windows[0]) for user, _ in windows[0]]
        assert found.reports_per_user == pytest.approx(np.mean(of_report))


def test_nobody_is_known_to_return_in_the_first_window_of_a_period() -> None:
    found = LinkedUsers.of([counted([(1, 3), (1, 3), (2, 0)])], bits=BITS)
    assert found.returning is None
    assert found.reports_per_user == pytest.approx((2 * 2 + 1) / 3)


def test_rows_without_pseudonyms_are_refused() -> None:
    with pytest.raises(ValueError, match="rows of 5 bits, where linked reports have 69"):
        LinkedUsers.of([RowCounts.empty(BITS)], bits=BITS)
