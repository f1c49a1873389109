"""PEM: which beginnings are asked about, what is found, and that counting by planes counts."""

import math

import numpy as np
import pytest

from stream_ldp.mechanisms.hashing import hashes
from stream_ldp.strings.attribute import StringAttribute
from stream_ldp.strings.pem import Pem, _sums, _supporting
from tests.strings.examples import WORDS, collection_of, ranking_of, rows_of, users


def lengths(length: int, alphabet: str | None) -> tuple[int, ...]:
    return Pem.of(StringAttribute(name="word", length=length, alphabet=alphabet), epsilon=2).lengths


def test_beginnings_grow_by_as_many_letters_as_a_solver_can_try() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    assert lengths(6, letters) == (2, 4, 6)
    assert lengths(7, letters) == (2, 4, 6, 7)
    assert lengths(12, "01") == (6, 12)
    assert lengths(3, None) == (1, 2, 3)
    assert lengths(1, None) == (1,)


@pytest.mark.parametrize(("epsilon", "buckets"), [(0.5, 2), (2, 8), (4, 64), (8, 256)])
def test_the_hash_has_about_as_many_buckets_as_the_odds(epsilon: float, buckets: int) -> None:
    method = Pem.of(StringAttribute(name="word", length=6), epsilon=epsilon)
    assert method.response.size == buckets
    assert method.questions.epsilon == pytest.approx(epsilon, abs=1e-6)


def test_supporting_reports_are_those_with_the_string_s_own_bucket() -> None:
    rng = np.random.default_rng(3)
    seeds = rng.integers(0, 2**32, 150, dtype=np.uint32)
    sent = rng.integers(0, 8, 150)
    beginnings, endings = rng.integers(0, 5, (4, 2)), rng.integers(0, 5, (3, 1))
    found = _supporting(sent, seeds, beginnings, endings, bits=3)
    for place, ending in enumerate(endings):
        for column, beginning in enumerate(beginnings):
            string = np.tile([*beginning, *ending], (150, 1))
            assert found[place, column] == (hashes(string, seeds, bits=3) == sent).sum()


def test_frequent_strings_of_any_length_are_found_with_their_frequencies() -> None:
    """Seeded; 5 standard errors for each of 5 strings fail for one seed in 10^5."""
    ranking = ranking_of(collection_of())
    assert ranking.strings is not None
    found = {each.string: each for each in ranking.strings}
    for word, share in zip(WORDS, (0.4, 0.25, 0.15, 0.12, 0.08), strict=True):
        assert abs(found[word].raw - share) < 5 * found[word].standard_error
    # Those of fewer letters than another question is about are told by its answers, too: by those of 64 users in 73.
    method = collection_of().method
    assert isinstance(method, Pem)
    supported = 1 / 64 + found["fig"].raw * (method.response.support[0] - 1 / 64)
    error = math.sqrt(supported * (1 - supported) / (20_000 * 64 / 73)) / (method.response.support[0] - 1 / 64)
    assert found["fig"].standard_error == pytest.approx(error, rel=0.02)


def test_an_estimate_is_unbiased_and_as_far_off_as_it_says() -> None:
    """Seeded; over 40 samples of 2,000 users, the mean error is 4 standard deviations off for one seed in 10^4."""
    collection = collection_of("epsilon: 3, k: 8")
    method, people = collection.method, users(collection, 2_000)
    apple = np.array([collection.string.encode("apple")])
    scores = []
    for seed in range(40):
        answers = method.questions.answers(rows_of(collection, people, seed))
        assert isinstance(method, Pem)
        supports = method._supports(
            [(1.0, answers.where(answers.numbers == 2))], apple.astype(np.int64), np.zeros((1, 0), dtype=np.int64)
        )
        scores.append((supports.frequency[0] - 0.4) / supports.standard_error[0])
    assert abs(np.mean(scores)) < 4 / np.sqrt(40)
    assert 0.6 < np.std(scores) < 1.5


def test_short_strings_are_found_by_the_answers_of_all_who_tell_them() -> None:
    """Seeded. Six short strings of 2.5 % each are 3 standard errors by the answers of one group, and 5 by all."""
    collection = collection_of("epsilon: 2, k: 8")
    short = ["be", "of", "the", "and", "you", "not"]
    rng = np.random.default_rng(12)
    others = rng.integers(1, 27, (34_000, 6), dtype=np.uint16)
    common = np.array([collection.string.encode(word) for word in short], dtype=np.uint16)
    table = collection.table(np.concatenate([np.repeat(common, 1_000, axis=0), others]))
    answers = collection.method.questions.answers(rows_of(collection, table))
    found = collection.method.find([(1.0, answers)], k=8)
    assert found is not None
    told = {collection.string.decode(symbols) for symbols in found.symbols}
    assert len(told & set(short)) >= 4
    tried = collection.method.candidates([(1.0, answers)], k=8)
    assert tried is not None
    # Those of fewer letters than the first group is about have the answers of all, the longest those of the last.
    reports = np.asarray(tried.every.reports)
    assert (reports.max(), reports.min()) == (len(table), (answers.numbers == 2).sum())


def test_counts_of_any_number_of_words_are_added_up() -> None:
    counts = np.random.default_rng(13).integers(0, 65, (2, 3, 512), dtype=np.uint8)
    for width in (8, 64, 512):
        expected = counts[..., :width].sum(axis=-1, dtype=np.int64)
        assert np.array_equal(_sums(np.ascontiguousarray(counts[..., :width])), expected)
    assert _sums(np.full((1, 4_088), 64, dtype=np.uint8)).tolist() == [64 * 4_088]


def test_nobody_s_strings_are_not_reported() -> None:
    """Users whose strings all differ: each that is reported is false, and at most one is expected."""
    collection = collection_of()
    rng = np.random.default_rng(7)
    table = collection.table(rng.integers(1, 27, (4_000, 6), dtype=np.uint16))
    rows = rows_of(collection, table)
    answers = collection.method.questions.answers(rows)
    found = collection.method.find([(1.0, answers)], k=8)
    assert found is not None
    assert len(found.symbols) <= 4
    assert np.all(found.expected_false <= 1)


def test_a_question_that_nobody_has_answered_leaves_no_ranking() -> None:
    collection = collection_of()
    answers = collection.method.questions.answers(rows_of(collection, users(collection, 500)))
    assert collection.method.find([(1.0, answers.where(answers.numbers != 1))], k=8) is None
    assert collection.method.find([(1.0, answers.where(answers.numbers > 9))], k=8) is None
