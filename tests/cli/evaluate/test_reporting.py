"""Tests of users who report the records of a table."""

from __future__ import annotations

import numpy as np

from stream_ldp.cli.evaluate._reporting import Reporting
from stream_ldp.mechanisms.notation import read_spec
from stream_ldp.records.estimators import Stop, estimator

#: Four records of two attributes, reported with much noise.
REPORTING = Reporting(
    population=np.array([[0, 0], [0, 1], [1, 1], [1, 1]]),
    mechanism=read_spec("rr-ldp:f=0.5").of(sizes=(2, 2)),
    users=500,
    among=0,
    repeats=2,
    seed=1,
)
EM, LASSO = (estimator(name, stop=Stop.CERTIFICATE, delta=0.001) for name in ("em", "lasso"))


def test_each_estimator_has_one_score_over_all_repeats() -> None:
    assert [each.method for each in REPORTING.scores([EM, LASSO])] == ["em", "lasso"]


def test_a_smaller_distance_needs_more_users() -> None:
    loose, close = (REPORTING.users_needed(EM, wanted=wanted) for wanted in (0.06, 0.02))
    assert loose is not None
    assert close is not None
    # The distance falls as the root of the number of users: nine times as many, give or take chance.
    assert close > 2 * loose


def test_windows_are_scored_for_every_prior_and_share_of_returning_users() -> None:
    found = REPORTING.window_scores(EM, windows=4, drift=None, shares=[0.0, 1.0], priors=["window", "temporal"])
    assert {(each.prior, each.returning) for each in found} == {
        (prior, share) for prior in ("window", "temporal") for share in (0.0, 1.0)
    }
