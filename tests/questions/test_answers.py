"""Tests of answers that are added up over windows."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.questions.answers import gathered
from tests.marginals.examples import collection_of, rows_of, users


def test_a_question_that_nobody_answered_gives_no_answers() -> None:
    collection = collection_of()
    nothing = np.zeros(collection.questions.counters, dtype=np.int64)
    assert gathered(collection.questions, [(1.0, nothing)], of=0) == ()


def test_windows_are_added_by_their_weight_at_the_effective_number_of_reports() -> None:
    """Kish (1965): weights 1 and 1/2 on n reports each are worth (3 n / 2)^2 / (5 n / 4) = 1.8 n."""
    collection = collection_of()
    sums = collection.questions.sums(rows_of(collection, users(3_000)))
    (once,), (both,) = (
        gathered(collection.questions, windows, of=0) for windows in ([(1.0, sums)], [(1.0, sums), (0.5, sums)])
    )
    assert both.reports == pytest.approx(1.8 * once.reports)
    assert both.sums == pytest.approx(1.8 * once.sums)
