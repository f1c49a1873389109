"""Previous windows make shares of places better, as far as users are new, and errors stay true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream_ldp.client.table import table_of
from stream_ldp.collection import CollectionError
from stream_ldp.places.answer import PlaceCounts
from stream_ldp.places.collection import PlaceCollection
from tests.places.examples import SHARES, collection_of, rows_of, users
from tests.questions.examples import solved, sums_of
from tests.read_back import read_back

if TYPE_CHECKING:
    from stream_ldp.filtering.filtered import FilteredEstimate


def windows(
    collection: PlaceCollection, *, seed: int, starts: tuple[int, ...] = tuple(range(12))
) -> list[PlaceCounts]:
    """Answer windows one after another, each with 1,000 new users; finals pass through their bytes."""
    answers: list[PlaceCounts] = []
    for number, start in enumerate(starts):
        people = users(1_000, seed=1_000 * seed + number)
        sums = sums_of(collection, rows_of(collection, people, 5_000 * seed + number))
        before = read_back(answers[-1]) if answers else None
        answers.append(solved(collection, (1.0, sums), window_ms=10_000 * start, before=before))
    return answers


def of(counts: PlaceCounts) -> FilteredEstimate:
    assert counts.learnt is not None
    return counts.learnt


def test_with_new_users_the_windows_before_halve_the_error_and_intervals_cover() -> None:
    """3 series of 8 scored windows: squared errors are about a fifth, and 95 % intervals cover above 0.9."""
    collection = collection_of(window=", returning: 0")
    alone, learnt, covered = [], [], []
    for seed in range(3):
        for each in windows(collection, seed=seed)[4:]:
            alone.append(np.mean((np.array(each.raw) / each.reports - SHARES) ** 2))
            off = np.array(of(each).estimate) - SHARES
            learnt.append(np.mean(off**2))
            covered += (np.abs(off) <= 1.96 * np.array(of(each).standard_error)).tolist()
    assert np.mean(learnt) < 0.5 * np.mean(alone)
    assert np.mean(covered) > 0.9


def test_a_table_has_the_learnt_share_of_each_place_beside_its_count() -> None:
    counts = windows(collection_of(window=", returning: 0"), seed=1, starts=(0, 1))[1]
    rows = table_of([counts]).rows
    assert [row["learnt"] for row in rows] == list(of(counts).estimate)
    assert [row["learnt_error"] for row in rows] == list(of(counts).standard_error)


def test_shares_of_users_who_report_several_times_have_the_error_of_as_many_users() -> None:
    once, often = (collection_of(window=f", returning: 0{each}") for each in ("", ", reports_per_user: 4"))
    rows = rows_of(once, users(1_000), 1)
    first, repeated = (
        solved(collection, (1.0, sums_of(collection, np.repeat(rows, times, axis=0))))
        for collection, times in ((once, 1), (often, 4))
    )
    assert of(repeated).estimate == pytest.approx(of(first).estimate)
    assert of(repeated).standard_error == pytest.approx(of(first).standard_error)


def test_the_first_window_has_its_own_shares_and_a_final_that_is_no_earlier_leaves_nothing() -> None:
    first, same = windows(collection_of(window=", returning: 0"), seed=1, starts=(3, 3))
    assert of(first).estimate == pytest.approx(np.array(first.raw) / first.reports)
    assert of(first).weight == of(same).weight == 0.0


@pytest.mark.parametrize("window", ["", ", returning: 1", ", memory: 0.5", ", hop: 5s"])
def test_nothing_is_learnt_where_windows_share_reports_or_all_users_return(window: str) -> None:
    assert windows(collection_of(window=window), seed=1, starts=(0, 1))[1].learnt is None


def test_a_prior_can_be_left_out_and_is_refused_where_windows_share_reports() -> None:
    alone = collection_of(window=", returning: 0").model_copy(update={"prior": "window"})
    assert windows(alone, seed=1, starts=(0, 1))[1].learnt is None
    text = (
        "{collection: v, mechanism: {kind: places, epsilon: [1]}, levels: [2], prior: temporal, "
        "window: {size: 10s, hop: 5s}}"
    )
    with pytest.raises(CollectionError, match="leave out hop and memory"):
        PlaceCollection.parse(text)
