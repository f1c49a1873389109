"""The standard errors of joint distributions, from answers of populations like the estimated one."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_ldp.records.effects import Effects
from stream_ldp.views.expected import DEPENDENCE
from stream_ldp.views.margins import centred
from stream_ldp.views.tables import Told, combined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.views.fitting import Fit

#: Repeats of the answers: the relative error of a standard error is then about 9 %.
_REPEATS = 64
#: Seed of the repeats, so that an answer that is solved again has the same errors.
_SEED = 1940
#: Sweeps of proportional fitting from the estimate to one that is hardly off.
_SWEEPS = 3
#: Weight of the product of the margins in what the repeats are fitted from: a cell that noise put to 0 may be more.
_SMOOTHING = 0.05
#: Least probability of a cell of a pair in a repeat whose pairs would leave no cell of the joint otherwise.
_LEAST = 1e-9
#: Standard deviation, in units of the product of the margins, of the dependence that nobody has reported: with it,
#: the mean AVD to the product is `DEPENDENCE`, since the mean of |x| is sqrt(2 / pi) for a standard normal x.
_UNTOLD = 2 * DEPENDENCE / math.sqrt(2 / math.pi)

#: Half of the mean of |x| for a standard normal x.
_HALF_ABSOLUTE = 0.5 * math.sqrt(2 / math.pi)
#: Dependence that three attributes have beyond their pairs, in units of that of the pairs: mean AVD between a joint
#: distribution and that of the most entropy with its pairs, .03 and .14 of the pairs' dependence for three and five
#: attributes of NLTCS, .21 and .56 for Adult, and .3 and 1.1 for classes of users within which attributes are
#: independent.
_BEYOND_PAIRS = 0.1
#: What the dependence of pairs that nobody has reported is multiplied by: few cells have most of it. Of five
#: attributes of Adult, of which users report single ones, 2 % fewer of the large cells are covered with 1.2.
_FEW_CELLS = 1.5


class Errors(NamedTuple):
    """How far a joint distribution may be off.

    standard_error: of each cell, of the shape of the joint.
    deviations: of repeated estimates from their mean, over the root of their number, shape (repeats, ...): the
        covariance of two cells is the sum of their products over the repeats. What nobody has reported is not in it,
        and goes into the standard errors alone.
    effects: how the errors go together.
    """

    standard_error: NDArray[np.float64]
    deviations: NDArray[np.float64]
    effects: Effects


def errors_of(fit: Fit, tables: Sequence[Told], joint: NDArray[np.float64], *, of: Sequence[int]) -> Errors:
    """Return the errors of a joint distribution, with the sampling of users.

    They are those of estimates from repeated answers about the estimated population. The noise of a dependence counts
    as far as shrinking has left it in. What shrinking may have taken counts as far as the answers leave it open, most
    of it in the cells that have most users. The dependence of a pair that nobody has reported counts with what is
    expected of unknown tables. Among three attributes and more, what pairs leave open goes together. What these have
    in common beyond their pairs is in no estimate, and counts with what tables with as dependent pairs have.

    joint: the estimate, with an axis for each of the attributes `of`.
    """
    order = sorted(of)
    generator = np.random.default_rng(_SEED)
    repeated = [
        table.noisy(fit.joint(table.of).probability, repeats=_REPEATS, generator=generator)
        for table in tables
        if set(table.of) & set(order)
    ]
    noisy = {
        key: _as_measured(fit, key, value, information)
        for key, (value, information) in combined(repeated, most=2).items()
        if set(key) <= set(order)
    }
    margins = [
        noisy[place,] + _off(fit, place, generator)
        if (place,) in noisy
        else generator.dirichlet(np.ones(fit.sizes[place]), _REPEATS)
        for place in order
    ]
    pairs = [
        (
            (axis, other),
            _moved(fit, (order[axis], order[other]), (margins[axis], margins[other]), noisy, generator),
        )
        for axis, other in combinations(range(len(order)), 2)
    ]
    marginals = [fit.margin(place) for place in of]
    if not pairs:
        return _errors(margins[0], marginals)
    back = [order.index(place) for place in of]
    forth = [0, *(1 + axis for axis in back)]
    if len(order) == 2:
        return _errors(pairs[0][1].transpose(forth), marginals)
    start = joint.transpose([list(of).index(place) for place in order])
    fitted = _fitted(fit, order, start, pairs)
    # Fitting takes some of the noise of pairs away, with that of what they do not agree about.
    shown = [((axes[0], axes[1]), _deviations(pair)) for axes, pair in pairs]
    found = _errors(fitted.transpose(forth), marginals, pairs=[_in_order(back, *each) for each in shown])
    untold = _untold(fit, order, np.sqrt((fitted**2).mean(axis=0))).transpose(back)
    return found._replace(standard_error=np.hypot(found.standard_error, untold))


def _errors(
    repeated: NDArray[np.float64],
    marginals: Sequence[NDArray[np.float64]],
    *,
    pairs: Sequence[tuple[tuple[int, int], NDArray[np.float64]]] = (),
) -> Errors:
    """Return the errors that repeated estimates show."""
    deviations = _deviations(repeated)
    effects = Effects.of_repeats(deviations, marginals, pairs=pairs)
    return Errors(repeated.std(axis=0), deviations, effects)


def _deviations(repeated: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = (repeated - repeated.mean(axis=0)) / math.sqrt(len(repeated))
    return found


def _in_order(
    back: Sequence[int], axes: tuple[int, int], pair: NDArray[np.float64]
) -> tuple[tuple[int, int], NDArray[np.float64]]:
    """Return a pair with its axes as the estimate has them, ascending."""
    first, second = back.index(axes[0]), back.index(axes[1])
    return ((first, second), pair) if first < second else ((second, first), pair.swapaxes(1, 2))


def _as_measured(
    fit: Fit, of: tuple[int, ...], repeated: NDArray[np.float64], information: float
) -> NDArray[np.float64]:
    """Return repeated answers about an attribute or a pair with the noise of the fit, which may know more than they.

    information: inverse variance of a contrast in one of the answers.
    """
    middle = fit.margin(of[0]) if len(of) == 1 else fit.pair(of[0], of[1]).probability
    return middle + math.sqrt(information / fit.information(of)) * (repeated - middle)


def _moved(
    fit: Fit,
    of: tuple[int, int],
    margins: tuple[NDArray[np.float64], NDArray[np.float64]],
    noisy: dict[tuple[int, ...], NDArray[np.float64]],
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Return repeated estimates of a pair before they are projected, shape (repeats, values, values)."""
    rows, columns = margins
    product = rows[:, :, None] * columns[:, None, :]
    middle = np.outer(fit.margin(of[0]), fit.margin(of[1]))
    if of not in noisy:
        return product + centred(_UNTOLD * middle * generator.standard_normal(product.shape))
    pair = fit.pair(*of)
    noise = centred(noisy[of] - pair.probability)
    weight = np.maximum(middle, pair.probability)
    hidden = np.sqrt(pair.hidden / fit.information(of) * weight * weight.size / weight.sum())
    taken = centred(hidden * generator.standard_normal(product.shape))
    return pair.probability + product - middle + math.sqrt(pair.noise) * noise + taken


