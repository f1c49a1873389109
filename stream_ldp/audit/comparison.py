"""The comparison of what code sends with what is stated of it: exact probabilities on both sides."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from stream_ldp.mechanisms.randomizer import OutputDistribution

#: Probabilities of what is sent, packed.
Outputs = dict[bytes, Fraction]


def compared(what: str, realised: Mapping[bytes, Fraction], stated: Mapping[bytes, Fraction]) -> Iterator[str]:
    """Yield the output whose probability differs most from the stated one; nothing if all are as stated.

    what: what sends it, such as a function and what it is given.
    """
    if realised == stated:
        return
    zero = Fraction(0)
    worst = max(sorted({*realised, *stated}), key=lambda sent: abs(realised.get(sent, zero) - stated.get(sent, zero)))
    yield (
        f"{what}: it sends {worst.hex()} with probability {float(realised.get(worst, zero)):.6g}, and states "
        f"{float(stated.get(worst, zero)):.6g}"
    )


def independent(users: Sequence[Mapping[bytes, Fraction]]) -> Outputs:
    """Return the probabilities of what independent users send, one after another."""
    return {
        b"".join(sent for sent, _ in ways): math.prod((chance for _, chance in ways), start=Fraction(1))
        for ways in itertools.product(*(each.items() for each in users))
    }


def users_compared(what: str, reports: Callable[..., Outputs], held: Sequence[Any]) -> Iterator[str]:
    """Yield where the reports of several users in one call are not those of each alone, all independent.

    A randomizer makes the reports of many users at once. Its enumeration plays a call for one user; a slip in how the
    decisions of several users are kept apart would not show there.

    reports: gives the probabilities of what some users send.
    held: what each has.
    """
    alone = independent([reports(each) for each in held])
    yield from compared(f"{what}, {len(held)} users in a call", reports(*held), alone)


def outputs_of(distribution: OutputDistribution, number: int) -> Outputs:
    """Return the probabilities of the reports of one input, by its number."""
    width = -(-(distribution.shape[1] - 1).bit_length() // 8)
    row = distribution[number]
    return {int(sent).to_bytes(width, "little"): row[sent] for sent in np.flatnonzero(row)}
