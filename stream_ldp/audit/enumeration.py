"""Epsilon of records by enumeration of all inputs and all outputs.

The symbols of a report are the bits of a one-hot code, or the value that is sent for an attribute. Given the record
they are independent, and so are the permanent responses to two different values. The likelihood ratio of an output is
therefore the product of the ratios of its symbols, and is largest where each of them is. So the outputs of one symbol
after the other are enumerated, which finds the largest ratio over all outputs of all symbols. A symbol that has the
same history in both records has the ratio 1 whatever it sends.

Probabilities and ratios are exact fractions; only the logarithm of the largest ratio is rounded, at 50 digits.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np

from stream_ldp.audit.enumerate import UnknownDistribution, distribution
from stream_ldp.errors import StreamLDPError
from stream_ldp.mechanisms import Entropy, Mechanism, SeededEntropy
from stream_ldp.mechanisms.mechanism import Symbol, TwoStages
from stream_ldp.mechanisms.privacy_loss import PRECISION, round_up

#: Most reports of one user that are enumerated: each doubles the outputs of a bit, to 65,536 in all.
MAX_REPORTS = 16

#: Most outputs of one symbol that are enumerated: those of 16 reports of a bit.
MAX_OUTPUTS = 2**16

#: Most pairs of histories that are enumerated; so many take about a second.
MAX_PAIRS = 5_000

#: Most pairs of histories times outputs of a symbol that are enumerated; so many take a few seconds.
MAX_COMPARISONS = 2**18

# The values of one attribute, report by report. Equal numbers stand for the same value, and thereby for the same
# permanent response.
History = tuple[int, ...]

# The history of one symbol: for each report, a number for the value (in the order of appearance) and its input.
SymbolHistory = tuple[tuple[int, int], ...]


class TooLarge(StreamLDPError, ValueError):
    """There are more reports, outputs or histories than are enumerated."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Enumeration:
    """The privacy loss of reports, computed from the output distribution of every symbol and from nothing else.

    attributes: the symbols of each attribute.
    """

    attributes: tuple[tuple[Symbol, ...], ...]

    @classmethod
    def stated(cls, mechanism: Mechanism) -> Self:
        """Enumerate the probabilities that a mechanism states to the decoder."""
        return cls(attributes=mechanism.stated())

    @classmethod
    def realised(cls, mechanism: Mechanism) -> Self:
        """Enumerate the probabilities that a mechanism's code realises, one symbol at a time.

        Raises:
            UnknownDistribution: they cannot be enumerated.
        """
        places = itertools.count()
        return cls(
            attributes=tuple(
                tuple(_realised(mechanism, attribute, symbol, next(places)) for symbol in symbols)
                for attribute, symbols in enumerate(mechanism.stated())
            )
        )

    def epsilon(self, *, neighbours: int, reports: float) -> float:
        """Return epsilon of `reports` reports (math.inf: all) of one constant record; never rounded down.

        neighbours: number of attributes in which two records may differ.

        A bit has 2^reports outputs. Infinitely many reports reveal the permanent response and nothing else, so its
        outputs are enumerated for them.

        Raises:
            TooLarge: more than `MAX_REPORTS` reports.
            ValueError: neighbours is out of range.
        """
        return _largest([_constant_loss(symbols, reports) for symbols in self.attributes], neighbours)

    def changing_epsilon(self, *, neighbours: int, reports: int) -> float:
        """Return epsilon of `reports` reports of a record that may change before each of them; never rounded down.

        neighbours: number of attributes in which two users' histories may differ, at any time and in any way.

        All pairs of histories are enumerated, up to renaming the values. Epsilon is infinite where an output proves
        that a value has changed, as another permanent response does without an instantaneous one.

        Raises:
            TooLarge: more than `MAX_PAIRS` pairs; fewer reports or smaller attributes can be enumerated.
            ValueError: neighbours is out of range, or the values of an attribute are not perturbed alike, so that
                they cannot be renamed.
        """
        return _largest([_changing_loss(symbols, reports) for symbols in self.attributes], neighbours)

    def alike_epsilons(self, *, attribute: int, reports: float) -> dict[int, float]:
        """Return epsilon of reports of a hashed attribute whose bucket changes, by the number of changes; see below.

        Two users change at the same times, and to the same bucket as before where the other one does, too. All such
        pairs of histories are enumerated, in every cohort.

        reports: a number of reports; for math.inf, infinitely many of each bucket, which all come once.
        """
        (symbol,) = self.attributes[attribute]
        found: dict[int, float] = {}
        for bucketed, _ in _by_cohort(symbol):
            buckets, shown = len(bucketed.inputs), bucketed
            length = int(min(reports, buckets))
            patterns = list(_up_to_renaming(int(reports), buckets)) if reports < math.inf else [tuple(range(length))]
            if reports == math.inf:
                shown = replace(bucketed, stages=_lifetime(bucketed.stages))
            for first in patterns:
                changes = sum(one != other for one, other in itertools.pairwise(first))
                for names in itertools.permutations(range(buckets), len(set(first))):
                    loss = round_up(_pair_loss([shown], first, [names[each] for each in first]))
                    found[changes] = max(found.get(changes, 0.0), loss)
        return found

    def histories_epsilon(self, first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]) -> float:
        """Return epsilon of two given histories, each one user's records, report by report; never rounded down."""
        with localcontext(PRECISION):
            pairs = zip(self.attributes, zip(*first, strict=True), zip(*second, strict=True), strict=True)
            ways = [
                [_pair_loss(symbols, one, other), _pair_loss(symbols, other, one)] for symbols, one, other in pairs
            ]
            return round_up(max(sum(column) for column in zip(*ways, strict=True)))


