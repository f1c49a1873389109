"""RAPPOR-unknown: what users send, which strings are put together, and for what strings it is not."""

import numpy as np
import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.mechanisms.hashing import hashes
from stream_ldp.strings.ngrams import RapporUnknown
from tests.strings.examples import WORDS, collection_of, ranking_of, rows_of, users

LETTERS = "alphabet: abcdefghijklmnopqrstuvwxyz"


def collection(length: int = 6, epsilon: float = 8) -> RapporUnknown:
    method = collection_of(f"epsilon: {epsilon}, method: rappor-unknown", f"length: {length}, {LETTERS}").method
    assert isinstance(method, RapporUnknown)
    return method


def test_users_send_a_hash_and_two_n_grams_at_a_third_of_epsilon_each() -> None:
    method = collection(5)
    assert [each.meaning for each in method.questions.questions] == [[0, 1], [0, 2], [1, 2]]
    assert [each.bits for each in method.questions.randomizers] == [128, 729, 729]
    assert method.questions.epsilon == pytest.approx(8, abs=1e-6)
    assert method.questions.epsilon == pytest.approx(sum(each.epsilon for each in method.questions.randomizers))
    seeds = np.array([7, 9], dtype=np.uint32)
    symbols = np.array([[1, 2, 3, 0, 0], [4, 5, 6, 7, 8]])
    inputs = method.questions.questions[1].inputs(symbols, seeds)
    assert np.array_equal(inputs[:, 0], hashes(symbols, seeds, bits=7))
    assert inputs[:, 1:].tolist() == [[27 + 2, 0], [4 * 27 + 5, 8 * 27]]


def test_frequent_strings_of_any_length_are_put_together() -> None:
    """Seeded; 5 standard errors for each of 5 strings fail for one seed in 10^5."""
    ranking = ranking_of(collection_of("epsilon: 9, k: 6, method: rappor-unknown"), 10_000)
    assert ranking.strings is not None
    found = {each.string: each for each in ranking.strings}
    assert set(found) == set(WORDS)
    for word, share in zip(WORDS, (0.4, 0.25, 0.15, 0.12, 0.08), strict=True):
        assert abs(found[word].raw - share) < 5 * found[word].standard_error
    assert ranking.method == "rappor-unknown"


def test_an_estimate_is_as_far_off_as_it_says() -> None:
    """Seeded; over 30 samples of 1,000 users, the mean error is 4 standard deviations off for one seed in 10^4."""
    kind = collection_of("epsilon: 9, method: rappor-unknown")
    method, people = kind.method, users(kind, 1_000)
    assert isinstance(method, RapporUnknown)
    one, zero = method._support
    strings = np.array([kind.string.encode("apple"), kind.string.encode("grape")])
    scores = []
    for seed in range(30):
        answers = method.questions.answers(rows_of(kind, people, seed))
        shares = (method._supporting(answers, strings) / 1_000 - zero) / (one - zero)
        error = np.sqrt(zero * (1 - zero) / 1_000) / (one - zero)
        scores.append([(shares[0] - (people[:, 0] == 1).mean()) / error, shares[1] / error])
    assert np.all(np.abs(np.mean(scores, axis=0)) < 4 * 1.5 / np.sqrt(30))
    assert 0.6 < np.std(scores, axis=0)[1] < 1.5


def test_a_question_that_nobody_has_answered_leaves_no_ranking() -> None:
    kind = collection_of("epsilon: 6, method: rappor-unknown")
    answers = kind.method.questions.answers(rows_of(kind, users(kind, 300)))
    assert kind.method.find([(1.0, answers.where(answers.numbers != 1))], k=4) is None


def test_few_users_are_reported_nothing() -> None:
    kind = collection_of("epsilon: 1, method: rappor-unknown")
    found = kind.method.find([(1.0, kind.method.questions.answers(rows_of(kind, users(kind, 300))))], k=4)
    assert found is not None
    assert len(found.symbols) == 0
    assert kind.method.error(400) == pytest.approx(2 * kind.method.error(1_600))


@pytest.mark.parametrize(
    ("string", "problem"),
    [
        ("length: 6", "give an `alphabet` of at most 63 letters, or take method pem"),
        (f"length: 2, {LETTERS}", "strings of 3 to 32 letters, got length: 2; take method pem"),
        (f"length: 33, {LETTERS}", "strings of 3 to 32 letters, got length: 33; take method pem"),
    ],
)
def test_other_strings_are_refused_with_what_would_do(string: str, problem: str) -> None:
    with pytest.raises(CollectionError, match=problem):
        collection_of("epsilon: 6, method: rappor-unknown", string)
