"""The choice of the oracle of minimum variance."""

import math
from functools import lru_cache

import numpy as np

from stream_ldp.mechanisms import ORACLES, FrequencyOracle, HadamardResponse
from stream_ldp.sets.item_sets import ItemSets


@lru_cache
def value_oracle(size: int, *, epsilon: float, hash_bits: int | None) -> FrequencyOracle:
    """Choose the oracle of minimum variance for one value of `size`.

    hash_bits: t of the Hadamard response to use instead; None for the choice.

    Raises:
        ParameterError: the epsilon is beyond the resolution of probabilities.
    """
    if hash_bits is not None:
        return HadamardResponse(size=size, epsilon=epsilon, hash_bits=hash_bits)
    return min((form for oracle in ORACLES for form in oracle.for_value(size, epsilon=epsilon)), key=variance)


@lru_cache
def item_oracle(size: int, *, padding: int, epsilon: float, hash_bits: int | None) -> FrequencyOracle:
    """Choose the oracle of minimum variance for the items of a set of at most l items.

    The variance is that of an item of mean frequency, which is l / size if sets hold l items.

    padding: l.
    hash_bits: t of the Hadamard response of one slot to use instead, 1 for sampling SH; None for the choice.

    Raises:
        ParameterError: the epsilon is beyond the resolution of probabilities.
    """
    if hash_bits is not None:
        return HadamardResponse(size=size, epsilon=epsilon, hash_bits=hash_bits)

    def error(oracle: FrequencyOracle) -> float:
        factor = oracle.scale(padding=padding)
        return factor**2 * variance(oracle, frequency=min(padding / size, 1.0) / factor)

    forms = (form for oracle in ORACLES for form in oracle.for_set(size, padding=padding, epsilon=epsilon))
    return min(forms, key=error)


def slot_error(oracle: FrequencyOracle, *, padding: int) -> float:
    """Return the standard error of a rare item's frequency for one report, where a set is padded to so many slots."""
    return oracle.scale(padding=padding) * math.sqrt(variance(oracle))


def best_padding(sets: ItemSets, *, k: int, domain: int, epsilon: float) -> int:
    """Find the padding l with which reports show the most of the k most frequent items.

    A larger l adds noise, and a smaller one leaves out items of larger sets. Of the sizes that 5, 10, ...
    95 % and all sets do not exceed, the mean number of these items that count, which is min(1, l / size) of those
    that a set holds, is the largest at this one in standard errors of a frequency. The other items do not matter: the
    largest sets may hold most items of all and few of the frequent ones.

    sets: of all users, at least one.
    """
    frequent = np.argsort(-sets.frequencies(domain), kind="stable")[:k]
    held, sizes = sets.restricted(frequent, domain=domain).sizes, np.maximum(sets.sizes, 1)
    shares = np.linspace(0.05, 1.0, 20)
    tried = np.unique(np.quantile(sizes, shares, method="inverted_cdf"))

    def signal(padding: int) -> float:
        oracle = item_oracle(domain, padding=padding, epsilon=epsilon, hash_bits=None)
        return float((held * np.minimum(1.0, padding / sizes)).mean()) / slot_error(oracle, padding=padding)

    return max((int(each) for each in tried if each <= domain), key=signal)


def variance(oracle: FrequencyOracle, *, frequency: float = 0.0) -> float:
    """Compute the variance of the estimate of a frequency f, times the number of reports.

    It is s (1 - s) / (p - q)^2 with s = q + f (p - q) the share of the reports that support the value (Wang, Blocki,
    Li and Jha, 2017, eq. 3, for f = 0).
    """
    p, q = oracle.support
    supported = q + frequency * (p - q)
    return supported * (1.0 - supported) / (p - q) ** 2
