"""Epsilon by enumeration of all inputs and all outputs.

The bits of a report are independent, given the record, and so are the permanent responses to two different values.
The likelihood ratio of an output is therefore the product of the ratios of its bits, and is largest where each of
them is: to enumerate the outputs of one bit after the other finds the largest ratio over all outputs of all bits. A
bit that has the same history in both records has the ratio 1 whatever it sends.

Probabilities and ratios are exact fractions; only the logarithm of the largest ratio is rounded, at 50 digits.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Self

from stream_ldp.errors import StreamLDPError
from stream_ldp.mechanisms.privacy_loss import PRECISION, round_up
from stream_ldp.privacy.audit.bit_law import BitLaw, realised_laws, stated_law

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.mechanisms import RRLDP

__all__ = ["Enumeration", "TooLarge"]

#: Reports that one question may be about: each doubles the outputs of a bit, to 65,536 of the last.
MAX_REPORTS = 16

#: Pairs of histories that one question may look at: about a second.
MAX_PAIRS = 5_000

# The values of one attribute, or the permanent bits that answer for them, report by report; equal numbers stand for
# the same value, which is answered from the same permanent response.
History = tuple[int, ...]

# In the history of one bit: the value that sets it. All other values leave it clear, each in its own response.
_SETTING = 0


class TooLarge(StreamLDPError, ValueError):
    """More reports or histories than can be enumerated."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Enumeration:
    """What reports tell, computed from the law of every bit of every attribute, and from nothing else."""

    laws: tuple[tuple[BitLaw, ...], ...]

    @classmethod
    def stated(cls, mechanism: RRLDP) -> Self:
        """Of the probabilities that a mechanism states to the decoder."""
        law = stated_law(mechanism)
        return cls(laws=tuple((law,) * size for size in mechanism.sizes))

    @classmethod
    def realised(cls, mechanism: RRLDP) -> Self:
        """Of the probabilities that a mechanism's code realises.

        Raises:
            UnknownLaw: they cannot be found.
        """
        return cls(laws=realised_laws(mechanism))

    def epsilon(self, *, neighbours: int, reports: float) -> float:
        """Epsilon of `reports` reports (math.inf: for ever) of one record that does not change; never rounded down.

        neighbours: number of attributes in which two records may differ.

        Each bit has 2^reports outputs. For ever, they are those of the permanent response, which is all that
        infinitely many reports tell.

        Raises:
            TooLarge: more than `MAX_REPORTS` reports.
            ValueError: neighbours is out of range.
        """
        return _largest([_constant_loss(laws, reports) for laws in self.laws], neighbours)

    def changing_epsilon(self, *, neighbours: int, reports: int) -> float:
        """Epsilon of `reports` reports of a record that may change before each of them; never rounded down.

        neighbours: number of attributes in which two users' histories may differ, at any time and in any way.

        All pairs of histories are enumerated, up to renaming the values. It is infinite where an output shows that
        a value has changed, as a changed permanent response does without an IRR.

        Raises:
            TooLarge: more than `MAX_PAIRS` pairs; fewer reports or smaller attributes can be enumerated.
            ValueError: neighbours is out of range, or the bits of an attribute have different laws, so that its
                values cannot be renamed.
        """
        return _largest([_changing_loss(laws, reports) for laws in self.laws], neighbours)

    def histories_epsilon(self, first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]) -> float:
        """Epsilon of two given histories, each the records of one user, report by report; never rounded down."""
        with localcontext(PRECISION):
            pairs = zip(self.laws, zip(*first, strict=True), zip(*second, strict=True), strict=True)
            ways = [[_pair_loss(laws, one, other), _pair_loss(laws, other, one)] for laws, one, other in pairs]
            return round_up(max(sum(column) for column in zip(*ways, strict=True)))


def _largest(losses: Sequence[Decimal], neighbours: int) -> float:
    """The loss of records that differ in those attributes which lose most."""
    if not 1 <= neighbours <= len(losses):
        raise ValueError(f"two records differ in 1 to {len(losses)} attributes, got neighbours={neighbours}")
    with localcontext(PRECISION):
        return round_up(sum(sorted(losses)[-neighbours:], start=Decimal(0)))


