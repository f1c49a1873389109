"""Joint distributions from counted reports."""

from stream_ldp.records.estimators.estimator import Estimator, estimator
from stream_ldp.records.estimators.likelihood import Likelihood
from stream_ldp.records.estimators.patterns import FloatArray
from stream_ldp.records.estimators.prior import hidden_factor
from stream_ldp.records.estimators.solution import (
    Independence,
    Method,
    Past,
    Population,
    Solution,
    Start,
    Stop,
    Temporal,
)
from stream_ldp.records.estimators.temporal import Recurrence, fits

__all__ = [
    "Estimator",
    "FloatArray",
    "Independence",
    "Likelihood",
    "Method",
    "Past",
    "Population",
    "Recurrence",
    "Solution",
    "Start",
    "Stop",
    "Temporal",
    "estimator",
    "fits",
    "hidden_factor",
]

#: See `Kind.vocabulary`.
VOCABULARY = {"Fit.method": tuple(Method), "Fit.stop": tuple(Stop), "Fit.start": tuple(Start)}
