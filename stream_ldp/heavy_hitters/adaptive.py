"""Which oracle answers with the least variance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from stream_ldp.mechanisms import DirectResponse, HadamardResponse
from stream_ldp.mechanisms.hadamard import MAX_HASH_BITS

if TYPE_CHECKING:
    from stream_ldp.mechanisms import FrequencyOracle

__all__ = ["adaptive_oracle", "amplified", "hadamard_response", "variance"]


def variance(oracle: FrequencyOracle) -> float:
    """Of the estimated frequency of a value that nobody holds, times the number of reports.

    q (1 - q) / (p - q)^2 (Wang, Blocki, Li and Jha, 2017, eq. 3).
    """
    p, q = oracle.support
    return q * (1.0 - q) / (p - q) ** 2


def hadamard_response(size: int, *, epsilon: float) -> HadamardResponse:
    """With the number of hash bits of least variance: 2^t near e^epsilon + 1 (Wang et al., 2017, section 4.4)."""
    ideal = math.log2(math.exp(min(epsilon, 64.0)) + 1.0)
    bits = {min(max(round_(ideal), 1), MAX_HASH_BITS) for round_ in (math.floor, math.ceil)}
    return min((HadamardResponse(size=size, epsilon=epsilon, hash_bits=t) for t in sorted(bits)), key=variance)


def amplified(epsilon: float, *, padding: int) -> float:
    """What a direct response to one sampled slot of at least l may spend for the whole set to lose epsilon, nats.

    ln(l (e^epsilon - 1) + 1): a set holds an item in at most 1 of its l slots (Wang, Li and Jha, 2018, theorem 1).
    """
    return math.log(padding * math.expm1(epsilon) + 1.0)


def adaptive_oracle(size: int, *, dummies: int, epsilon: float) -> FrequencyOracle:
    """Hashing, or a direct response: of one slot of sets padded to `dummies` slots, or of one value where that is 0.

    Raises:
        ValueError: the epsilon is beyond the resolution of probabilities.
    """
    hashing: FrequencyOracle = hadamard_response(size, epsilon=epsilon)
    direct = DirectResponse(size=size, dummies=dummies, epsilon=amplified(epsilon, padding=max(dummies, 1)))
    return min(hashing, direct, key=variance)
