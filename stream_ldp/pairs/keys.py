"""The keys that users may hold, each with a number."""

from __future__ import annotations

import math
from typing import Any

from stream_ldp.collection.values import clipped, number_of, text_of

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
