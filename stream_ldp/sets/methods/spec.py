"""The options of heavy-hitter methods, as they stand in a collection file or on the command line."""

import math
from typing import Annotated, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Field, field_validator

from stream_ldp.collection import Part
from stream_ldp.collection.located import Misplaced
from stream_ldp.mechanisms.hadamard import MAX_HASH_BITS
from stream_ldp.quantity import quantity
from stream_ldp.sets.methods.asked_size import AskedSize, SizedMethod
from stream_ldp.sets.methods.combination import Combine
from stream_ldp.sets.phases import MAX_CANDIDATES, Method

#: Bounds on the items of a domain and the nats of a phase, within which multiples of 2^-32 are fine enough for the
#: probabilities of all responses: a direct response to the largest domain with the least epsilon has a p of 4,100 of
#: them, and a q of 4,096.
MAX_DOMAIN = 2**20
_MIN_EPSILON, MAX_EPSILON = 0.001, 22.0

#: The `set_size` with which a phase of each epoch asks for it.
ASK = "ask"

DEFAULT_COMBINE = Combine.VARIANCE


def require(right: bool, message: str, *option: str) -> None:
    """Refuse the value of an option, unless it is right.

    option: name of the option, if the caller is not the option's own validator.

    Raises:
        Misplaced: the value is not right.
    """
    if not right:
        raise Misplaced(message, *option)


def require_domain(domain: int) -> None:
    """Refuse a number of items that no method can have.

    Raises:
        Misplaced: the number is too small or too large.
    """
    require(2 <= domain <= MAX_DOMAIN, f"the domain has {quantity(domain, 'item')}; from 2 to {MAX_DOMAIN:,}")


def _whole(value: object) -> object:
    require(not isinstance(value, str) or value.lstrip("-").isdigit(), f"{value!r} is not a whole number")
    return value


def _whole_or_ask(value: object) -> object:
    whole = isinstance(value, int) or (isinstance(value, str) and value.lstrip("-").isdigit())
    require(whole or value == ASK, f"{value!r} is neither a whole number nor `{ASK}`")
    return value


def _check_hash_bits(bits: int | None) -> int | None:
    possible = bits is None or 1 <= bits <= MAX_HASH_BITS
    require(possible, f"hash_bits is {bits}; from 1 (sampling SH) to {MAX_HASH_BITS}")
    return bits


#: A whole number: `1.5` in a file is not rounded.
Whole = Annotated[int, BeforeValidator(_whole)]

# Options that several methods have. Each spec declares them itself, since a collection is registered with its options
# in the order of the fields.

#: l. Larger sets count for less.
SetSize = Annotated[Whole, Field(description="largest number of items of a set, or of nearly all")]

AskedSetSize = Annotated[
    int | Literal["ask"],
    BeforeValidator(_whole_or_ask),
    Field(
        description="largest number of items of a set, or of nearly all; `ask`, and a tenth of the users are asked "
        "for it; left out, phase 1 only finds candidates"
    ),
]

Combination = Annotated[
    Combine | None,
    Field(description=f"rule that combines the estimates of two phases; {DEFAULT_COMBINE} by default"),
]

HashBits = Annotated[
    Whole | None,
    AfterValidator(_check_hash_bits),
    Field(
        description="number of bits of a Hadamard response, t: 1 for sampling SH, the papers', in all phases; by "
        "default the response of minimum variance"
    ),
]


class MethodSpec(Part):
    """The options that all heavy-hitter methods have. For an option that is not given, the method chooses.

    kind: name of the method.
    """

    kind: str
    epsilon: float = Field(description="privacy budget of one user for one epoch, in nats")
    k: Whole = Field(description="number of heavy hitters to find")
    k_max: Whole | None = Field(
        default=None,
        description="number of candidates that phase 1 keeps; by default 3 k, 2 k of svim, or the domain if less",
    )
    set_size: AskedSetSize | None = None

    @field_validator("epsilon")
    @classmethod
    def _is_positive(cls, epsilon: float) -> float:
        require(0.0 < epsilon < math.inf, f"epsilon is {epsilon}; a positive number")
        return epsilon

    def method(self, *, domain: int) -> Method:
        """Make the method over items 0 to domain - 1.

        Raises:
            Misplaced: an option does not fit the domain or another option; the error names the option.
        """
        require_domain(domain)
        of_domain = f"the {domain} items of the domain"
        require(1 <= self.k <= domain, f"k is {self.k}; from 1 to {of_domain}", "k")
        k_max = min(self._usual_k_max, domain) if self.k_max is None else self.k_max
        require(self.k <= k_max <= domain, f"k_max is {k_max}; from k, {self.k}, to {of_domain}", "k_max")
        require(k_max <= MAX_CANDIDATES, f"k_max is {k_max:,}; at most {MAX_CANDIDATES:,}", "k_max")
        size = self.known_size
        require(size is None or 1 <= size <= domain, f"set_size is {size}; from 1 to {of_domain}", "set_size")
        alone = self._method(domain=domain, k_max=k_max)
        # Only methods that can do without a set size have the option to ask for it.
        method = AskedSize(method=cast("SizedMethod", alone)) if self.set_size == ASK else alone
        for phase in method.phases:
            low, high = phase.share
            require(low < high, f"phase {phase.number} asks nobody: give it a larger part of the split", "split")
            require(
                _MIN_EPSILON <= phase.epsilon <= MAX_EPSILON,
                f"phase {phase.number} has an epsilon of {phase.epsilon:g}; from {_MIN_EPSILON:g} to {MAX_EPSILON:g}",
                "epsilon",
            )
        return method

    @property
    def known_size(self) -> int | None:
        """The set size that the file gives; None if it gives none, or has it asked for."""
        return None if isinstance(self.set_size, str) else self.set_size

    @property
    def _usual_k_max(self) -> int:
        """Number of candidates if none is given, in a domain that has so many."""
        return 3 * self.k

    def _method(self, *, domain: int, k_max: int) -> Method:
        """Make the method with so many candidates, once all options of this class are checked."""
        raise NotImplementedError
