"""These tests show which estimators there are, and which arguments they refuse."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import Support
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import FloatArray, Method, Recurrence, Stop, estimator
from tests.paths import GOLDEN
from tests.records.estimators.examples import solve
from tests.records.estimators.reference import CASES, Case, described


@pytest.mark.parametrize(
    ("start", "complaint"),
    [
        (np.full((3, 2), 1 / 6), r"shape \(3, 2\), the joint has \(2, 3\)"),
        (np.zeros((2, 3)), "not 0 everywhere"),
        (np.array([[1.0, np.nan, 0], [0, 0, 0]]), "finite"),
        (np.array([[1.5, -0.5, 0], [0, 0, 0]]), "at least 0"),
    ],
)
def test_a_start_that_is_no_distribution_is_refused(start: FloatArray, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        solve(
            Method.EM, Stop.CERTIFICATE, RowCounts.empty(5), Support.of_bits(one=0.7, zero=0.2), (2, 3), start=start
        )


@pytest.mark.parametrize(
    ("method", "stop", "delta"), [("ml", "paper", 0.1), ("em", "never", 0.1), ("em", "paper", 0.0)]
)
def test_an_unknown_estimator_or_a_delta_of_zero_is_refused(method: str, stop: str, delta: float) -> None:
    with pytest.raises(ValueError, match=r"ml|never|delta must be positive"):
        estimator(method, stop=stop, delta=delta)


@cache
def reference() -> dict[str, Any]:
    stored: dict[str, Any] = json.loads((GOLDEN / "estimates.json").read_text(encoding="utf-8"))
    return stored


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_estimate_is_the_one_that_was_stored_to_nine_digits(case: Case) -> None:
    stored = reference()[case.name]
    found = described(case.solve())
    exact = ("iterations", "certified", "start")
    assert {name: found.pop(name) for name in exact} == {name: stored[name] for name in exact}
    assert found.pop("independence") == pytest.approx(stored["independence"], rel=1e-9, abs=1e-9)
    # A certificate is a bound that comes out of a search, which may end a little elsewhere. The gap of a lasso is the
    # small difference of two large numbers.
    assert found.pop("certificate") == pytest.approx(stored["certificate"], rel=1e-6, abs=1e-6)
    for name, value in found.items():
        assert value == pytest.approx(stored[name], rel=1e-9, abs=1e-9), name


def test_every_stored_estimate_is_compared() -> None:
    assert sorted(reference()) == sorted(case.name for case in CASES)


def test_a_method_without_a_likelihood_refuses_linked_reports() -> None:
    counts, support = RowCounts.of(np.ones((3, 1), dtype=np.uint8), bits=2), Support.of_bits(one=0.7, zero=0.3)
    for method, stop in (("lasso", "certificate"), ("em", "paper")):
        with pytest.raises(ParameterError, match=f"{method} with the stop {stop} cannot use links of reports"):
            estimator(method, stop=stop, delta=0.001).estimate(
                counts, sizes=(2,), supports=[support], odds=np.ones((3, 2))
            )


def test_windows_of_linked_reports_do_not_learn_from_each_other() -> None:
    counts, support = RowCounts.of(np.ones((3, 1), dtype=np.uint8), bits=2), Support.of_bits(one=0.7, zero=0.3)
    with pytest.raises(ParameterError, match="windows of linked reports do not learn from each other"):
        estimator("em", stop="certificate", delta=0.001).estimate(
            counts,
            sizes=(2,),
            supports=[support],
            odds=np.ones((3, 2)),
            recurrence=Recurrence(returning=0.0, permanent=0.0),
        )
