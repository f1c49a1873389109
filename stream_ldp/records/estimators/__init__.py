"""Joint distributions from counted reports."""

from stream_ldp.records.estimators.estimator import Estimator, estimator
from stream_ldp.records.estimators.likelihood import FloatArray
from stream_ldp.records.estimators.solution import Independence, Method, Solution, Start, Stop

__all__ = ["Estimator", "FloatArray", "Independence", "Method", "Solution", "Start", "Stop", "estimator"]
