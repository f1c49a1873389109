"""The evaluation of designs on known populations."""

from __future__ import annotations

import math
from itertools import count

import numpy as np
import pytest

from stream_ldp.records.estimators import Stop
from stream_ldp.views.design import candidates
from stream_ldp.views.evaluation import Candidate, PerturbedRecords, Views, drawn_sets, scores, trials
from tests.views.examples import SIZES, users

TABLE = users(5_000)
PEOPLE = np.stack([TABLE[str(place)] for place in range(4)], axis=1)


def test_every_candidate_is_scored_for_every_number_of_attributes() -> None:
    designs = {each.name: each for each in candidates(SIZES, epsilon=4.0)}
    tried: list[Candidate] = [
        Views(name="best", epsilon=4.0, design=designs["pairs"]),
        Views(name="attributes", epsilon=4.0, design=designs["attributes"]),
        PerturbedRecords(name="rr-ldp", epsilon=4.0, sizes=SIZES, stop=Stop.CERTIFICATE),
        PerturbedRecords(name="k-rr", epsilon=4.0, sizes=SIZES, stop=Stop.CERTIFICATE, kind="k-rr"),
    ]
    sets = {ways: drawn_sets(SIZES, ways=ways, sets=2, most_cells=100, seed=0) for ways in (2, 3)}
    sets[2] = [(0, 1), (1, 2)]
    ticks = count()
    outcomes = trials(
        PEOPLE,
        SIZES,
        candidates=tried,
        sets=sets,
        users=4_000,
        repeats=2,
        seed=1,
        clock=lambda: float(next(ticks)),
        coverage=True,
    )
    found = scores(outcomes, sets=sets, users=4_000)
    assert [(each.design, each.chosen, each.ways) for each in found] == [
        ("best", "pairs", 2),
        ("best", "pairs", 3),
        ("attributes", "attributes", 2),
        ("attributes", "attributes", 3),
        ("rr-ldp", "rr-ldp", 2),
        ("rr-ldp", "rr-ldp", 3),
        ("k-rr", "k-rr", 2),
        ("k-rr", "k-rr", 3),
    ]
    avd = {(each.design, each.ways): each.avd for each in found}
    # The pairs depend on each other by .3 and .1, which single attributes cannot show.
    assert avd["best", 2] < 0.05 < 0.15 < avd["attributes", 2]
    assert avd["k-rr", 2] < avd["rr-ldp", 2], "one-hot codes of few values have more noise"
    assert {each.seconds for each in found} == {1.0}
    assert all(each.coverage is not None and each.coverage > 0.6 for each in found if each.design != "attributes")
    assert all(each.avd_expected == pytest.approx(each.avd, rel=0.6) for each in found if each.design == "best")


def test_sets_are_drawn_once_each_within_the_cells() -> None:
    sizes = (41, 2, 3, 16, 5, 2, 9, 7)
    found = drawn_sets(sizes, ways=3, sets=15, most_cells=300, seed=4)
    assert len(found) == len(set(found)) == 15
    assert all(of == tuple(sorted(of)) and math.prod(sizes[place] for place in of) <= 300 for of in found)
    assert found == drawn_sets(sizes, ways=3, sets=15, most_cells=300, seed=4)
    assert found != drawn_sets(sizes, ways=3, sets=15, most_cells=300, seed=5)
    many = drawn_sets((2,) * 60, ways=5, sets=10, most_cells=32, seed=0)
    assert len(set(many)) == 10
    assert drawn_sets((9, 9), ways=2, sets=3, most_cells=80, seed=0) == []