def _largest(losses: Sequence[Decimal], neighbours: int) -> float:
    """Return the loss of records that differ in the attributes which lose most, rounded up."""
    if not 1 <= neighbours <= len(losses):
        raise ValueError(f"two records differ in 1 to {len(losses)} attributes, got neighbours={neighbours}")
    with localcontext(PRECISION):
        return round_up(sum(sorted(losses)[-neighbours:], start=Decimal(0)))


def stated_reports(mechanism: Mechanism) -> dict[tuple[int, ...], dict[bytes, Fraction]]:
    """Return P(report | record) for every record, as the parameters state it: the product over the symbols.

    mechanism: a small one, which can make only few reports.
    """
    stated = {}
    for record in itertools.product(*map(range, mechanism.sizes)):
        rows = [
            _sent_distribution(symbol, value)
            for symbols, value in zip(mechanism.stated(), record, strict=True)
            for symbol in symbols
        ]
        outputs: dict[bytes, Fraction] = {}
        for sent in itertools.product(*(range(len(row)) for row in rows)):
            probability = math.prod((row[each] for row, each in zip(rows, sent, strict=True)), start=Fraction(1))
            if probability:
                outputs[mechanism.packed(np.array([sent])).tobytes()] = probability
        stated[record] = outputs
    return stated


def realised_reports(mechanism: Mechanism) -> dict[tuple[int, ...], dict[bytes, Fraction]]:
    """Return P(report | record) for every record, as the code of `perturb` realises it from beginning to end.

    mechanism: a small one.

    Raises:
        UnknownDistribution: they cannot be enumerated.
    """

    def report(record: tuple[int, ...]) -> Callable[[Entropy], bytes]:
        return lambda entropy: mechanism.perturb(np.array([record]), entropy=entropy).tobytes()

    return {record: distribution(report(record)) for record in itertools.product(*map(range, mechanism.sizes))}


