"""How sure a method is of a string: errors, chances, and the cut."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from stream_ldp.strings.method import Supports, told

SYMBOLS = np.arange(4)[:, None]


def supports(counts: list[float], reports: float = 1_000) -> Supports:
    return Supports(reports=reports, counts=np.array(counts), one=0.5, zero=0.125)


def test_frequencies_and_errors_are_those_of_a_pure_protocol() -> None:
    found = supports([500.0, 125.0])
    assert found.frequency.tolist() == [1.0, 0.0]
    assert found.standard_error[0] == pytest.approx(np.sqrt(0.25 / 1_000) / 0.375)
    assert found.standard_error[1] == pytest.approx(float(found.absent_error))


def test_the_chance_is_the_exact_tail_of_the_reports_that_support_a_string() -> None:
    found = supports([125.0, 180.0, 0.0])
    assert found.chance == pytest.approx([binom.sf(124, 1_000, 0.125), binom.sf(179, 1_000, 0.125), 1.0])


def test_a_string_is_told_only_if_at_most_one_false_one_is_expected_to_look_so_frequent() -> None:
    found = supports([160.0, 190.0, 140.0, 155.0])
    few = told(SYMBOLS, found, candidates=4, k=4)
    # 140 is 1.4 standard errors above 0.
    assert few.symbols.ravel().tolist() == [1, 0, 3]
    assert few.expected_false == pytest.approx(4 * found.chance[[1, 0, 3]])
    many = told(SYMBOLS, found, candidates=10_000, k=4)
    assert many.symbols.ravel().tolist() == [1]
    assert told(SYMBOLS, found, candidates=4, k=2).symbols.ravel().tolist() == [1, 0]


def test_windows_weigh_as_much_as_their_effective_reports() -> None:
    parts = [(1.0, 1_000, np.array([300])), (0.5, 1_000, np.array([200]))]
    found = Supports.of(parts, one=0.5, zero=0.125)
    assert found.reports == pytest.approx(1_500**2 / 1_250)
    assert found.counts[0] / found.reports == pytest.approx(400 / 1_500)
