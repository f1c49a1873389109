"""Rows of answers about strings: what is in them, which are valid, and what in them can be tested."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strings.examples import collection_of, rows_of, users

COLLECTION = collection_of()
QUESTIONS = COLLECTION.method.questions


def test_rows_hold_the_number_the_seed_and_the_answer() -> None:
    rows = rows_of(COLLECTION, users(COLLECTION, 300))
    answers = QUESTIONS.answers(rows)
    assert rows.shape == (300, 6)
    assert answers.reports == 300
    again = np.concatenate(
        [answers.numbers[:, None], answers.seeds.astype("<u4").view(np.uint8).reshape(-1, 4), *answers.rows], axis=1
    )
    assert np.array_equal(again, rows)
    assert answers.where(answers.numbers == 1).reports == (rows[:, 0] == 1).sum()


@given(counts=st.lists(st.integers(1, 2**32 - 1), min_size=1, max_size=8), most=st.integers(1, 9))
def test_answers_in_parts_come_as_often_as_they_did_together(counts: list[int], most: int) -> None:
    rows = rows_of(COLLECTION, users(COLLECTION, len(counts)))
    rows[:, 1] = range(len(counts))
    found = np.zeros(len(counts), dtype=np.int64)
    for times, part in QUESTIONS.answers(rows, np.array(counts)).parts(most=most):
        assert len(part.seeds) == part.reports <= most
        found[part.seeds & 255] += times
    assert found.tolist() == counts


def test_rows_that_no_client_makes_are_not_valid() -> None:
    rows = rows_of(COLLECTION, users(COLLECTION, 3))
    assert QUESTIONS.valid(rows).all()
    rows[0, 0] = 3
    rows[1, 5] |= 64
    assert QUESTIONS.valid(rows).tolist() == [False, False, True]


def test_users_are_asked_in_proportion_and_the_loss_is_that_of_the_answer() -> None:
    assert QUESTIONS.shares.tolist() == pytest.approx([9 / 73, 25 / 73, 39 / 73])
    first, second, _ = QUESTIONS.ends
    words = np.array([0, first - 1, first, second - 1, second, 2**32 - 1], dtype=np.uint32)
    assert QUESTIONS.numbers(words).tolist() == [0, 0, 1, 1, 2, 2]
    assert QUESTIONS.epsilon == QUESTIONS.randomizers[0].epsilon


def test_reports_to_one_question_or_with_one_seed_are_found_implausible() -> None:
    """Honest reports are flagged for one seed in a million."""
    rows = rows_of(COLLECTION, users(COLLECTION, 2_000))
    counts = np.ones(len(rows), dtype=np.int64)
    assert not QUESTIONS.plausibility(rows, counts, reports_per_user=1).flagged
    for column, value in ((0, 2), (1, 7)):
        crafted = rows.copy()
        crafted[:1_000, column] = value
        assert QUESTIONS.plausibility(crafted, counts, reports_per_user=1).flagged
    # Seeds that somebody has searched for, each with answers to fit: a few of them are enough.
    crafted = rows.copy()
    crafted[:6, 1:5], crafted[:6, 5] = [9, 8, 7, 6], np.arange(6)
    assert QUESTIONS.plausibility(crafted, counts, reports_per_user=1).flagged
    crafted[:1_000, 4] |= 128
    assert QUESTIONS.plausibility(crafted, counts, reports_per_user=1).flagged, "all 32 bits are looked at"
    # The same draws, by users who repeat them, say no more than those of fewer users.
    assert not QUESTIONS.plausibility(rows, 100 * counts, reports_per_user=100).flagged
    assert QUESTIONS.plausibility(rows[:5], counts[:5], reports_per_user=1).degrees_of_freedom == 0
