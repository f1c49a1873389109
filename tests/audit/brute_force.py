"""Epsilon straight from Algorithm 1: all outputs of all bits of all reports at once, nothing factorised."""

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction

from stream_ldp.mechanisms import RRLDP

#: The records of one user, report by report.
History = tuple[tuple[int, ...], ...]

WORDS = 2**32


def constant_pairs(mechanism: RRLDP, *, neighbours: int, reports: int) -> Iterable[tuple[History, History]]:
    """All pairs of histories of two records that differ in at most `neighbours` attributes and do not change."""
    records = list(itertools.product(*map(range, mechanism.sizes)))
    for first, second in itertools.product(records, records):
        if sum(one != other for one, other in zip(first, second, strict=True)) <= neighbours:
            yield (first,) * reports, (second,) * reports


def changing_pairs(mechanism: RRLDP, *, neighbours: int, reports: int) -> Iterable[tuple[History, History]]:
    """All pairs of histories that differ, at any time, in at most `neighbours` attributes."""
    records = list(itertools.product(*map(range, mechanism.sizes)))
    histories = list(itertools.product(records, repeat=reports))
    for first, second in itertools.product(histories, histories):
        columns = zip(zip(*first, strict=True), zip(*second, strict=True), strict=True)
        if sum(one != other for one, other in columns) <= neighbours:
            yield first, second


def epsilon(mechanism: RRLDP, pairs: Iterable[tuple[History, History]]) -> float:
    """ln of the largest ratio of the probabilities of one output, over all outputs and pairs."""
    laws: dict[History, list[int]] = {}
    worst = Fraction(1)
    for pair in pairs:
        for history in pair:
            if history not in laws:
                laws[history] = law(mechanism, history)
        for one, other in zip(laws[pair[0]], laws[pair[1]], strict=True):
            if one and not other:
                return math.inf
            if one * worst.denominator > worst.numerator * other:
                worst = Fraction(one, other)
    return math.log(worst)


def law(mechanism: RRLDP, history: History) -> list[int]:
    """Probability of each sequence of reports, in units that are the same for all histories of a length."""
    flip, p, q = mechanism.thresholds
    responses = {(0, 0): WORDS - p, (0, 1): p, (1, 0): WORDS - q, (1, 1): q}
    attributes = range(len(mechanism.sizes))
    # One permanent response for every value that every attribute ever has; unused ones add up to certainty.
    slots = [(attribute, value) for attribute in attributes for value in range(mechanism.sizes[attribute])]
    used = [slot for slot in slots if any(record[slot[0]] == slot[1] for record in history)]
    total = [0] * 2 ** (mechanism.bits * len(history))
    widths = [mechanism.sizes[attribute] for attribute, _ in used]
    for drawn in itertools.product(*(list(itertools.product((0, 1), repeat=width)) for width in widths)):
        permanent = dict(zip(used, drawn, strict=True))
        weight = WORDS ** (sum(mechanism.sizes) * len(history) - sum(widths))
        for (_, value), bits in permanent.items():
            for place, bit in enumerate(bits):
                weight *= WORDS - flip if bit == (place == value) else flip
        outputs = [weight]
        for record in history:
            for attribute in attributes:
                for bit in permanent[attribute, record[attribute]]:
                    outputs = [output * responses[bit, sent] for output in outputs for sent in (0, 1)]
        total = [before + now for before, now in zip(total, outputs, strict=True)]
    return total
