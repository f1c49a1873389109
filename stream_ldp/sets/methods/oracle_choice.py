"""Which oracle answers with the least variance."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from stream_ldp.mechanisms import DirectResponse, HadamardResponse
from stream_ldp.mechanisms.hadamard import MAX_HASH_BITS
from stream_ldp.mechanisms.set_hadamard import SetHadamardResponse

if TYPE_CHECKING:
    from stream_ldp.mechanisms import FrequencyOracle

__all__ = ["amplified", "item_oracle", "scale", "value_oracle", "variance"]


@lru_cache
def value_oracle(size: int, *, epsilon: float, hash_bits: int | None) -> FrequencyOracle:
    """For one value of `size`: a direct response, or hashing where that has less variance.

    hash_bits: t of a Hadamard response to take in any case.

    Raises:
        ParameterError: the epsilon is beyond the resolution of probabilities.
    """
    if hash_bits is not None:
        return HadamardResponse(size=size, epsilon=epsilon, hash_bits=hash_bits)
    choices: list[FrequencyOracle] = [DirectResponse(size=size, epsilon=epsilon), *_hashing(size, epsilon)]
    return min(choices, key=variance)


@lru_cache
def item_oracle(size: int, *, padding: int, epsilon: float, hash_bits: int | None) -> FrequencyOracle:
    """For the items of a set, l of them or fewer.

    Direct response or hashing of one of l slots, or hashing of the whole set: whichever has the least variance for an
    item of mean frequency, l / size where sets hold l items.

    hash_bits: t of a Hadamard response of one slot to take in any case: 1 for sampling SH.

    Raises:
        ParameterError: the epsilon is beyond the resolution of probabilities.
    """
    if hash_bits is not None:
        return HadamardResponse(size=size, epsilon=epsilon, hash_bits=hash_bits)
    direct = DirectResponse(size=size, dummies=padding, epsilon=amplified(epsilon, padding=padding))
    whole = [
        SetHadamardResponse(size=size, slots=padding, epsilon=epsilon, hash_bits=bits)
        for bits in range(1, MAX_HASH_BITS + 1)
        # With fewer, sets that are larger than l leave hardly a hash that is not theirs.
        if 2 * padding <= 2**bits and padding > 1
    ]
    choices: list[FrequencyOracle] = [direct, *_hashing(size, epsilon), *whole]

    def error(oracle: FrequencyOracle) -> float:
        factor = scale(oracle, padding=padding)
        return factor**2 * variance(oracle, frequency=min(padding / size, 1.0) / factor)

    return min(choices, key=error)


def scale(oracle: FrequencyOracle, *, padding: int) -> int:
    """Part of the users who hold an item, over what the oracle estimates: l where one of l slots is told."""
    return 1 if isinstance(oracle, SetHadamardResponse) else padding


def amplified(epsilon: float, *, padding: int) -> float:
    """What a direct response to one sampled slot of at least l may spend for the whole set to lose epsilon, nats.

    ln(l (e^epsilon - 1) + 1): a set holds an item in at most 1 of its l slots (Wang, Li and Jha, 2018, theorem 1).
    """
    return math.log(padding * math.expm1(epsilon) + 1.0)


def variance(oracle: FrequencyOracle, *, frequency: float = 0.0) -> float:
    """Of the estimate of a frequency, times the number of reports.

    s (1 - s) / (p - q)^2 for a part s = q + f (p - q) of the reports that support the value (Wang, Blocki, Li and
    Jha, 2017, eq. 3, for f = 0).
    """
    p, q = oracle.support
    supported = q + frequency * (p - q)
    return supported * (1.0 - supported) / (p - q) ** 2


def _hashing(size: int, epsilon: float) -> list[HadamardResponse]:
    return [HadamardResponse(size=size, epsilon=epsilon, hash_bits=bits) for bits in range(1, MAX_HASH_BITS + 1)]
