"""The allocation of users to questions: each is asked one, which a random word decides, whatever the user holds."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.randomness.entropy import RESOLUTION


class Allocation(ABC):
    """Questions: each user is asked one, with a probability in proportion to its weight."""

    @property
    @abstractmethod
    def weights(self) -> Sequence[float]:
        """The weight of each question, positive."""

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """For each question, where the words of its users end; they begin where those of the question before end."""
        weights = np.cumsum(self.weights)
        return tuple(round(float(each) * RESOLUTION) for each in weights / weights[-1])

    @property
    def shares(self) -> NDArray[np.float64]:
        """The probability that a user is asked each question, shape (questions,)."""
        return np.diff(self.ends, prepend=0) / RESOLUTION

    def numbers(self, words: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the numbers of the questions that users with these words are asked, int64, shape (n,)."""
        return np.searchsorted(np.array(self.ends), words.astype(np.int64), side="right")