def _fitted(
    fit: Fit,
    order: Sequence[int],
    start: NDArray[np.float64],
    pairs: Sequence[tuple[tuple[int, int], NDArray[np.float64]]],
) -> NDArray[np.float64]:
    """Fit the estimate to each repeat of the pairs, shape (repeats, ...)."""
    independent = np.ones(())
    for place in order:
        independent = np.multiply.outer(independent, fit.margin(place))
    found = ((1 - _SMOOTHING) * start + _SMOOTHING * independent)[None]
    targets = []
    for axes, pair in pairs:
        others = tuple(axis + 1 for axis in range(start.ndim) if axis not in axes)
        middle = np.outer(fit.margin(order[axes[0]]), fit.margin(order[axes[1]]))
        smooth = (1 - _SMOOTHING) * pair + _SMOOTHING * middle
        targets.append((others, np.expand_dims(np.maximum(smooth, 0.0), others)))
    fitted = _swept(found, targets)
    totals = fitted.sum(axis=tuple(range(1, fitted.ndim)))
    if not totals.all():
        # Noise has put pairs to 0 so that together they leave these repeats no cell at all.
        lost = totals == 0.0
        fitted[lost] = _swept(found, [(others, np.maximum(target[lost], _LEAST)) for others, target in targets])
        totals = fitted.sum(axis=tuple(range(1, fitted.ndim)))
    return np.asarray(fitted / totals.reshape(-1, *(1 for _ in range(start.ndim))))


def _swept(
    found: NDArray[np.float64], targets: Sequence[tuple[tuple[int, ...], NDArray[np.float64]]]
) -> NDArray[np.float64]:
    """Fit a distribution to each repeat of the pairs, in a few sweeps, shape (repeats, ...).

    targets: the axes that are summed over, and what the sums are to be.
    """
    for _ in range(_SWEEPS):
        for others, target in targets:
            sums = found.sum(axis=others, keepdims=True)
            found = found * (target / np.where(sums > 0, sums, 1.0))
    return found


def _untold(fit: Fit, order: Sequence[int], joint: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviation of each cell of three attributes or more by dependence that is not known.

    It is that of pairs that nobody has reported, what the others leave open, and what is beyond pairs.

    joint: what the cells may be, in repeats: where noise has put an attribute's value to 0, the estimate has none of
        its cells, and many users may be in them.
    """
    shown, off = [], 0.0
    for one, other in combinations(order, 2):
        if not fit.information((one, other)):
            off += _FEW_CELLS * DEPENDENCE
            continue
        pair = fit.pair(one, other)
        shown.append(float(np.abs(pair.probability - np.outer(fit.margin(one), fit.margin(other))).sum() / 2))
        coefficients = (fit.sizes[one] - 1) * (fit.sizes[other] - 1)
        off += _HALF_ABSOLUTE * math.sqrt(pair.probability.size * coefficients * pair.open / pair.information)
    beyond = _BEYOND_PAIRS * float(np.mean(shown)) if shown else 0.0
    # It goes the same way in pairs, and in triples, of a cell that has many users for all of them: so it adds up.
    distance = math.hypot(off, math.comb(len(order), 3) * beyond)
    return np.asarray(np.minimum(distance / _HALF_ABSOLUTE * joint, np.sqrt(joint * (1 - joint))))


def _off(fit: Fit, place: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return what dependence may have moved a margin by, shape (repeats, values)."""
    noise = math.sqrt(fit.hidden(place)) * generator.standard_normal((_REPEATS, fit.sizes[place]))
    return np.asarray(noise - noise.mean(axis=1, keepdims=True))
