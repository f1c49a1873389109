"""Users are allocated to questions in proportion to weights, exactly, and by their words alone."""

from collections.abc import Sequence

import numpy as np

from stream_ldp.mechanisms import RESOLUTION
from stream_ldp.mechanisms.randomness.allocation import Allocation


class Weighted(Allocation):
    @property
    def weights(self) -> Sequence[float]:
        return (1.0, 2.0, 1.0)


def test_a_question_has_the_words_of_its_share_and_every_word_has_a_question() -> None:
    allocation = Weighted()
    assert allocation.shares.tolist() == [0.25, 0.5, 0.25]
    assert allocation.ends[-1] == RESOLUTION
    words = np.array([0, RESOLUTION // 4 - 1, RESOLUTION // 4, 3 * RESOLUTION // 4, RESOLUTION - 1], dtype=np.uint32)
    assert allocation.numbers(words).tolist() == [0, 0, 1, 2, 2]
