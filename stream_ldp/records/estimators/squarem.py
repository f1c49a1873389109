"""SQUAREM: EM steps, extrapolated (Varadhan and Roland, 2008)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from stream_ldp.records.estimators.likelihood import FloatArray
    from stream_ldp.records.estimators.objective import Objective, Point

__all__ = ["Ascent", "ascend"]

#: Evaluations after which an ascent ends without its certificate.
_LIMIT = 500
#: By what the cap on an extrapolation goes up and down (mstep in the authors' program).
_CAP_FACTOR = 4.0
#: An extrapolation that would make a cell negative leaves it this share of what EM gives it, so that it stays alive.
_SHARE_LEFT = 1e-3


class Ascent(NamedTuple):
    """Where an ascent ended: the point, its certificate in nats, and the evaluations of the EM map it took."""

    point: Point
    certificate: float
    evaluations: int


def ascend(objective: Objective, start: FloatArray, *, tolerance: float) -> Ascent:
    """Climb from `start` (positive, sums to 1) to a certificate of `tolerance` nats, or for 500 evaluations.

    Two EM steps give the direction r and the curvature v of the road; the next point is P - 2 a r + a^2 v with
    a = -|r| / |v| (scheme S3), as far as a cap on -a allows. Where that lowers the objective the plain EM step is
    taken instead, so the objective never falls, and the cap comes down; it goes up again when it has held back a
    step that helped.
    """
    point = objective.at(start)
    certificate = objective.certificate(point)
    evaluations, cap = 1, math.inf
    while certificate > tolerance and evaluations < _LIMIT:
        plain = objective.at(point.step)
        r = plain.joint - point.joint
        v = (plain.step - plain.joint) - r
        curvature = float(np.linalg.norm(v))
        wanted = max(1.0, float(np.linalg.norm(r)) / curvature) if curvature > 0.0 else 1.0
        a = -min(wanted, cap)
        ahead = np.maximum(point.joint - 2.0 * a * r + a * a * v, _SHARE_LEFT * np.minimum(plain.joint, plain.step))
        extrapolated = objective.at(ahead / ahead.sum())
        evaluations += 2
        if extrapolated.value < plain.value:
            point, cap = plain, max(1.0, -a / _CAP_FACTOR)
        else:
            point, cap = extrapolated, cap * (_CAP_FACTOR if wanted > cap else 1.0)
        certificate = objective.certificate(point)
    return Ascent(point, certificate, evaluations)
