"""Previous windows make frequencies and means better, as far as users are new, and errors stay true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream_ldp.client.table import table_of
from stream_ldp.collection import CollectionError
from stream_ldp.marginals.answer import Frequencies, Marginals, Numbers
from tests.marginals.examples import collection_of, rows_of, users
from tests.questions.examples import solved, sums_of
from tests.read_back import read_back

if TYPE_CHECKING:
    from stream_ldp.filtering.filtered import FilteredEstimate
    from stream_ldp.marginals.collection import SampledCollection

TRUE_DIET, TRUE_AGE = np.array([0.6, 0.3, 0.1]), 40.0


def windows(
    collection: SampledCollection, *, seed: int, count: int = 12, starts: tuple[int, ...] | None = None
) -> list[Marginals]:
    """Answer windows one after another, each with 1,500 new users; finals pass through their bytes."""
    answers: list[Marginals] = []
    for number in range(count):
        table = users(1_500, seed=1_000 * seed + number)
        sums = sums_of(collection, rows_of(collection, table, seed=5_000 * seed + number))
        window_ms, before = 10_000 * (number if starts is None else starts[number]), answers[-1:]
        answers.append(
            solved(collection, (1.0, sums), window_ms=window_ms, before=read_back(*before) if before else None)
        )
    return answers


def diet(marginals: Marginals) -> Frequencies:
    found = marginals.of("diet").estimate
    assert isinstance(found, Frequencies)
    return found


def age(marginals: Marginals) -> Numbers:
    found = marginals.of("age").estimate
    assert isinstance(found, Numbers)
    return found


def of(found: Frequencies | Numbers) -> FilteredEstimate:
    assert found.learnt is not None
    return found.learnt


def test_with_new_users_the_windows_before_halve_the_error_and_intervals_cover() -> None:
    """4 series of 8 scored windows: the ratio of squared errors is about 0.2, and 95 % intervals cover above 0.9."""
    collection, alone, learnt, covered = collection_of(window=", returning: 0"), [], [], []
    for seed in range(4):
        for each in windows(collection, seed=seed)[4:]:
            for found, truth, raw in ((diet(each), TRUE_DIET, diet(each).raw), (age(each), TRUE_AGE, None)):
                scale = 1.0 if raw is not None else 100.0
                own = np.array(raw if raw is not None else [age(each).mean.raw])
                alone.append(np.mean((own - truth) ** 2) / scale**2)
                learnt.append(np.mean((np.array(of(found).estimate) - truth) ** 2) / scale**2)
                distance = np.abs(np.array(of(found).estimate) - truth)
                covered += (distance <= 1.96 * np.array(of(found).standard_error)).tolist()
    assert np.mean(learnt) < 0.5 * np.mean(alone)
    assert np.mean(covered) > 0.9


def test_what_is_learnt_is_published_beside_the_window_alone() -> None:
    collection = collection_of(window=", returning: 0")
    first, second = windows(collection, seed=1, count=2)
    assert of(diet(first)).estimate == diet(first).raw
    assert (of(diet(first)).weight, of(diet(first)).drift) == (0.0, None)
    assert of(diet(second)).weight > 0.0
    assert of(diet(second)).drift is not None
    assert of(diet(second)).estimate != diet(second).raw
    plain = windows(collection_of(window=", returning: 0"), seed=1, count=2)[1]
    assert diet(plain).raw == diet(second).raw


def test_a_table_has_what_is_learnt_beside_the_window_alone() -> None:
    *_, second = windows(collection_of(window=", returning: 0"), seed=1, count=2)
    rows = table_of([second]).rows
    for attribute, quantity, found in (("diet", "frequency", diet(second)), ("age", "mean", age(second))):
        told = [row for row in rows if (row["attribute"], row["quantity"]) == (attribute, quantity)]
        assert tuple(row["learnt"] for row in told) == of(found).estimate
        assert tuple(row["learnt_error"] for row in told) == of(found).standard_error
    nothing = windows(collection_of(window=""), seed=1, count=1)[0]
    assert "learnt" not in table_of([nothing]).columns


@pytest.mark.parametrize("window", ["", ", returning: 1", ", memory: 0.5", ", hop: 5s"])
def test_nothing_is_learnt_where_windows_share_reports_or_all_users_return(window: str) -> None:
    assert diet(windows(collection_of(window=window), seed=1, count=1)[0]).learnt is None


def test_windows_of_which_half_return_take_less_from_the_past_than_new_ones() -> None:
    half, new = (
        of(diet(windows(collection_of(window=f", returning: {share}"), seed=2, count=4)[-1])) for share in (0.5, 0)
    )
    assert 0.0 < half.weight < new.weight
    assert max(half.standard_error) > max(new.standard_error)


def test_a_final_that_is_no_earlier_than_the_window_leaves_it_nothing() -> None:
    collection = collection_of(window=", returning: 0")
    assert of(diet(windows(collection, seed=1, count=2, starts=(3, 3))[1])).weight == 0.0


def test_a_temporal_prior_of_windows_that_share_reports_is_refused() -> None:
    with pytest.raises(CollectionError, match="leave out hop and memory"):
        type(collection_of()).parse(
            "{collection: c, mechanism: {kind: sampled, epsilon: 1}, attributes: [{name: a, values: [x, y]}],"
            " window: {size: 10s, hop: 5s}, prior: temporal}"
        )