@lru_cache(maxsize=1024)
def _constant_loss(laws: tuple[BitLaw, ...], reports: float) -> Decimal:
    if math.isinf(reports):
        return _constant_loss(tuple(law.for_ever for law in laws), 1)
    if reports > MAX_REPORTS:
        raise TooLarge(f"{reports} reports: the outputs of at most {MAX_REPORTS} are enumerated, or those for ever")
    is_set, is_clear = (_SETTING,) * int(reports), (_SETTING + 1,) * int(reports)
    with localcontext(PRECISION):
        rising = [_bit_loss(law, is_set, is_clear) for law in laws]
        falling = [_bit_loss(law, is_clear, is_set) for law in laws]
        return max(rising[one] + falling[other] for one, other in itertools.permutations(range(len(laws)), 2))


@lru_cache(maxsize=1024)
def _changing_loss(laws: tuple[BitLaw, ...], reports: int) -> Decimal:
    if len(set(laws)) > 1:
        raise ValueError("the bits of an attribute have different laws: its values cannot be renamed")
    size = len(laws)
    pairs = list(itertools.islice(_up_to_renaming(2 * reports, size), MAX_PAIRS + 1))
    if len(pairs) > MAX_PAIRS:
        raise TooLarge(
            f"{reports} reports of an attribute with {size} values that may change: more than {MAX_PAIRS:,} pairs of "
            "histories"
        )
    with localcontext(PRECISION):
        return max(_renamed_loss(laws, pair[:reports], pair[reports:]) for pair in pairs)


def _renamed_loss(laws: Sequence[BitLaw], first: History, second: History) -> Decimal:
    """Loss of an attribute whose histories hold its first few values, and whose bits share one law."""
    held = max(*first, *second) + 1
    loss = _pair_loss(laws[:held], first, second)
    # All the bits of values that are in neither history are alike.
    if rest := len(laws) - held:
        loss += rest * _bit_loss(laws[held], _seen_by(held, first), _seen_by(held, second))
    return loss


def _up_to_renaming(length: int, size: int) -> Iterator[History]:
    """All histories of an attribute, of those that differ only in the names of the values just one."""
    if length == 0:
        yield ()
        return
    for start in _up_to_renaming(length - 1, size):
        for value in range(min(max(start, default=-1) + 2, size)):
            yield (*start, value)


def _pair_loss(laws: Sequence[BitLaw], first: History, second: History) -> Decimal:
    """Loss of an attribute with one history against another: the sum over its bits."""
    return sum(
        (_bit_loss(law, _seen_by(bit, first), _seen_by(bit, second)) for bit, law in enumerate(laws)),
        start=Decimal(0),
    )


def _seen_by(bit: int, history: History) -> History:
    """The history of one bit, with its own value and the others named in the order of their appearance."""
    others = [value for value in dict.fromkeys(history) if value != bit]
    names = {bit: _SETTING, **{value: name for name, value in enumerate(others, start=_SETTING + 1)}}
    return tuple(names[value] for value in history)


@lru_cache(maxsize=100_000)
def _bit_loss(law: BitLaw, first: History, second: History) -> Decimal:
    """ln of the largest ratio, over all outputs of one bit, of its probability with one history to another."""
    outputs = zip(_output_law(law, first), _output_law(law, second), strict=True)
    ratios = [one / other if other else math.inf for one, other in outputs if one]
    if math.inf in ratios:
        return Decimal("Infinity")
    largest = Fraction(max(ratios))
    with localcontext(PRECISION):
        return (Decimal(largest.numerator) / Decimal(largest.denominator)).ln()


@lru_cache(maxsize=10_000)
def _output_law(law: BitLaw, history: History) -> tuple[Fraction, ...]:
    """Probability of each sequence of sent bits, 2^reports of them, given the bit's history."""
    times = {value: [time for time, each in enumerate(history) if each == value] for value in set(history)}
    return tuple(
        math.prod(
            (_response_law(law, value == _SETTING, tuple(sent[time] for time in times[value])) for value in times),
            start=Fraction(1),
        )
        for sent in itertools.product((0, 1), repeat=len(history))
    )


@lru_cache(maxsize=10_000)
def _response_law(law: BitLaw, is_set: bool, sent: tuple[int, ...]) -> Fraction:
    """Probability that one permanent bit, whichever it is, sends these bits."""
    one_chance = law.permanent[is_set]
    total = Fraction(0)
    for permanent, chance in ((0, 1 - one_chance), (1, one_chance)):
        one = law.response[permanent]
        total += chance * math.prod((one if bit else 1 - one for bit in sent), start=Fraction(1))
    return total
