"""SQUAREM: it never goes down, and takes far fewer evaluations than plain EM."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.mechanisms import KRRSpec, SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import Recurrence, estimator, squarem
from stream_ldp.records.estimators.likelihood import Likelihood
from stream_ldp.records.estimators.objective import Objective, Point
from stream_ldp.records.estimators.squarem import ascend
from stream_ldp.records.solve import supported
from tests.records.estimators.examples import draw


@pytest.mark.parametrize("strength", [0.0, 20.0])
def test_the_ascent_never_goes_down(strength: float, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = np.diag(np.arange(1.0, 9.0))
    counts, channel = draw(truth / truth.sum(), 20_000, f=0.5, seed=3, response=(0.5, 0.75))
    objective = Objective(
        likelihood=Likelihood.of(counts, sizes=(8, 8), supports=[channel] * len((8, 8))),
        centre=np.full((8, 8), 1 / 64),
        strength=strength,
    )
    kept: list[float] = []
    certificate = Objective.certificate

    def seen(self: Objective, point: Point, *, sought: float) -> float:
        kept.append(point.value)
        return certificate(self, point, sought=sought)

    monkeypatch.setattr(Objective, "certificate", seen)
    ascend(objective, objective.centre, tolerance=1e-3)
    assert len(kept) > 10
    assert np.all(np.diff(kept) >= 0)


def test_an_ascent_that_reaches_its_limit_still_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(squarem, "_LIMIT", 3)
    counts, channel = draw(np.diag([0.9, 0.1]), 5_000, f=0.5, seed=4)
    likelihood = Likelihood.of(counts, sizes=(2, 2), supports=[channel, channel])
    objective = Objective(likelihood=likelihood, centre=np.full((2, 2), 0.25), strength=1.0)
    ascent = ascend(objective, objective.centre, tolerance=1e-9)
    assert ascent.evaluations == 3
    assert 1e-9 < ascent.certificate == objective.certificate(ascent.point) < np.inf


def test_extrapolation_saves_most_of_the_evaluations_of_plain_em() -> None:
    truth = np.diag(np.arange(1.0, 9.0)) + 0.5
    counts, channel = draw(truth / truth.sum(), 50_000, f=0.5, seed=4)
    objective = Objective(
        likelihood=Likelihood.of(counts, sizes=(8, 8), supports=[channel] * len((8, 8))),
        centre=np.full((8, 8), 1 / 64),
        strength=10.0,
    )
    point, plain = objective.at(objective.centre), 1
    while objective.certificate(point) > 0.01:
        point = objective.at(point.step)
        plain += 1
    ascent = ascend(objective, objective.centre, tolerance=0.01)
    assert ascent.certificate <= 0.01
    assert ascent.evaluations < plain / 4


def test_windows_of_users_who_are_all_alike_are_certified() -> None:
    """Their cells are nearly empty, and come to rest at many rates."""
    mechanism = KRRSpec(kind="k-rr", epsilon=4.0).of(sizes=(3, 3, 3))
    past = None
    for window in range(4):
        named = mechanism.perturb(np.zeros((20_000, 3), dtype=np.int64), entropy=SeededEntropy(window))
        solution = estimator("em", stop="certificate", delta=0.001).estimate(
            supported(RowCounts.of(named, bits=mechanism.bits), mechanism, range(3)),
            sizes=mechanism.sizes,
            supports=mechanism.supports,
            past=past,
            recurrence=Recurrence(returning=0.0, permanent=1.0),
        )
        assert solution.temporal is not None
        past = solution.temporal.past
        assert solution.certified
