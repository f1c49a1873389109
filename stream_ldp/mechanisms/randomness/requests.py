"""Sources that decide how to answer a request as a whole, such as those that answer the same request alike."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.randomness.entropy import Entropy

Drawn = TypeVar("Drawn")


class RequestEntropy(ABC):
    """An `Entropy` whose requests all pass one place."""

    @abstractmethod
    def _answer(self, draw: Callable[[Entropy], Drawn], request: bytes) -> Drawn:
        """Answer a request.

        draw: makes the decisions with another source.
        request: the same for equal requests, and for no others.
        """

    def below(self, thresholds: NDArray[np.integer]) -> NDArray[np.bool_]:
        return self._answer(lambda source: source.below(thresholds), _request(b"below", thresholds))

    def responses(self, states: NDArray[np.bool_], *, zero: int, one: int) -> NDArray[np.bool_]:
        # 64 bits, since a threshold of 2^32 (certainty) does not fit a word.
        return self.below(np.where(states, np.uint64(one), np.uint64(zero)))

    def integers(self, sizes: NDArray[np.integer]) -> NDArray[np.int64]:
        return self._answer(lambda source: source.integers(sizes), _request(b"integers", sizes))

    def shifts(self, kept: NDArray[np.integer], others: NDArray[np.integer]) -> NDArray[np.int64]:
        return self._answer(lambda source: source.shifts(kept, others), _request(b"shifts", kept, others))

    def outcomes(self, ends: NDArray[np.integer]) -> NDArray[np.int64]:
        return self._answer(lambda source: source.outcomes(ends), _request(b"outcomes", ends))

    def subsets(self, sizes: NDArray[np.integer], most: int) -> NDArray[np.bool_]:
        return self._answer(lambda source: source.subsets(sizes, most), _request(b"subsets", sizes, np.array(most)))

    def holding(
        self,
        own: NDArray[np.integer],
        *,
        sizes: NDArray[np.integer],
        members: NDArray[np.integer],
        kept: NDArray[np.integer],
    ) -> NDArray[np.int64]:
        return self._answer(
            lambda source: source.holding(own, sizes=sizes, members=members, kept=kept),
            _request(b"holding", own, sizes, members, kept),
        )


def _request(kind: bytes, *asked: NDArray[np.integer]) -> bytes:
    return kind + b"".join(repr(each.shape).encode() + each.astype(np.int64).tobytes() for each in asked)
