"""Sources of randomness that make two runs of a client comparable, although their users hold something else."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, WordEntropy
from stream_ldp.mechanisms.randomness.requests import RequestEntropy

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy

    Drawn = TypeVar("Drawn")


class SameWords(WordEntropy):
    """A source in which every word is the same: decisions depend on their thresholds alone."""

    def __init__(self, probability: float) -> None:
        """Take the word that lies at this probability."""
        self._word = int(probability * (RESOLUTION - 1))

    def words(self, n: int) -> NDArray[np.uint32]:
        """Return the word n times."""
        return np.full(n, self._word, dtype=np.uint32)


class RepeatableEntropy(RequestEntropy):
    """A source that answers the same request alike in two runs, whatever else was asked for before it.

    A stream of words would not do: what a report takes of it depends on the set, and with it all that comes later.
    Here each request, such as one integer of 9,500, has a stream of its own.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._asked: Counter[bytes] = Counter()

    def _answer(self, draw: Callable[[Entropy], Drawn], request: bytes) -> Drawn:
        self._asked[request] += 1
        key = hashlib.blake2b(request, digest_size=8, salt=self._asked[request].to_bytes(8, "little")).digest()
        return draw(SeededEntropy(np.random.SeedSequence([self._seed, int.from_bytes(key, "little")])))
