"""SVSM: after the items, two more parts of the users determine which pairs and triples of them are held together."""

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stream_ldp.filtering.shrinkage import FrequencyPrior
from stream_ldp.mechanisms import RESOLUTION, FrequencyOracle
from stream_ldp.sets.methods.combination import as_asked, drawn_together, most_frequent, phase_estimate
from stream_ldp.sets.methods.oracle_choice import item_oracle, value_oracle
from stream_ldp.sets.methods.svim import padded, padding_doubted
from stream_ldp.sets.methods.wrapped import UserSample, Wrapped
from stream_ldp.sets.phases import (
    Inquiry,
    Method,
    Phase,
    RankingEstimate,
    Target,
    candidates_of,
    epoch_epsilon,
    item_phases,
)

#: Shares of the users who are asked about items, how many candidates they hold, and the itemsets themselves: 40 %,
#: and of the others one in five and the rest, as the authors' own program has them.
_PARTS = (0.4, 0.12, 0.48)
#: The least and the most that the share of users with an item counts for in a guess: of items that all users hold, or
#: that nobody seems to, larger itemsets are still the rarer ones.
_LEAST, _MOST = 1e-6, 1.0 - 1e-6
#: The least and the most that the standard error of an item's frequency counts for in a guess.
_SMALLEST, _LARGEST = 1e-9, 1.0
#: Guesses for each itemset that is wanted: twice as many, as published, and up to 16 times as long as a set is
#: expected to hold few of them, 4 for each nat of a report and at most 8, so that slots stay few. Products say little
#: of baskets of things that belong together, and more guesses then find more (`tests/benchmarks/itemsets.py`).
_GUESSES, _MOST_GUESSES, _HELD, _MOST_HELD = 2, 16, 4.0, 8.0
#: Most items of an itemset: of more, products say little.
MAX_SIZE = 4
#: Most itemsets that may be wanted: a round about all guesses has a few hundred kB.
MAX_ITEMSETS = 2**10


@dataclass(frozen=True, kw_only=True)
class SVSM(Wrapped[Method]):
    """Set-value itemset mining (Wang, Li and Jha, 2018, section VI): itemsets are guessed from items, then counted.

    A user reports once. Itemsets are guessed by the product of their items' frequencies, which is how many would hold
    them if items were held independently: not of frequencies as shares of 0.9 of the largest, as published, which
    guesses no triple of items that all users hold. The best are shrunk towards what all that were counted suggest.

    method: the method that finds the most frequent items, of the first part of the users.
    itemsets: number of most frequent itemsets that are wanted.
    sizes: numbers of items of an itemset, ascending, at least 2.
    hash_bits: t of the Hadamard responses about itemsets; None for the oracles of minimum variance.
    """

    itemsets: int
    sizes: tuple[int, ...]
    hash_bits: int | None

    @cached_property
    def _of_items(self) -> UserSample:
        return UserSample(self.method, words=round(RESOLUTION * _PARTS[0]))

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The phases of the items, of 40 % of the users, and two about itemsets, of 12 and 48 %."""
        first, epsilon = item_phases(self.method) + 1, epoch_epsilon(self.method)
        start, middle, _ = (round(RESOLUTION * end) for end in itertools.accumulate(_PARTS))
        return (
            *self._of_items.phases,
            Phase(number=first, asked=Target.COUNT, share=(start, middle), epsilon=epsilon, sizes=self.sizes),
            Phase(number=first + 1, asked=Target.ITEM, share=(middle, RESOLUTION), epsilon=epsilon, sizes=self.sizes),
        )

    def first(self) -> Inquiry:
        """Return the inquiry of phase 1, about items."""
        return self.method.first()

    def oracle(self, inquiry: Inquiry) -> FrequencyOracle:
        """Return the oracle of minimum variance for itemsets, and that of their method for items."""
        phase = self.phases[inquiry.phase - 1]
        if not phase.sizes or inquiry.candidates is None:
            return self._of_items.oracle(inquiry)
        size = len(inquiry.candidates)
        if phase.asked is Target.COUNT:
            return value_oracle(size + 1, epsilon=phase.epsilon, hash_bits=self.hash_bits)
        return item_oracle(size, padding=inquiry.padding, epsilon=phase.epsilon, hash_bits=self.hash_bits)

    def solve(
        self, inquiry: Inquiry, *, sums: NDArray[np.int64], reports: int, before: RankingEstimate | None
    ) -> tuple[RankingEstimate, Inquiry | None]:
        """Solve as `Method.solve` says; the estimate holds items until the last phase, and then itemsets."""
        if not self.phases[inquiry.phase - 1].sizes:
            estimate, following = self._of_items.solve(inquiry, sums=sums, reports=reports, before=before)
            if following is None:
                guesses = self._guessed(estimate)
                following = Inquiry(phase=inquiry.phase + 1, candidates=guesses, padding=1).canonical
            return estimate, following
        oracle = self.oracle(inquiry)
        if inquiry.phase < len(self.phases) and before is not None:
            most = _GUESSES * self.itemsets
            return before, padded(inquiry, oracle, sums, reports=reports, most=most)
        every = phase_estimate(inquiry, oracle, sums, reports=reports)
        best = as_asked(most_frequent(every, self.itemsets), inquiry)
        best = as_asked(drawn_together(best, as_asked(every, inquiry)), inquiry)
        return padding_doubted(best, inquiry), None

    def _guessed(self, items: RankingEstimate) -> NDArray[np.int64]:
        """Guess itemsets, int64, shape (c, s), as the candidates of an `Inquiry`.

        The frequency of an item counts as its posterior mean under a flat prior on [0, 1]: noise moves some beyond 1,
        and their triples would otherwise come before pairs of more items.
        """
        best = most_frequent(items, len(items.items))
        error = np.clip(best.standard_error, _SMALLEST, _LARGEST)
        shares = FrequencyPrior.learn(np.zeros(0), np.zeros(0)).drawn(best.frequency, error).mean
        guesses: list[list[int]] = []
        held, few = 0.0, few_held(self.phases[-1].epsilon)
        for product, places in likeliest(shares, sizes=self.sizes):
            held += product
            times = _GUESSES if held > few else _MOST_GUESSES
            if len(guesses) >= times * self.itemsets:
                break
            guesses.append(sorted(best.items[list(places)].tolist()))
        return candidates_of(guesses)


def few_held(epsilon: float) -> float:
    """Return how many of the guesses a set may be expected to hold so that they count as few."""
    return min(_HELD * epsilon, _MOST_HELD)


def likeliest(frequency: NDArray[np.float64], *, sizes: Sequence[int]) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Iterate over itemsets in the order of the products of their items' frequencies.

    An itemset comes when all better ones have come: the best of the rest differs from one that has come by the next
    item in one place.

    frequency: of each item, falling, shape (c,).
    sizes: numbers of items of an itemset.
    Yields the product, and the positions of the items, ascending, of each.
    """
    shares = np.clip(frequency, _LEAST, _MOST).tolist()

    def entry(places: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        return -math.prod(shares[place] for place in places), places

    waiting = [entry(tuple(range(size))) for size in sizes if size <= len(shares)]
    heapq.heapify(waiting)
    seen = {places for _, places in waiting}
    while waiting:
        product, places = heapq.heappop(waiting)
        yield -product, places
        for at, (place, end) in enumerate(zip(places, (*places[1:], len(shares)), strict=True)):
            further = (*places[:at], place + 1, *places[at + 1 :])
            if place + 1 < end and further not in seen:
                seen.add(further)
                heapq.heappush(waiting, entry(further))
