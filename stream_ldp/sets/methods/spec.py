"""The options of a heavy-hitter method as they are written, in a collection file or on the command line."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BeforeValidator, Field, field_validator

from stream_ldp.collection import Part
from stream_ldp.collection.located import Misplaced
from stream_ldp.mechanisms.hadamard import MAX_HASH_BITS
from stream_ldp.sets.methods.combination import Combine
from stream_ldp.sets.phases import MAX_CANDIDATES

if TYPE_CHECKING:
    from stream_ldp.sets.phases import Method

__all__ = [
    "DEFAULT_COMBINE",
    "MAX_DOMAIN",
    "Combination",
    "HashBits",
    "MethodSpec",
    "SetSize",
    "Whole",
    "require",
    "require_domain",
]

#: Items of a domain, and nats of a phase, for which all responses have probabilities that are multiples of 2^-32: a
#: direct response to the largest domain with the least epsilon has a p of 4,100 of them against a q of 4,096.
MAX_DOMAIN = 2**20
_LEAST_EPSILON, _MOST_EPSILON = 0.001, 22.0

DEFAULT_COMBINE = Combine.VARIANCE


def require(right: bool, message: str, *option: str) -> None:
    """Refuse what an option says, unless it is right.

    option: its name, from where it is not clear which one is meant.

    Raises:
        Misplaced: it is not right.
    """
    if not right:
        raise Misplaced(message, *option)


def require_domain(domain: int) -> None:
    """Refuse a number of items for which there is no method.

    Raises:
        Misplaced: it is such a number.
    """
    require(2 <= domain <= MAX_DOMAIN, f"the domain has {domain:,} items; from 2 to {MAX_DOMAIN:,}")


def _whole(value: object) -> object:
    require(not isinstance(value, str) or value.lstrip("-").isdigit(), f"{value!r} is not a whole number")
    return value


def _possible_hash_bits(bits: int | None) -> int | None:
    possible = bits is None or 1 <= bits <= MAX_HASH_BITS
    require(possible, f"hash_bits is {bits}; from 1 (sampling SH) to {MAX_HASH_BITS}")
    return bits


#: A whole number: `1.5` in a file is not rounded.
Whole = Annotated[int, BeforeValidator(_whole)]

# Options that several methods have. They stand in each spec, since a collection is registered with its options in
# the order of the fields.

#: l. Larger sets count for less.
SetSize = Annotated[Whole, Field(description="largest number of items of a set, or of nearly all sets")]

Combination = Annotated[
    Combine | None,
    Field(description=f"rule that combines the estimates of two phases; {DEFAULT_COMBINE} by default"),
]

HashBits = Annotated[
    Whole | None,
    AfterValidator(_possible_hash_bits),
    Field(
        description="number of bits of a Hadamard response, t: 1 for sampling SH, the papers', in all phases; by "
        "default the response of least variance"
    ),
]


class MethodSpec(Part):
    """What is written of any heavy-hitter method. An option that is not given is the method's own."""

    kind: str
    epsilon: float = Field(description="privacy budget of one user for one epoch, in nats")
    k: Whole = Field(description="number of heavy hitters to find")
    k_max: Whole | None = Field(
        default=None,
        description="number of candidates that phase 1 keeps; by default 3 k, 2 k of svim, or the domain if less",
    )
    set_size: SetSize | None = None

    @field_validator("epsilon")
    @classmethod
    def _is_positive(cls, epsilon: float) -> float:
        require(0.0 < epsilon < math.inf, f"epsilon is {epsilon}; a positive number")
        return epsilon

    def method(self, *, domain: int) -> Method:
        """The method over items 0 to domain - 1.

        Raises:
            Misplaced: an option does not fit the domain or another option, of which it names the place.
        """
        require_domain(domain)
        of_domain = f"the {domain} items of the domain"
        require(1 <= self.k <= domain, f"k is {self.k}; from 1 to {of_domain}", "k")
        k_max = min(self._usual_k_max, domain) if self.k_max is None else self.k_max
        require(self.k <= k_max <= domain, f"k_max is {k_max}; from k, {self.k}, to {of_domain}", "k_max")
        require(k_max <= MAX_CANDIDATES, f"k_max is {k_max:,}; at most {MAX_CANDIDATES:,}", "k_max")
        fits = self.set_size is None or 1 <= self.set_size <= domain
        require(fits, f"set_size is {self.set_size}; from 1 to {of_domain}", "set_size")
        method = self._method(domain=domain, k_max=k_max)
        for phase in method.phases:
            low, high = phase.share
            require(low < high, f"phase {phase.number} asks nobody: give it a larger part of the split", "split")
            require(
                _LEAST_EPSILON <= phase.epsilon <= _MOST_EPSILON,
                f"phase {phase.number} has an epsilon of {phase.epsilon:g}; "
                f"from {_LEAST_EPSILON:g} to {_MOST_EPSILON:g}",
                "epsilon",
            )
        return method

    @property
    def _usual_k_max(self) -> int:
        """The number of candidates where none is given and the domain has so many."""
        return 3 * self.k

    def _method(self, *, domain: int, k_max: int) -> Method:
        """The method with so many candidates, all options of this class being right."""
        raise NotImplementedError
