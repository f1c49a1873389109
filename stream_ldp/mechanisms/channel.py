"""What a mechanism does to one bit, as the decoder needs to know it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BitChannel"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BitChannel:
    """The channel of every bit of a one-hot code, bits independent of each other.

    one: P(reported bit is 1 | true bit is 1), q* in Chu, Long and Liu (2022), eq. 8.
    zero: P(reported bit is 1 | true bit is 0), p* in eq. 9.
    """

    one: float
    zero: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.zero < self.one <= 1.0:
            raise ValueError(
                f"a channel needs 0 <= zero < one <= 1 to be decodable, got zero={self.zero}, one={self.one}"
            )
