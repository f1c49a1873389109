"""The randomizers that a sampled collection may name, and the choice among them."""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from stream_ldp.mechanisms import ORACLES, DirectResponse, FrequencyOracle, HadamardResponse, SubsetResponse
from stream_ldp.mechanisms.subset import MAX_SIZE


@lru_cache
def value_oracle(name: str, size: int, *, epsilon: float) -> FrequencyOracle:
    """Return the oracle of this name for one of `size` values; of several forms, the one of least mean variance.

    name: one of `VALUE_ORACLES`.

    Raises:
        ParameterError: the oracle is not for so many values, or the epsilon is beyond the resolution.
    """
    return min(VALUE_ORACLES[name](size, epsilon=epsilon), key=lambda oracle: oracle.mean_variance)


def _best(size: int, epsilon: float) -> Iterator[FrequencyOracle]:
    """Yield all forms that may be the best. Of two with equal variance, the first has the smaller report."""
    yield from DirectResponse.for_value(size, epsilon=epsilon)
    yield from HadamardResponse.for_value(size, epsilon=epsilon)
    if size <= MAX_SIZE:
        yield from SubsetResponse.forms(size, epsilon=epsilon)


#: The forms of each oracle by the name in a collection file: for a number of values and an epsilon.
VALUE_ORACLES: dict[str, Callable[..., Iterable[FrequencyOracle]]] = {
    "auto": _best,
    **{name: oracle.forms for oracle in ORACLES for name in oracle.named},
}
