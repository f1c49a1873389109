"""The questions of a collection of places: one for each region and epsilon, about the place within the region."""

import numpy as np

from stream_ldp.mechanisms import OSEntropy
from tests.places.examples import collection_of, users

COLLECTION = collection_of("epsilon: [0.5, 2], oracle: hadamard")


def test_each_region_and_epsilon_has_a_question_over_the_regions_places() -> None:
    assert [(each.region.name, each.epsilon, each.randomizer.size) for each in COLLECTION.asked] == [
        ("everywhere", 0.5, 5),
        ("everywhere", 2.0, 5),
        ("north", 0.5, 2),
        ("north", 2.0, 2),
        ("south", 0.5, 3),
        ("south", 2.0, 3),
    ]
    assert all(each.epsilon - 1e-7 < each.randomizer.epsilon <= each.epsilon for each in COLLECTION.asked)


def test_what_is_answered_is_the_place_within_the_region() -> None:
    people = users(200)
    for question in COLLECTION.asked:
        inside = people[[place in question.region for place in people["0"]]]
        inputs = question.inputs(inside, entropy=OSEntropy())
        assert np.array_equal(inputs + question.region.first, inside["0"])
        assert set(inputs) == set(range(question.region.size))


def test_a_question_means_its_run_of_places_and_its_randomizer() -> None:
    question = COLLECTION.asked[5]
    assert question.meaning == [2, 5, "hadamard", question.randomizer.parameters]
