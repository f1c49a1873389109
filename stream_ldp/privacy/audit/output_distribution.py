"""The exact probability of every report of a frequency oracle, as it is stated and as its code realises it.

Only small oracles are enumerated: a distribution has an entry for each input and each pattern of a report's bits.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms.frequency_oracle import no_outputs
from stream_ldp.mechanisms.privacy_loss import PRECISION, round_up
from stream_ldp.privacy.audit.enumerate import distribution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream_ldp.mechanisms import Entropy, FrequencyOracle
    from stream_ldp.mechanisms.frequency_oracle import OutputDistribution

    #: The packed report of one user.
    Report = Callable[[Entropy], bytes]

__all__ = [
    "MAX_ENTRIES",
    "all_sets",
    "epsilon_of",
    "in_miniature",
    "realised_distribution",
    "realised_set_distribution",
    "realised_with",
    "stated_distribution",
]

#: Most probabilities of a distribution that is enumerated; so many take some seconds.
MAX_ENTRIES = 2**16


def in_miniature(oracle: FrequencyOracle) -> FrequencyOracle:
    """Return the oracle, or one of its kind and epsilon that is small enough to be enumerated."""
    while _entries(oracle) > MAX_ENTRIES or (oracle.set_slots is not None and oracle.small() != oracle):
        oracle = oracle.small()
    return oracle


def epsilon_of(outputs: OutputDistribution) -> float:
    """Return ln of the largest ratio of one report's probabilities with two inputs; never rounded down."""
    columns = [column for column in outputs.T.tolist() if any(column)]
    if any(not all(column) for column in columns):
        return math.inf
    largest = max(max(column) / min(column) for column in columns)
    with localcontext(PRECISION):
        return round_up((Decimal(largest.numerator) / largest.denominator).ln())


def stated_distribution(oracle: FrequencyOracle) -> OutputDistribution:
    """Return the output distribution as an oracle's parameters state it, shape (inputs, 2^bits).

    Raises:
        ValueError: the oracle is too large.
    """
    _require_small(oracle)
    return oracle.stated()


def realised_distribution(oracle: FrequencyOracle) -> OutputDistribution:
    """Return the output distribution as the code of `perturb` realises it, shape (inputs, 2^bits).

    Raises:
        UnknownDistribution: it cannot be enumerated.
        ValueError: the oracle is too large.
    """
    _require_small(oracle)

    def report(value: int) -> Report:
        return lambda entropy: oracle.perturb(np.array([value]), entropy=entropy).tobytes()

    return realised_with([report(value) for value in range(oracle.inputs)], bits=oracle.bits)


def realised_set_distribution(
    oracle: FrequencyOracle, sets: Sequence[Sequence[int]], *, padding: int
) -> OutputDistribution:
    """Return the output distribution as the code of `perturb_sets` realises it, shape (sets, 2^bits).

    Raises:
        UnknownDistribution: it cannot be enumerated.
    """

    def report(held: Sequence[int]) -> Report:
        offsets, values = np.array([0, len(held)]), np.array(held, dtype=np.int64)
        return lambda entropy: oracle.perturb_sets(offsets, values, padding=padding, entropy=entropy).tobytes()

    # Restricted to a few candidates, many sets are the same.
    distinct = list(dict.fromkeys(map(tuple, sets)))
    outputs = realised_with([report(held) for held in distinct], bits=oracle.bits)
    return outputs[[distinct.index(tuple(held)) for held in sets]]


def realised_with(reports: Sequence[Report], *, bits: int) -> OutputDistribution:
    """Return the output distribution of the report that each of these functions makes, shape (functions, 2^bits)."""
    outputs = no_outputs(len(reports), bits)
    for row, report in zip(outputs, reports, strict=True):
        for packed, probability in distribution(report).items():
            row[int.from_bytes(packed, "little")] = probability
    return outputs


def all_sets(size: int) -> list[tuple[int, ...]]:
    """List all sets of values below `size`, in the order of the number whose set bits are the values."""
    return [tuple(value for value in range(size) if bits >> value & 1) for bits in range(2**size)]


def _entries(oracle: FrequencyOracle) -> int:
    entries: int = oracle.inputs * 2**oracle.bits
    return entries


def _require_small(oracle: FrequencyOracle) -> None:
    if _entries(oracle) > MAX_ENTRIES:
        raise ValueError(
            f"{_entries(oracle):,} probabilities: a distribution of at most {MAX_ENTRIES:,} is enumerated"
        )
