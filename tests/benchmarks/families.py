"""Generated joint distributions of several kinds, which need no data."""

from collections.abc import Callable
from functools import reduce
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Joint = NDArray[np.float64]
Sizes = tuple[int, ...]

#: Most values of an attribute, by the number of attributes.
MAX_VALUES = {2: 8, 3: 6, 5: 4}


def generate(family: str, attributes: int, rng: np.random.Generator) -> Joint:
    """Generate a joint of 2, 3 or 5 attributes, each of a size that is drawn too."""
    sizes = tuple(rng.integers(2, MAX_VALUES[attributes] + 1, size=attributes).tolist())
    joint = FAMILIES[family](sizes, rng)
    total: float = joint.sum()
    return joint / total


def _dirichlet(concentration: float) -> Callable[[Sizes, np.random.Generator], Joint]:
    return lambda sizes, rng: rng.dirichlet(np.full(np.prod(sizes), concentration)).reshape(sizes)


def _independent(sizes: Sizes, rng: np.random.Generator) -> Joint:
    return reduce(np.multiply.outer, [rng.dirichlet(np.ones(size)) for size in sizes])


def _uniform(sizes: Sizes, rng: np.random.Generator) -> Joint:
    return np.ones(sizes)


def _classes(sizes: Sizes, rng: np.random.Generator) -> Joint:
    """Mix three classes of users, in each of which the attributes are independent."""
    mixed = np.zeros(sizes)
    for weight in rng.dirichlet([2.0, 2.0, 1.0]):
        mixed += weight * reduce(np.multiply.outer, [rng.dirichlet(np.full(size, 0.7)) for size in sizes])
    return mixed


def _pairs(sizes: Sizes, rng: np.random.Generator) -> Joint:
    """Make every two attributes dependent, by a log-linear model without effects of higher order."""
    effects = np.zeros(sizes)
    for attribute, size in enumerate(sizes):
        others = tuple(j for j in range(len(sizes)) if j != attribute)
        effects += np.expand_dims(rng.normal(0.0, 0.7, size), others)
    for i, j in combinations(range(len(sizes)), 2):
        others = tuple(each for each in range(len(sizes)) if each not in (i, j))
        effects += np.expand_dims(rng.normal(0.0, 1.0, (sizes[i], sizes[j])), others)
    return np.exp(effects)


#: What makes a joint of these sizes, up to a factor.
FAMILIES: dict[str, Callable[[Sizes, np.random.Generator], Joint]] = {
    "Dirichlet": _dirichlet(1.0),
    "independent": _independent,
    "uniform": _uniform,
    "sparse": _dirichlet(0.1),
    "latent classes": _classes,
    "strong pairs": _pairs,
}
