"""Many users are asked, part by part, and all are counted."""

import numpy as np

from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.questions.asking import asked_sums, assumed_table
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


def test_assumed_users_have_values_texts_and_numbers_in_their_domains() -> None:
    collection = SampledCollection.parse(
        "collection: c\nmechanism: {kind: sampled, epsilon: 2}\nwindow: {size: 60s}\nattributes:\n"
        "  - {name: diet, values: [meat, fish, plants]}\n  - {name: app, candidates: [maps, mail]}\n"
        "  - {name: age, range: [20, 80]}\n"
    )
    table = assumed_table(collection.attributes)
    assert [table.dtype[place] for place in range(3)] == [np.dtype(each.dtype) for each in collection.attributes]
    assert set(table["0"].tolist()) == {0, 1, 2}
    assert set(table["1"].tolist()) == {"maps", "mail"}
    assert table["2"].min() >= 20
    assert table["2"].max() <= 80
    assert abs(np.mean(table["2"]) - (20 + 60 / 3)) < 1
    assert len(collection.table(table)) == len(table)
