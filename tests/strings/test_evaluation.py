"""Evaluation of methods of strings: what is counted as found, false and covered."""

from __future__ import annotations

import itertools

import numpy as np

from stream_ldp.strings.evaluation import Candidate, Score, Trial, scores, trials
from stream_ldp.strings.pem import Pem
from tests.strings.examples import collection_of, users

COLLECTION = collection_of()
CANDIDATE = Candidate(method=COLLECTION.method, epsilon=4.0)


def run(k: int, repeats: int = 2, seed: int = 0) -> list[tuple[Candidate, Trial]]:
    clock = itertools.count()
    return list(
        trials(
            users(COLLECTION, 5_000),
            candidates=[CANDIDATE],
            k=k,
            users=20_000,
            repeats=repeats,
            seed=seed,
            clock=lambda: float(next(clock)),
        )
    )


def test_frequent_strings_are_found_and_others_are_false() -> None:
    """Seeded. All five are frequent; a string that nobody has is told in few windows."""
    found = [trial for _, trial in run(5)]
    for trial in found:
        assert (trial.found, trial.told, trial.false, trial.nobodys) == (5, 5, 0, 0)
        assert trial.covered >= 0.6
        assert trial.expected < 1e-6
        assert trial.seconds == 1
    (few,) = [trial for _, trial in run(2, repeats=1)]
    assert (few.found, few.told) == (2, 2)


def test_a_seed_repeats_users_and_noise() -> None:
    assert run(8, repeats=1, seed=3) == run(8, repeats=1, seed=3)
    covered = {trial.covered for _, trial in [*run(8, seed=4), *run(8, seed=5)]}
    assert len(covered) > 1


def test_nothing_is_told_of_a_few_users() -> None:
    method = Pem.of(COLLECTION.string, epsilon=0.2)
    (outcome,) = trials(
        users(COLLECTION, 50),
        candidates=[Candidate(method=method, epsilon=0.2)],
        k=5,
        users=2,
        repeats=1,
        seed=0,
        clock=lambda: 0.0,
    )
    assert (outcome[1].found, outcome[1].told, outcome[1].covered) == (0, 0, 1.0)


def test_a_score_is_the_mean_of_its_repeats() -> None:
    first = Trial(found=2, told=3, false=1, nobodys=1, expected=0.5, covered=1, seconds=1)
    second = Trial(found=4, told=4, false=0, nobodys=0, expected=0.0, covered=0.5, seconds=3)
    (score,) = scores([(CANDIDATE, first), (CANDIDATE, second)])
    assert score == Score(
        method="pem", epsilon=4.0, found=3, told=3.5, false=0.5, nobodys=0.5, expected=0.25, covered=0.75, seconds=2
    )
    assert np.isfinite(score.found)
