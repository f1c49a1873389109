"""Heavy-hitter methods by name."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.hadamard import MAX_HASH_BITS
from stream_ldp.sets.methods.combination import Combine
from stream_ldp.sets.methods.gfim import GFIM
from stream_ldp.sets.methods.ldpminer import LDPMiner
from stream_ldp.sets.methods.svim import SVIM

if TYPE_CHECKING:
    from stream_ldp.sets.phases import Method

__all__ = ["OPTIONS", "Kind", "method"]


class Kind(StrEnum):
    """Known methods."""

    GFIM = "gfim"
    GFIM_USERS = "gfim-users"
    LDPMINER = "ldpminer"
    SVIM = "svim"


#: Items of a domain, and nats of a phase, for which all responses have probabilities that are multiples of 2^-32: a
#: direct response to the largest domain with the least epsilon has a p of 4,100 of them against a q of 4,096.
MAX_DOMAIN = 2**20
_LEAST_EPSILON, _MOST_EPSILON = 0.001, 22.0

#: Candidates: a published ranking of so many has 6 MB, and a unary response takes no more.
MAX_CANDIDATES = 2**16

#: The options of `method` that each method takes.
OPTIONS = {
    Kind.GFIM: frozenset({"k_max", "finalists", "set_size", "split", "combine", "hash_bits"}),
    Kind.GFIM_USERS: frozenset({"k_max", "finalists", "set_size", "split", "combine", "hash_bits"}),
    Kind.LDPMINER: frozenset({"k_max", "set_size", "combine", "hash_bits"}),
    Kind.SVIM: frozenset({"k_max", "set_size", "hash_bits"}),
}


def method(
    kind: Kind | str,
    *,
    domain: int,
    k: int,
    epsilon: float,
    k_max: int | None = None,
    finalists: int | None = None,
    set_size: int | None = None,
    split: tuple[float, float] | None = None,
    combine: Combine | str | None = None,
    hash_bits: int | None = None,
) -> Method:
    """A heavy-hitter method over items 0 to domain - 1.

    k: number of heavy hitters that are wanted.
    epsilon: of a user for an epoch, nats.
    k_max: number of candidates after phase 1; 3 k by default, 2 k for svim, or the whole domain if that is less.
    finalists: |E|, of gfim and gfim-users; 2 k by default, or k_max if that is less.
    set_size: l, items that a set has at most, or nearly all sets; larger ones count for less. All methods but svim
        need it; svim without it is as published.
    split: parts of phase 1 and of what comes after, of epsilon (gfim) or of the users (gfim-users); 0.6 and 0.4 by
        default.
    combine: how the estimates of two phases become one, of all methods but svim.
    hash_bits: t of the Hadamard responses: 1 for sampling SH; by default the oracle of least variance.

    Raises:
        ParameterError: an option is out of range, missing, or none of this method; says what would be right.
    """
    chosen = _chosen(
        _known(kind),
        domain=domain,
        k=k,
        epsilon=epsilon,
        k_max=k_max,
        finalists=finalists,
        set_size=set_size,
        split=split,
        combine=combine,
        hash_bits=hash_bits,
    )
    for phase in chosen.phases:
        low, high = phase.share
        _require(low < high, f"phase {phase.number} asks nobody: give it a larger part of the split")
        _require(
            _LEAST_EPSILON <= phase.epsilon <= _MOST_EPSILON,
            f"phase {phase.number} has an epsilon of {phase.epsilon:g}; from {_LEAST_EPSILON:g} to {_MOST_EPSILON:g}",
        )
    return chosen


def _chosen(
    kind: Kind,
    *,
    domain: int,
    k: int,
    epsilon: float,
    k_max: int | None,
    finalists: int | None,
    set_size: int | None,
    split: tuple[float, float] | None,
    combine: Combine | str | None,
    hash_bits: int | None,
) -> Method:
    _require(2 <= domain <= MAX_DOMAIN, f"the domain has {domain:,} items; from 2 to {MAX_DOMAIN:,}")
    _require(1 <= k <= domain, f"k is {k}; from 1 to the {domain} items of the domain")
    _require(0.0 < epsilon < math.inf, f"epsilon is {epsilon}; a positive number")
    _require(
        hash_bits is None or 1 <= hash_bits <= MAX_HASH_BITS,
        f"hash_bits is {hash_bits}; from 1 (sampling SH) to {MAX_HASH_BITS}",
    )
    if k_max is None:
        k_max = min((2 if kind is Kind.SVIM else 3) * k, domain)
    _require(k <= k_max <= domain, f"k_max is {k_max}; from k, {k}, to the {domain} items of the domain")
    _require(k_max <= MAX_CANDIDATES, f"k_max is {k_max:,}; at most {MAX_CANDIDATES:,}")

    given = {"finalists": finalists, "split": split, "set_size": set_size, "combine": combine}
    for name, value in given.items():
        _require(value is None or name in OPTIONS[kind], f"{kind} has no {name}: leave it out")
    _require(
        set_size is None or 1 <= set_size <= domain,
        f"set_size is {set_size}; from 1 to the {domain} items of the domain",
    )
    if kind is Kind.SVIM:
        return SVIM(domain=domain, k=k, k_max=k_max, epsilon=epsilon, set_size=set_size, hash_bits=hash_bits)

    if set_size is None:
        raise ParameterError(f"{kind} needs set_size: how many items a set has at most, or nearly all sets")
    combine = Combine.VARIANCE if combine is None else _combine(combine)
    if kind is Kind.LDPMINER:
        return LDPMiner(
            domain=domain, k=k, k_max=k_max, epsilon=epsilon, set_size=set_size, combine=combine, hash_bits=hash_bits
        )

    if finalists is None:
        finalists = min(2 * k, k_max)
    _require(k <= finalists <= k_max, f"finalists is {finalists}; from k, {k}, to k_max, {k_max}")
    split = (0.6, 0.4) if split is None else split
    _require(
        len(split) == 2 and min(split) > 0.0 and math.isclose(sum(split), 1.0),
        f"split is {split}; two positive parts that sum to 1, such as (0.6, 0.4)",
    )
    return GFIM(
        name="gfim" if kind is Kind.GFIM else "gfim-users",
        domain=domain,
        k=k,
        k_max=k_max,
        finalists=finalists,
        epsilon=epsilon,
        set_size=set_size,
        split=split,
        combine=combine,
        hash_bits=hash_bits,
    )


def _known(kind: Kind | str) -> Kind:
    try:
        return Kind(kind)
    except ValueError:
        raise ParameterError(f"{kind!r} is no method; known are {', '.join(Kind)}") from None


def _combine(combine: Combine | str) -> Combine:
    try:
        return Combine(combine)
    except ValueError:
        raise ParameterError(f"combine is {combine!r}; {' or '.join(Combine)}") from None


def _require(right: bool, message: str) -> None:
    if not right:
        raise ParameterError(message)
