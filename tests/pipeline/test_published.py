"""What readers of finals could learn is stated where the theorem holds, and nowhere else."""

import math
from typing import Any

import numpy as np
import pytest

from stream_ldp.collection import CollectionError, Window
from stream_ldp.mechanisms.plausibility import UNTESTED, PlausibilityTest
from stream_ldp.mechanisms.shuffling import DELTA, shuffled_epsilon
from stream_ldp.pipeline.answer import Published
from stream_ldp.pipeline.published import published_among, published_of_window
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.collection import JointCollection
from tests.records.examples import TEXT

COLLECTION = JointCollection.parse(TEXT)
(SERIES,) = COLLECTION.series


def published(
    *,
    final: bool = True,
    reports: int = 10_000,
    delta: float | None = None,
    lifetime: float = 4.0,
    plausibility: PlausibilityTest = UNTESTED,
    **window: Any,
) -> Published | None:
    counts = RowCounts.of(np.ones((reports, 1), dtype=np.uint8), bits=5)
    task: WindowTask[Any, Any] = WindowTask(
        series=SERIES, window_ms=0, final=final, windows=((1.0, (counts,)),), before=None
    )
    promised = {} if {"hop_ms", "memory"} & window.keys() else {"returning": 0.0}
    collection = COLLECTION.model_copy(update={"window": Window(size_ms=60_000, **promised | window), "delta": delta})

    def bound(collection: Any, reports: int, *, windows: int = 1) -> Published | None:
        return published_among(
            collection,
            reports,
            windows=windows,
            epsilon=2.0,
            lifetime=lifetime,
            hidden="any two records",
            blanket=None,
        )

    return published_of_window(task, collection, bound, plausibility=plausibility)


def test_a_final_states_the_bound_of_its_reports_and_its_conditions() -> None:
    found = published()
    assert found is not None
    assert found.epsilon == shuffled_epsilon(2.0, reports=10_000, delta=DELTA) < 2.0
    assert found.delta == DELTA
    assert found.assumption == (
        "against readers of final answers who trust the service, for a user who reports once among 10,000 honest "
        "reports: any two records"
    )


def test_fresh_noise_hides_users_who_return_as_often_as_they_report() -> None:
    for returning in (None, 1.0):
        found = published(lifetime=math.inf, returning=returning)
        assert found is not None
        assert found.assumption.endswith(": any two records; another window costs as much again")


def test_a_collection_that_chooses_delta_states_the_bound_for_it() -> None:
    found, usual = published(delta=1e-6), published()
    assert found is not None
    assert usual is not None
    assert found.delta == 1e-6
    assert found.epsilon == shuffled_epsilon(2.0, reports=10_000, delta=1e-6) < usual.epsilon


@pytest.mark.parametrize("delta", ["0", "1e-13", "0.01", "-1", "nan"])
def test_a_delta_that_means_nothing_is_refused_at_its_key(delta: str) -> None:
    with pytest.raises(CollectionError, match=r"delta: it should be"):
        JointCollection.parse(f"{TEXT}delta: {delta}\n")


def test_delta_changes_no_report() -> None:
    assert JointCollection.parse(f"{TEXT}delta: 1e-6\n").fingerprint == COLLECTION.fingerprint


@pytest.mark.parametrize(
    "where",
    [
        {"hop_ms": 20_000},
        {"memory": 0.5},
        {"reports_per_user": 2.0},
        {"returning": None},
        {"returning": 0.1},
        {"final": False},
        {"reports": 0},
        {"plausibility": PlausibilityTest(statistic=100.0, degrees_of_freedom=1, p_value=1e-9)},
    ],
    ids=lambda where: next(iter(where)),
)
def test_where_the_theorem_does_not_hold_nothing_is_stated(where: dict[str, Any]) -> None:
    assert published(**where) is None
