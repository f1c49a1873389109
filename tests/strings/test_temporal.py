"""Previous windows find strings that one window does not, make shares better, and keep errors true."""

from collections.abc import Sequence

import numpy as np
import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.strings.answer import FilteredStrings, StringRanking
from stream_ldp.strings.collection import StringCollection
from stream_ldp.strings.solve import solve
from tests.questions.examples import solved
from tests.read_back import read_back
from tests.strings.examples import SHARES, WORDS, collection_of, counted, rows_of, users

TRUTH = dict(zip(WORDS, SHARES, strict=True))
#: With few letters, a ranking takes milliseconds.
FEW = {"mechanism": "epsilon: 2, k: 5", "string": "length: 6, alphabet: abcefghilmnpruy"}


def windows(
    collection: StringCollection,
    *,
    seed: int,
    starts: Sequence[int] = range(8),
    count: int = 1_000,
    returning: float = 0.0,
) -> list[StringRanking]:
    """Answer windows one after another, with new users but for those returning; finals pass through their bytes."""
    answers: list[StringRanking] = []
    same = round(returning * count)
    of_same = rows_of(collection, users(collection, same, seed=7_000 + seed), seed=8_000 + seed)
    for number, start in enumerate(starts):
        new = users(collection, count - same, seed=1_000 * seed + number)
        rows = np.concatenate([of_same, rows_of(collection, new, seed=5_000 * seed + number)])
        before = read_back(answers[-1]) if answers else None
        answers.append(solved(collection, (1.0, counted(collection, rows)), window_ms=10_000 * start, before=before))
    return answers


def told(ranking: StringRanking) -> dict[str, float]:
    return {each.string: each.raw for each in ranking.strings or ()}


def learnt(ranking: StringRanking) -> FilteredStrings:
    assert ranking.learnt is not None
    return ranking.learnt


def test_with_new_users_the_windows_before_find_more_strings_with_less_error_and_intervals_cover() -> None:
    """4 series of 8 windows: the last has under half of the squared error, and 95 % intervals cover above 0.9."""
    collection = collection_of(**FEW, window=", returning: 0")
    alone = collection_of(**FEW, window=", returning: 0", more="prior: window")
    more, errors, others, covered = 0, [], [], []
    for seed in range(4):
        with_past = windows(collection, seed=seed)[-1]
        (without,) = windows(alone, seed=seed, starts=[7])
        more += len(told(with_past)) - len(told(without))
        errors += [(told(with_past).get(word, 0.0) - share) ** 2 for word, share in TRUTH.items()]
        others += [(told(without).get(word, 0.0) - share) ** 2 for word, share in TRUTH.items()]
        covered += [
            abs(each.raw - TRUTH.get(each.string, 0.0)) <= 1.96 * each.standard_error
            for each in with_past.strings or ()
        ]
    assert more > 0
    assert np.mean(errors) < 0.5 * np.mean(others)
    assert np.mean(covered) > 0.9


def test_a_string_has_a_past_from_the_window_after_the_one_that_has_found_it() -> None:
    collection = collection_of(window=", returning: 0")
    first, second = windows(collection, seed=1, starts=range(2), count=3_000)
    assert set(told(first)) <= set(learnt(first).found)
    assert learnt(first).found == learnt(first).strings
    assert not set(learnt(second).found) & set(learnt(first).strings)
    assert {each.alone for each in first.strings or ()} == {None}
    assert learnt(first).shares.weight == 0.0
    assert learnt(second).shares.weight > 0.0
    measured = [each for each in second.strings or () if each.alone is not None]
    assert {each.string for each in measured} == set(told(second)) & set(learnt(first).strings) != set()
    assert [each.raw for each in measured] != [each.alone for each in measured]


@pytest.mark.parametrize("returning", [pytest.param(0, marks=pytest.mark.long), 0.5])
def test_found_strings_have_no_selection_bias(
    returning: float,
) -> None:
    """Of the strings told in 8 series of 4 windows, the intervals of 95 % hold the truth of more than 0.9."""
    collection = collection_of(**FEW, window=f", returning: {returning}")
    covered = [
        abs(each.raw - TRUTH.get(each.string, 0.0)) <= 1.96 * each.standard_error
        for seed in range(1, 9)
        for ranking in windows(collection, seed=seed, starts=range(4), returning=returning)
        for each in ranking.strings or ()
    ]
    assert len(covered) > 80
    assert np.mean(covered) > 0.9


def test_what_a_window_says_alone_stands_beside_what_it_says_with_the_past() -> None:
    collection = collection_of(window=", returning: 0")
    alone = collection_of(window=", returning: 0", more="prior: window")
    with_past, without = (windows(each, seed=2, starts=range(3), count=3_000)[-1] for each in (collection, alone))
    of_window = told(without)
    compared = [
        (each.alone, of_window[each.string])
        for each in with_past.strings or ()
        if each.alone is not None and each.string in of_window
    ]
    assert compared
    assert [one for one, _ in compared] == pytest.approx([other for _, other in compared])
    assert without.learnt is None


def test_a_window_in_which_nobody_answers_a_question_passes_on_what_was_learnt() -> None:
    collection = collection_of(window=", returning: 0")
    second = windows(collection, seed=1, starts=range(2), count=3_000)[-1]
    table = users(collection, 1)
    task = WindowTask(
        series=collection.series[0],
        window_ms=20_000,
        final=True,
        windows=((1.0, (counted(collection, rows_of(collection, table)),)),),
        before=second,
    )
    third = solve(collection, task)
    assert third.strings is None
    assert third.learnt == second.learnt


def test_the_first_window_and_one_after_a_final_that_is_no_earlier_have_no_past() -> None:
    same = windows(collection_of(window=", returning: 0"), seed=1, starts=(3, 3), count=3_000)[-1]
    assert learnt(same).strings == learnt(same).found != ()


@pytest.mark.parametrize("window", ["", ", returning: 1", ", memory: 0.5", ", hop: 5s"])
def test_nothing_is_learnt_where_windows_share_reports_or_all_users_return(window: str) -> None:
    assert windows(collection_of(**FEW, window=window), seed=1, starts=(0, 1))[1].learnt is None


def test_windows_of_which_half_return_take_less_from_the_past_than_new_ones() -> None:
    half, new = (
        learnt(windows(collection_of(**FEW, window=f", returning: {share}"), seed=2, starts=range(4))[-1]).shares
        for share in (0.5, 0)
    )
    assert 0.0 < half.weight < new.weight


def test_a_prior_can_be_left_out_and_is_refused_where_windows_share_reports() -> None:
    alone = collection_of(window=", returning: 0", more="prior: window")
    assert windows(alone, seed=1, starts=(0, 1), count=3_000)[1].learnt is None
    with pytest.raises(CollectionError, match="leave out hop and memory"):
        collection_of(window=", hop: 5s", more="prior: temporal")


def test_a_message_with_other_numbers_of_strings_and_shares_is_refused() -> None:
    good = windows(collection_of(window=", returning: 0"), seed=1, starts=range(2), count=3_000)[-1]
    text = good.to_bytes().decode().replace('"learnt":{"strings":[', '"learnt":{"strings":["one-more",')
    with pytest.raises(ValueError, match="strings and"):
        StringRanking.from_bytes(text.encode())