def _realised(mechanism: Mechanism, attribute: int, stated: Symbol, place: int) -> Symbol:
    """Return the output distribution of one symbol, found by playing its decision in each stage."""
    inputs, sent = len(stated.stages.permanent), len(stated.stages.response)
    decisions, own = mechanism.decisions[place], range(place, place + 1)
    record = np.zeros((1, len(mechanism.sizes)), dtype=np.intp)

    def row(outcomes: dict[Any, Fraction], length: int) -> tuple[Fraction, ...]:
        return tuple(outcomes.get(symbol, Fraction(0)) for symbol in range(length))

    def permanent(value: int) -> Callable[[Entropy], int]:
        given = record.copy()
        given[0, attribute] = value
        return lambda source: int(mechanism.permanent(given, source)[0, place])

    def response(symbol: int) -> Callable[[Entropy], int]:
        # The seed does not matter: this symbol is given, and the decisions of all others have their first outcome.
        symbols = np.array(mechanism.permanent(record, SeededEntropy(0)))
        symbols[0, place] = symbol
        return lambda entropy: int(mechanism.instantaneous(symbols, entropy)[0, place])

    by_value = [row(distribution(permanent(value), only=decisions), sent) for value in range(len(stated.inputs))]
    rows = {stated.inputs[value]: each for value, each in reversed(list(enumerate(by_value)))}
    as_grouped = all(rows[group] == each for group, each in zip(stated.inputs, by_value, strict=True))
    return Symbol(
        # If values that are stated to be drawn alike are not, each value has a row of its own.
        inputs=stated.inputs if as_grouped else tuple(range(len(by_value))),
        stages=TwoStages(
            permanent=tuple(rows[group] for group in range(inputs)) if as_grouped else tuple(by_value),
            response=tuple(row(distribution(response(symbol), only=own), sent) for symbol in range(sent)),
        ),
        cohorts=stated.cohorts,
    )


def _sent_distribution(symbol: Symbol, value: int) -> tuple[Fraction, ...]:
    """Return P(symbol is sent | value), of both stages together, for each symbol."""
    permanent, response = symbol.stages.permanent[symbol.inputs[value]], symbol.stages.response
    return tuple(
        sum((chance * row[sent] for chance, row in zip(permanent, response, strict=True)), start=Fraction(0))
        for sent in range(len(response[0]))
    )


def _lifetime(stages: TwoStages) -> TwoStages:
    """Return the stages that send the permanent symbol itself, which is what infinitely many reports reveal."""
    symbols = range(len(stages.response))
    return TwoStages(
        permanent=stages.permanent,
        response=tuple(tuple(Fraction(sent == symbol) for sent in symbols) for symbol in symbols),
    )


@lru_cache(maxsize=1024)
def _constant_loss(symbols: tuple[Symbol, ...], reports: float) -> Decimal:
    if math.isinf(reports):
        return _constant_loss(tuple(Symbol(inputs=each.inputs, stages=_lifetime(each.stages)) for each in symbols), 1)
    if reports > MAX_REPORTS:
        raise TooLarge(
            f"{reports} reports: outputs are enumerated for at most {MAX_REPORTS} reports, or for a lifetime"
        )
    times = int(reports)
    values = range(len(symbols[0].inputs))
    # Most values have the same input to most symbols, and only those with another one can differ there.
    common = [max(set(each.inputs), key=each.inputs.count) for each in symbols]
    special = [
        {place for place, each in enumerate(symbols) if each.inputs[value] != common[place]} for value in values
    ]
    with localcontext(PRECISION):
        return max(
            sum(
                (
                    _symbol_loss(
                        symbols[place].stages,
                        ((0, symbols[place].inputs[one]),) * times,
                        ((0, symbols[place].inputs[other]),) * times,
                    )
                    for place in special[one] | special[other]
                ),
                start=Decimal(0),
            )
            for one, other in itertools.permutations(values, 2)
        )


