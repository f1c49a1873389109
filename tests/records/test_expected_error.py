"""The error that a plan expects is that of what is published."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.plan import plan
from stream_ldp.records.series import EstimateSpec
from stream_ldp.records.solve import solve


@pytest.mark.parametrize("mechanism", ["{kind: rr-ldp, f: 0.5, p: 0.25, q: 0.75}", "{kind: k-rr, epsilon: 1}"])
def test_the_error_to_expect_is_that_of_other_users_like_those_assumed(mechanism: str) -> None:
    """Seeded: 20 windows of users of the same population, drawn by other code, within a fifth."""
    collection = JointCollection.parse(
        f"collection: pair\nmechanism: {mechanism}\nwindow: {{size: 60s}}\n"
        "attributes: [{name: a, values: [x, y, z]}, {name: b, values: [no, yes]}]\n"
        "estimates: [{name: e, of: [a, b]}]\n"
    )
    (error,) = plan(collection, populations=[4_000]).estimates[0].errors
    rng = np.random.default_rng(7)
    distances, squares = [], []
    for seed in range(20):
        common, own, told = rng.random(4_000), rng.random((2, 4_000)), rng.random((2, 4_000)) < 0.5
        levels = np.where(told, common, own) ** 2
        people = np.stack([(levels[0] * 3).astype(int), (levels[1] * 2).astype(int)], axis=1)
        rows = collection.mechanism.perturb(people, entropy=SeededEntropy(1_000 + seed))
        counts = RowCounts.of(rows, bits=collection.bits)
        task: WindowTask[EstimateSpec, Estimate] = WindowTask(
            series=collection.estimates[0], window_ms=0, final=True, windows=((1.0, (counts,)),), before=None
        )
        joint = solve(collection, task).joint()
        truth = np.zeros((3, 2))
        np.add.at(truth, tuple(people.T), 1 / len(people))
        distances.append(abs(joint - truth).sum() / 2)
        squares.append(((joint - truth) ** 2).mean())
    assert error.avd == pytest.approx(np.mean(distances), rel=0.2)
    assert error.standard_error == pytest.approx(math.sqrt(np.mean(squares)), rel=0.2)
