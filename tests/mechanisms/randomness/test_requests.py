"""A source whose requests pass one place answers all of them, and tells them apart."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from stream_ldp.mechanisms import Entropy, SeededEntropy
from stream_ldp.mechanisms.randomness.requests import RequestEntropy

Drawn = TypeVar("Drawn")


class Noted(RequestEntropy):
    def __init__(self) -> None:
        self.source = SeededEntropy(1)
        self.requests: list[bytes] = []

    def _answer(self, draw: Callable[[Entropy], Drawn], request: bytes) -> Drawn:
        self.requests.append(request)
        return draw(self.source)


def all_decisions(entropy: Entropy) -> list[list[int]]:
    states = np.array([True, False])
    return [
        entropy.below(np.array([2**31, 2**30])).tolist(),
        entropy.responses(states, zero=2**30, one=2**32).tolist(),
        entropy.integers(np.array([5, 7])).tolist(),
        entropy.shifts(np.array([2**31]), np.array([2])).tolist(),
        entropy.outcomes(np.array([[2**31, 2**32]])).tolist(),
        entropy.subsets(np.array([4]), 2).tolist(),
        entropy.subsets(np.array([4]), 3).tolist(),
        entropy.integers(np.array([[5], [7]])).tolist(),
    ]


def test_every_decision_is_that_of_the_source_and_every_request_has_a_name_of_its_own() -> None:
    noted = Noted()
    assert all_decisions(noted) == all_decisions(SeededEntropy(1))
    assert len(set(noted.requests)) == len(noted.requests) == 8