@lru_cache(maxsize=1024)
def _changing_loss(symbols: tuple[Symbol, ...], reports: int) -> Decimal:
    if symbols[0].cohorts > 1:
        return max(_changing_loss((bucketed,), reports) for bucketed, _ in _by_cohort(symbols[0]))
    size = len(symbols[0].inputs)
    if not _alike(symbols):
        raise UnknownDistribution("the values of an attribute are not perturbed alike: they cannot be renamed")
    pairs = list(itertools.islice(_up_to_renaming(2 * reports, size), MAX_PAIRS + 1))
    if len(pairs) > MAX_PAIRS:
        raise TooLarge(
            f"{reports} reports of an attribute with {size} values that may change: more than {MAX_PAIRS:,} pairs of "
            "histories"
        )
    if len(pairs) * len(symbols[0].stages.response[0]) ** reports > MAX_COMPARISONS:
        raise TooLarge(f"{reports} reports of an attribute with {size} values that may change: too many outputs")
    # No pair names more values than the two histories have reports. The symbols of all others lose the same.
    alike = Counter(replace(each, inputs=each.inputs[: 2 * reports]) for each in symbols)
    with localcontext(PRECISION):
        return max(
            sum(
                (count * _pair_loss([each], pair[:reports], pair[reports:]) for each, count in alike.items()),
                start=Decimal(0),
            )
            for pair in pairs
        )


def _alike(symbols: Sequence[Symbol]) -> bool:
    """Decide whether values can be renamed: all have symbols drawn alike, or one symbol treats them all alike."""
    size = len(symbols[0].inputs)
    if len(symbols) == 1:
        (symbol,) = symbols
        stages = symbol.stages
        if symbol.inputs != tuple(range(size)):
            return False
        if len(stages.response) >= size and stages != _lifetime(stages):
            return _symmetric(stages.permanent) and _symmetric(stages.response)
        return stages == _lifetime(stages) and _renamable(stages.permanent)
    one_hot = [tuple(int(value == bit) for value in range(size)) for bit in range(size)]
    return [each.inputs for each in symbols] == one_hot and len({each.stages for each in symbols}) == 1


def _symmetric(rows: tuple[tuple[Fraction, ...], ...]) -> bool:
    """Decide whether each input has a symbol of its own with one probability, and all others with another one."""
    own = [row.index(max(row)) for row in rows]
    stays = {row[place] for place, row in zip(own, rows, strict=True)}
    changes = {each for place, row in zip(own, rows, strict=True) for other, each in enumerate(row) if other != place}
    return len(set(own)) == len(rows) and len(stays) == 1 and len(changes) <= 1


def _renamable(rows: tuple[tuple[Fraction, ...], ...]) -> bool:
    """Decide whether two values can be exchanged by renaming symbols alone, which are sent as they are."""
    columns = Counter(zip(*rows, strict=True))
    return all(
        columns == Counter(zip(*(*rows[:place], rows[place + 1], rows[place], *rows[place + 2 :]), strict=True))
        for place in range(len(rows) - 1)
    )


def _up_to_renaming(length: int, size: int) -> Iterator[History]:
    """Yield all histories of an attribute, but only one of those that differ only in the names of the values."""
    if length == 0:
        yield ()
        return
    for start in _up_to_renaming(length - 1, size):
        for value in range(min(max(start, default=-1) + 2, size)):
            yield (*start, value)


@lru_cache(maxsize=1024)
def _by_cohort(symbol: Symbol) -> tuple[tuple[Symbol, History], ...]:
    """Return the symbol of buckets in each cohort, which a report shows, and the bucket that each value has there."""
    size = len(symbol.stages.response) // symbol.cohorts
    found = []
    for first in range(0, size * symbol.cohorts, size):
        rows = [symbol.stages.permanent[each][first : first + size] for each in symbol.inputs]
        buckets = list(dict.fromkeys(rows))
        stages = TwoStages(
            permanent=tuple(tuple(chance / sum(row) for chance in row) for row in buckets),
            response=tuple(row[first : first + size] for row in symbol.stages.response[first : first + size]),
        )
        found.append((Symbol(inputs=tuple(range(len(buckets))), stages=stages), tuple(map(buckets.index, rows))))
    return tuple(found)


