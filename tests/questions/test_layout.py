"""The layout of a sampled collection's batches: one statistic, in every window."""

import numpy as np

from stream_ldp.questions.layout import QuestionLayout
from tests.marginals.examples import collection_of, rows_of, users
from tests.questions.examples import sums_of


def test_all_answers_are_counted_in_one_vector_of_sums() -> None:
    collection = collection_of()
    layout, rows = QuestionLayout(collection), rows_of(collection, users(500))
    tallies = layout.tallies()
    for part in np.split(rows, [100, 101]):
        layout.count(tallies, part)
    (tally,) = tallies.values()
    assert tally.take_changed(closing=True) == {0: sums_of(collection, rows)}
    assert layout.bits == collection.questions.bits
    assert layout.valid(rows).all()
    assert layout.takes(np.array([0, 10_000])).all()


def test_a_batch_of_one_user_is_not_implausible() -> None:
    layout = QuestionLayout(collection_of())
    assert not layout.implausible(np.zeros((100, 2), dtype=np.uint8), np.array([100])).any()
