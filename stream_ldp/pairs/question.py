"""The question which key a user holds, drawn from all of the user's keys, and whether its number is large."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.collection.values import clipped, number_of, text_of
from stream_ldp.mechanisms.randomizer import AnswerCost
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION
from stream_ldp.questions.questions import Question, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy, FrequencyOracle

#: What stands for a key that a user does not hold.
NOT_HELD = math.nan


class Key:
    """A key, and the range of its numbers."""

    def __init__(self, name: str, bounds: tuple[float, float], *, clip: bool) -> None:
        self.name = name
        self.bounds = bounds
        self.clip = clip

    def encode(self, value: Any) -> float:
        """Convert a number, or one in text; None, NaN or an empty text stands for a key that the user does not hold.

        Raises:
            DataError: it is no number, or not in the range without `clip`. The message never repeats it.
        """
        text = text_of(value, what=f"key {self.name!r}: the given value")
        if text is None:
            return NOT_HELD
        least, largest = self.bounds
        number = number_of(text, attribute=self.name)
        # -0.0 is 0, and must not have another permanent answer.
        return clipped(number, least=least, largest=largest, clip=self.clip, attribute=self.name) + 0.0


#: A report that supports fewer values than this on average supports one.
_TWO_VALUES = 1.5


def excludes(oracle: FrequencyOracle) -> bool:
    """Decide whether a report that supports one end of a key never supports the other, as those by k-RR."""
    p, q = oracle.support
    return oracle.fixed_total and p + (oracle.size - 1) * q < _TWO_VALUES


def variance_of_share(oracle: FrequencyOracle, *, padding: int) -> float:
    """Return the variance of the share of a key that hardly anybody holds, times the number of reports.

    A report that is about something else supports each end with the probability q, and both with none or with q^2.
    """
    p, q = oracle.support
    noise = 2 * q * (1 - 2 * q) if excludes(oracle) else 2 * q * (1 - q)
    return padding**2 * noise / (p - q) ** 2


@dataclass(frozen=True, kw_only=True)
class PairsQuestion(Question):
    """The question about one key of a user's.

    A user with m keys draws one of max(m, padding) slots (padding and sampling; Gu et al., 2020, section 4.2). The
    first m are the keys that the user holds. The number of the slot's key is rounded to the low or the high end of
    its range at random. The randomizer sends which value this is, for d keys: 2 i for the low and 2 i + 1 for the
    high end of key i, and 2 d for a slot without a key. So a single randomizer hides key and number together, and
    there is nothing to compose.

    k-RR has a value for each slot without a key, 2 d + u - m for slot u. A user then has each value with a chance of
    at most 1 / padding, and what is drawn hides behind what might have been: k-RR may spend e^eps' - 1 = padding
    (e^eps - 1) (Wang, Li and Jha, 2018, theorem 1; PCKV-GRR: Gu et al., 2020, theorem 3, whose 2 (d + padding)
    outputs are padding more).

    keys: d of them.
    padding: least number of slots.
    """

    randomizer: FrequencyOracle
    keys: tuple[Key, ...]
    padding: int

    @property
    def loss(self) -> float:
        """See `Question.loss`: that of what is drawn and perturbed."""
        return self.randomizer.epsilon if self.slots is None else self.randomizer.set_epsilon(padding=self.slots)

    @property
    def slots(self) -> int | None:
        """See `Question.slots`: as many as values for slots without a key; None where these are all alike."""
        return self.padding if self.randomizer.size == 2 * len(self.keys) else None

    @property
    def cost(self) -> AnswerCost:
        """See `Question.cost`."""
        return AnswerCost(epsilon=self.loss)

    @property
    def excludes(self) -> bool:
        """See `excludes`."""
        return excludes(self.randomizer)

    def inputs(self, table: Table, *, entropy: Entropy) -> NDArray[np.int64]:
        """See `Question.inputs`: a word for the slot, or more, and then one for the end, even without a key."""
        shares = np.stack([self._shares(table, place) for place in self.of], axis=1)
        held = ~np.isnan(shares)
        counts = held.sum(axis=1)
        drawn = entropy.integers(np.maximum(counts, self.padding))
        some = drawn < counts
        keys = (held & (held.cumsum(axis=1) == drawn[:, None] + 1)).argmax(axis=1)
        high = np.where(some, shares[np.arange(len(table)), keys], 0.0)
        ends = entropy.below(np.rint(high * RESOLUTION).astype(np.int64))
        empty = 2 * len(self.keys) + (0 if self.slots is None else drawn - counts)
        return np.where(some, 2 * keys + ends, empty)

    def _shares(self, table: Table, place: int) -> NDArray[np.float64]:
        """Return the numbers of a key as shares of its range; NaN where it is not held."""
        least, largest = self.keys[place].bounds
        return ((table[str(place)] - least) / (largest - least)).clip(0.0, 1.0)
