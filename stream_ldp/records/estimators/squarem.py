"""SQUAREM: extrapolated EM steps (Varadhan and Roland, 2008)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from stream_ldp.records.estimators.likelihood import FloatArray
    from stream_ldp.records.estimators.objective import Objective, Point

__all__ = ["Ascent", "ascend"]

#: Number of evaluations after which an ascent ends even without its certificate.
_LIMIT = 500
#: Factor by which the cap on an extrapolation rises and falls (mstep in the authors' program).
_CAP_FACTOR = 4.0
#: If an extrapolation would make a cell negative, the cell gets this share of its value after the EM steps: a cell at
#: 0 would stay there.
_SHARE_LEFT = 1e-3


class Ascent(NamedTuple):
    """The end of an ascent: the point, its certificate in nats, and the number of evaluations of the EM map."""

    point: Point
    certificate: float
    evaluations: int


def ascend(objective: Objective, start: FloatArray, *, tolerance: float) -> Ascent:
    """Climb from `start` (positive, sums to 1) to a certificate of `tolerance` nats, or for 500 evaluations.

    Two EM steps give the direction r and the curvature v of the path; the next point is P - 2 a r + a^2 v with
    a = -|r| / |v| (scheme S3), as far as a cap on -a allows. If that lowers the objective, the plain EM step is taken
    instead, so that the objective never falls, and the cap is lowered; it is raised again when it has shortened a
    step that helped.
    """
    point = objective.at(start)
    certificate = objective.certificate(point, sought=tolerance)
    evaluations, cap = 1, math.inf
    while certificate > tolerance and evaluations < _LIMIT:
        plain = objective.at(point.step)
        r = plain.joint - point.joint
        v = (plain.step - plain.joint) - r
        curvature = math.sqrt(np.vdot(v, v))
        wanted = max(1.0, math.sqrt(np.vdot(r, r)) / curvature) if curvature > 0.0 else 1.0
        a = -min(wanted, cap)
        ahead = np.maximum(point.joint - 2.0 * a * r + a * a * v, _SHARE_LEFT * np.minimum(plain.joint, plain.step))
        extrapolated = objective.at(ahead / ahead.sum())
        evaluations += 2
        if objective.falls(plain, extrapolated):
            point, cap = plain, max(1.0, -a / _CAP_FACTOR)
        else:
            point, cap = extrapolated, cap * (_CAP_FACTOR if wanted > cap else 1.0)
        certificate = objective.certificate(point, sought=tolerance)
    # At the limit, only that it is above the tolerance may be known.
    return Ascent(point, certificate if certificate < math.inf else objective.certificate(point), evaluations)
