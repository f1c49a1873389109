"""SQUAREM: EM steps, extrapolated (Varadhan and Roland, 2008)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from stream_ldp.estimators.likelihood import FloatArray
    from stream_ldp.estimators.objective import Objective, Point

__all__ = ["Ascent", "ascend"]

#: Evaluations after which an ascent ends without its certificate.
_LIMIT = 500

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
    a = -|r| / |v| (scheme S3, a <= -1). Where that lowers the objective, the plain EM step is taken instead, so the
    objective never falls.
    """
    point = objective.at(start)
    certificate = objective.certificate(point)
    evaluations = 1
    while certificate > tolerance and evaluations < _LIMIT:
        plain = objective.at(point.step)
        extrapolated = objective.at(_extrapolate(point.joint, point.step, plain.step))
        evaluations += 2
        point = extrapolated if extrapolated.value >= plain.value else plain
        certificate = objective.certificate(point)
    return Ascent(point, certificate, evaluations)


def _extrapolate(before: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    r = first - before
    v = (second - first) - r
    curvature = float(np.linalg.norm(v))
    a = -max(1.0, float(np.linalg.norm(r)) / curvature) if curvature > 0.0 else -1.0
    joint = np.maximum(before - 2.0 * a * r + a * a * v, _SHARE_LEFT * np.minimum(first, second))
    total: float = joint.sum()
    return joint / total