def _pair_loss(symbols: Sequence[Symbol], first: Sequence[int], second: Sequence[int]) -> Decimal:
    """Return the loss of an attribute with one history against another: the sum over its symbols."""
    if symbols[0].cohorts > 1:
        return max(
            _pair_loss([bucketed], [held[value] for value in first], [held[value] for value in second])
            for bucketed, held in _by_cohort(symbols[0])
        )
    return sum(
        (_symbol_loss(each.stages, _symbol_history(each, first), _symbol_history(each, second)) for each in symbols),
        start=Decimal(0),
    )


def _symbol_history(symbol: Symbol, history: Sequence[int]) -> SymbolHistory:
    """Return the history of one symbol, which keeps of the values only which are the same, and their input."""
    names = {value: name for name, value in enumerate(dict.fromkeys(history))}
    return tuple((names[value], symbol.inputs[value]) for value in history)


@lru_cache(maxsize=100_000)
def _symbol_loss(stages: TwoStages, first: SymbolHistory, second: SymbolHistory) -> Decimal:
    """Return ln of the largest ratio of the probabilities of one symbol's output with two histories."""
    others = _output_distribution(stages, second)
    ratios = [
        chance / others[sent] if sent in others else math.inf
        for sent, chance in _output_distribution(stages, first).items()
    ]
    if math.inf in ratios:
        return Decimal("Infinity")
    largest = Fraction(max(ratios))
    with localcontext(PRECISION):
        return (Decimal(largest.numerator) / Decimal(largest.denominator)).ln()


@lru_cache(maxsize=10_000)
def _output_distribution(stages: TwoStages, history: SymbolHistory) -> dict[tuple[int, ...], Fraction]:
    """Return the probability of each sequence of sent symbols that is possible, given the symbol's history."""
    times = {each: [time for time, other in enumerate(history) if other == each] for each in set(history)}
    if math.prod(_most_outputs(stages, len(shown)) for shown in times.values()) > MAX_OUTPUTS:
        raise TooLarge(
            f"{len(history)} reports of a symbol with {len(stages.response[0])} values: at most {MAX_OUTPUTS:,} "
            "outputs are enumerated"
        )
    order = sorted(range(len(history)), key=[time for shown in times.values() for time in shown].__getitem__)
    parts = [_response_distribution(stages, input_, len(shown)).items() for (_, input_), shown in times.items()]
    outputs = {}
    for ways in itertools.product(*parts):
        sent = [symbol for part, _ in ways for symbol in part]
        outputs[tuple(sent[place] for place in order)] = math.prod((chance for _, chance in ways), start=Fraction(1))
    return outputs


def _most_outputs(stages: TwoStages, reports: int) -> int:
    """Return a number that the possible outputs of so many reports of one permanent symbol do not exceed."""
    by_symbol = [sum(chance > 0 for chance in row) for row in stages.response]
    return int(min(sum(possible**reports for possible in by_symbol), len(stages.response[0]) ** reports))


@lru_cache(maxsize=10_000)
def _response_distribution(stages: TwoStages, input_: int, reports: int) -> dict[tuple[int, ...], Fraction]:
    """Return the probability of each possible output of the permanent symbol, whichever is drawn."""
    outputs: dict[tuple[int, ...], Fraction] = {}
    for drawn, row in zip(stages.permanent[input_], stages.response, strict=True):
        if drawn:
            possible = [(symbol, chance) for symbol, chance in enumerate(row) if chance]
            for way in itertools.product(possible, repeat=reports):
                sent = tuple(symbol for symbol, _ in way)
                chance = math.prod((chance for _, chance in way), start=drawn)
                outputs[sent] = outputs.get(sent, Fraction(0)) + chance
    return outputs
