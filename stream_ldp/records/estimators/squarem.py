"""SQUAREM: extrapolated EM steps (Varadhan and Roland, 2008), and mixtures of many of them where that is slow."""

import math
from typing import NamedTuple

import numpy as np

from stream_ldp.records.estimators.objective import Objective, Point
from stream_ldp.records.estimators.patterns import FloatArray

#: Number of evaluations after which an ascent ends even without its certificate.
_LIMIT = 500
#: Number of evaluations after which an ascent is slow: one extrapolation for all cells goes wrong where they come to
#: rest at many rates.
_SLOW = 150
#: Number of earlier steps that are mixed then.
_MIXED = 15
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
    step that helped. After 150 evaluations, mixtures of the last 15 steps go on from there.
    """
    point = objective.at(start)
    certificate = objective.certificate(point, sought=tolerance)
    evaluations, cap = 1, math.inf
    while certificate > tolerance and evaluations < min(_SLOW, _LIMIT):
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
    if certificate > tolerance:
        point, certificate, evaluations = _mixed(objective, point, evaluations, tolerance=tolerance)
    # At the limit, only that it is above the tolerance may be known.
    return Ascent(point, certificate if certificate < math.inf else objective.certificate(point), evaluations)


def _mixed(objective: Objective, point: Point, evaluations: int, *, tolerance: float) -> Ascent:
    """Go on with Anderson's (1965) mixture of the last steps, in the logarithms of the cells.

    The mixture is that whose EM step would be the shortest if steps were linear, each cell weighed by its share. If
    it lowers the objective, the plain EM step is taken instead, and what came before is forgotten.
    """
    places: list[FloatArray] = []
    moves: list[FloatArray] = []
    certificate = math.inf
    while certificate > tolerance and evaluations < _LIMIT:
        places.append(np.log(point.joint).ravel())
        moves.append(np.log(point.step).ravel() - places[-1])
        del places[: -_MIXED - 1], moves[: -_MIXED - 1]
        ahead = places[-1] + moves[-1]
        if len(places) > 1:
            by_move, by_place = np.diff(moves, axis=0).T, np.diff(places, axis=0).T
            root = np.sqrt(point.joint).reshape(-1, 1)
            shares, *_ = np.linalg.lstsq(root * by_move, root[:, 0] * moves[-1], rcond=1e-10)
            ahead = ahead - (by_place + by_move) @ shares
        ahead = np.exp(ahead - ahead.max()).reshape(point.joint.shape)
        ahead = np.maximum(ahead / ahead.sum(), _SHARE_LEFT * point.step)
        mixed = objective.at(ahead / ahead.sum())
        evaluations += 1
        if objective.falls(point, mixed):
            places.clear()
            moves.clear()
            mixed = objective.at(point.step)
            evaluations += 1
        point = mixed
        certificate = objective.certificate(point, sought=tolerance)
    return Ascent(point, certificate, evaluations)
