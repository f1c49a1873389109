"""Sources of randomness that make two runs of a client comparable, although their users hold something else."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.mechanisms.randomness.requests import RequestEntropy

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.mechanisms import Entropy

    Drawn = TypeVar("Drawn")


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
