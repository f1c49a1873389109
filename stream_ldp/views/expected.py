"""The error to expect of joint distributions, before anything is collected."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from stream_ldp.mechanisms.rr_loss import rr_parameters
from stream_ldp.views.margins import DOUBT

#: Mean AVD between the joint distribution of two attributes and the product of their margins that is expected of
#: unknown tables: the tables of surveys and censuses that were looked at have from .02 to .17.
DEPENDENCE = 0.1

#: E |x| of a standard normal x, over 2: the part of a standard error that is expected in half an absolute error.
_HALF_MEAN_ABSOLUTE = 0.5 * math.sqrt(2 / math.pi)
#: Part of the noise of a dependence that factors leave in it, as measured on tables of up to 16 attributes.
_LEFT = 0.8


def expected_avd(
    sizes: Sequence[int],
    information: Mapping[tuple[int, ...], float],
    *,
    users: float,
    dependence: float = DEPENDENCE,
    sets: Sequence[Sequence[int]] | None = None,
) -> float:
    """Return the mean AVD to expect of the joint distributions of some sets of attributes.

    It adds up in squares the noise of all margins and, for each pair, the lesser of its dependence and the
    dependence's noise, which a shrunk estimate comes close to. What more than two attributes have in common beyond
    their pairs is not in it.

    sizes: number of values of each attribute.
    information: inverse variance, for each user, of a cell of each attribute and pair, by ascending positions.
    dependence: expected mean AVD between a joint distribution of two attributes and the product of its margins.
    sets: ascending positions; None for all pairs.
    """
    if sets is None:
        sets = list(combinations(range(len(sizes)), min(2, len(sizes))))

    def noise(of: tuple[int, ...]) -> float:
        return _noise([sizes[place] for place in of], information.get(of, 0.0) * users)

    margins = [min(1.0, noise((place,))) for place in range(len(sizes))]
    pairs: dict[tuple[int, ...], float] = {}
    found = []
    for places in sets:
        for pair in combinations(places, 2):
            if pair not in pairs:
                alone = _LEFT * noise(pair)
                pairs[pair] = alone * dependence / math.hypot(alone, dependence) if alone < math.inf else dependence
        parts = [margins[place] for place in places] + [pairs[pair] for pair in combinations(places, 2)]
        found.append(min(1.0, math.hypot(*parts)))
    return sum(found) / len(found)


def _noise(sizes: Sequence[int], information: float) -> float:
    """Return the AVD that noise makes in the margin of an attribute, or in the dependence of two."""
    if not information:
        return math.inf
    free = sizes[0] if len(sizes) == 1 else math.sqrt(math.prod(sizes) * math.prod(size - 1 for size in sizes))
    return _HALF_MEAN_ABSOLUTE * free / math.sqrt(information)


def of_unlike_values(
    sizes: Sequence[int],
    information: Mapping[tuple[int, ...], float],
    *,
    users: float,
    dependence: float = DEPENDENCE,
) -> dict[tuple[int, ...], float]:
    """Return what pairs say of each attribute beyond their sums, where the values of the other one are not alike.

    It is the weight that `stream_ldp.views.margins` gives it: as if the square of a cell's dependence were known, and
    an attribute of r values had the frequencies of floor(r u^2), with u uniform.

    Returns:
        Inverse variance of a cell of each attribute, for each user.
    """
    unlike = [sum((math.sqrt(k + 1) - math.sqrt(k)) ** 2 for k in range(size)) / size - 1 / size for size in sizes]
    contrasts = [information.get((place,), 0.0) * (1 - 1 / size) for place, size in enumerate(sizes)]
    weights, moves = [0.0] * len(sizes), [0.0] * len(sizes)
    for pair, of_pair in information.items():
        if len(pair) == 1 or not of_pair or min(sizes[place] for place in pair) < 2:
            continue
        cells, free = math.prod(sizes[place] for place in pair), math.prod(sizes[place] - 1 for place in pair)
        square = 2 * math.pi * dependence**2 / cells / free * users
        for place, by in (pair, pair[::-1]):
            scale = unlike[place] / (sizes[place] - 1) / contrasts[by]
            weight = unlike[by] / (1 / (of_pair * (1 - 1 / cells)) + scale)
            weights[place] += weight
            moves[place] += weight * math.sqrt(square / unlike[by])
    return {
        (place,): 1 / (1 / weight + DOUBT * (move / weight) ** 2) / (1 - 1 / sizes[place])
        for place, (weight, move) in enumerate(zip(weights, moves, strict=True))
        if weight
    }


def rr_information(sizes: Sequence[int], *, epsilon: float) -> dict[tuple[int, ...], float]:
    """Return what RR-LDP shows of each attribute and pair, if all reports of a record cost epsilon.

    Every attribute is a one-hot code whose bits are flipped with probability f / 2; the variance of one bit is v =
    f/2 (1 - f/2) / (1 - f)^2, and that of a cell of a pair v^2, since both bits are needed. A likelihood estimate
    uses the other bits of the code as well: the part 1 - 1 / r of v is left with r values.

    Raises:
        ParameterError: the epsilon is beyond the resolution.
    """
    f, _, _ = rr_parameters(lifetime=epsilon, per_report=None, neighbours=len(sizes))
    variance = f / 2 * (1 - f / 2) / (1 - f) ** 2
    return _of_attributes([1 / (variance * (1 - 1 / size)) for size in sizes])


def _of_attributes(information: Sequence[float]) -> dict[tuple[int, ...], float]:
    """Return what a report shows of each attribute and pair, from what it shows of each attribute."""
    singles: dict[tuple[int, ...], float] = {(place,): each for place, each in enumerate(information)}
    return singles | {
        (first, second): singles[first,] * singles[second,]
        for first, second in combinations(range(len(information)), 2)
    }
