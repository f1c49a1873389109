"""Windows of few users are estimated from what is known of the population."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.evaluation.distance import average_variation_distance, joint_of
from stream_ldp.mechanisms import RRLDP, SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import Past, Population, Recurrence, Solution, Start, estimator
from stream_ldp.records.estimators.population import moved

TRUTH = np.full((4, 5), 0.02) + np.array(
    [[0.3, 0, 0, 0, 0], [0, 0.1, 0.1, 0, 0], [0, 0, 0, 0.05, 0], [0, 0, 0, 0, 0.05]]
)
MECHANISM = RRLDP(sizes=(4, 5), f=0.25, p=0.5, q=0.75)


def solved(
    users: int, *, seed: int, past: Past | None, start: NDArray[np.float64] | None
) -> tuple[Solution, NDArray[np.float64]]:
    """Solve a window of so many users, and return their joint too."""
    cells = np.random.default_rng(seed).choice(20, users, p=TRUTH.ravel() / TRUTH.sum())
    people = np.stack(np.unravel_index(cells, (4, 5)), axis=1)
    rows = RowCounts.of(MECHANISM.perturb(people, entropy=SeededEntropy(seed)), bits=MECHANISM.bits)
    found = estimator("em", stop="certificate", delta=0.001).estimate(
        rows,
        sizes=(4, 5),
        supports=MECHANISM.supports,
        start=start,
        past=past,
        recurrence=Recurrence(returning=0.0, permanent=MECHANISM.permanent_share),
    )
    return found, joint_of(people, (4, 5))


def test_windows_of_few_users_are_no_worse_than_the_final_before_as_it_was() -> None:
    """Eight windows of 40 users, in whose reports weights lead nowhere: they were estimated alone."""
    past, before = None, None
    for seed in range(4):
        found, _ = solved(4_000, seed=seed, past=past, start=before)
        assert found.temporal is not None
        past, before = found.temporal.past, found.joint
    assert before is not None
    distances = []
    for seed in range(100, 108):
        found, truth = solved(40, seed=seed, past=past, start=before)
        assert found.temporal is not None
        assert found.prior_centre == Start.POPULATION
        distances.append(
            [average_variation_distance(each, truth) for each in (found.joint, before, found.temporal.alone)]
        )
        # What forty reports say of the population is hardly more than nothing.
        assert found.temporal.past.population is not None
        assert average_variation_distance(found.temporal.past.population.joint, before) < 0.05
    own, unchanged, alone = np.mean(distances, axis=0)
    assert own < 1.02 * unchanged
    assert own < 0.8 * alone


def test_what_is_known_of_a_population_fades_with_its_drift() -> None:
    known = Population(np.array([0.5, 0.5]), 0.01, 4_000.0)
    assert moved(known, 0.2).variance == pytest.approx(0.21)
