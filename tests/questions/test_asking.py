"""Many users are asked, part by part, and all are counted."""

from __future__ import annotations

import numpy as np

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.questions.asking import asked_sums
from tests.marginals.examples import collection_of, users


def test_every_user_answers_one_question_in_whatever_parts_they_are_asked() -> None:
    questions, people = collection_of().questions, users(100)
    for at_once in (7, 100, 1_000):
        sums = asked_sums(questions, people, entropy=SeededEntropy(1), at_once=at_once)
        assert questions.draws(sums).sum() == 100


def test_users_who_have_chosen_answer_what_they_have_chosen() -> None:
    questions, people = collection_of().questions, users(100)
    chosen = np.full(100, 2)
    sums = asked_sums(questions, people, entropy=SeededEntropy(1), at_once=30, chosen=chosen)
    assert questions.draws(sums)[2] == 100
