"""The randomizers that a sampled collection may name, and the choice among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from stream_ldp.collection.located import Misplaced
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import ORACLES, DirectResponse, FrequencyOracle, HadamardResponse, SubsetResponse
from stream_ldp.mechanisms.subset import MAX_SIZE


@lru_cache
def value_oracle(name: str, size: int, *, epsilon: float, hash_bits: int | None = None) -> FrequencyOracle:
    """Return the oracle of this name for one of `size` values; of several forms, the one of least mean variance.

    name: one of `VALUE_ORACLES`.
    hash_bits: t of a Hadamard response.

    Raises:
        ParameterError: the oracle is not for so many values, or the epsilon is beyond the resolution.
    """
    if hash_bits is not None:
        if name not in ("hadamard", "s-hist"):
            raise ParameterError(f"hash_bits is for oracle hadamard; {name} has none: leave it out")
        return HadamardResponse(size=size, epsilon=epsilon, hash_bits=hash_bits)
    return min(VALUE_ORACLES[name](size, epsilon=epsilon), key=lambda oracle: oracle.mean_variance)


def epsilon_of_distortion(distortion: float, size: int) -> float:
    """Return the epsilon of k-RR that sends another value with probability `distortion` (Sarwate and Sankar, 2014).

    It is ln(k - 1) + ln((1 - delta) / delta).

    Raises:
        ParameterError: as much distortion, or as little, is not possible.
    """
    most = (size - 1) / size
    if not 0 < distortion < most:
        raise ParameterError(
            f"a distortion of {distortion:g} is not possible with {size} values: it is above 0 and below {most:g}, "
            "at which reports say nothing"
        )
    return math.log(size - 1) + math.log((1 - distortion) / distortion)


def _warner(size: int, epsilon: float) -> Iterable[FrequencyOracle]:
    if size != 2:
        raise ParameterError(f"w-rr is for two values, and there are {size}: take k-rr")
    return DirectResponse.forms(size, epsilon=epsilon)


def _best(size: int, epsilon: float) -> Iterator[FrequencyOracle]:
    """Yield all forms that may be the best. Of two with equal variance, the first has the smaller report."""
    yield from DirectResponse.for_value(size, epsilon=epsilon)
    yield from HadamardResponse.for_value(size, epsilon=epsilon)
    if size <= MAX_SIZE:
        yield from SubsetResponse.forms(size, epsilon=epsilon)


#: The forms of each oracle by the name in a collection file: for a number of values and an epsilon.
VALUE_ORACLES: dict[str, Callable[..., Iterable[FrequencyOracle]]] = {
    "auto": _best,
    "w-rr": _warner,
    **{name: oracle.forms for oracle in ORACLES for name in oracle.named},
}


def require_less_per_report(per_report: float, *, epsilon: float) -> None:
    """Require that one report costs less than all of a lifetime, in nats.

    Raises:
        Misplaced: it costs as much, or more.
    """
    if per_report >= epsilon:
        raise Misplaced(
            f"one report may cost less than all: {per_report} is not below epsilon, {epsilon}", "per_report"
        )
