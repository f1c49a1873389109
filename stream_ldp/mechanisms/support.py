"""The support of values by reports: all of a mechanism that an estimator needs for one attribute."""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True, slots=True)
class Support:
    """The probabilities with which a report supports the values of one attribute.

    A report supports some of the values: those whose bits are set in a one-hot code, or the single one that it names.
    The estimate of a frequency needs the two probabilities (a pure protocol; Wang, Blocki, Li and Jha, 2017, section
    3). The likelihood of a joint distribution needs the ratio alone: all values that a report supports are equally
    likely to have made it, and every other one is less likely by the same factor.

    one: P(a report supports the user's value), q* in Chu, Long and Liu (2022), eq. 8.
    zero: P(it supports another value), p* in eq. 9.
    ratio: likelihood of a value that is not supported over that of one that is, in [0, 1).

    Raises:
        ValueError: zero is not below one, or the ratio is out of its range.
    """

    one: float
    zero: float
    ratio: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.zero < self.one <= 1.0:
            raise ValueError(
                f"a channel needs 0 <= zero < one <= 1 to be decodable, got zero={self.zero}, one={self.one}"
            )
        if not 0.0 <= self.ratio < 1.0:
            raise ValueError(f"a value that is not supported is the less likely one, got ratio={self.ratio}")

    @property
    def leverage(self) -> float:
        """The most by which what one report adds to a frequency differs from what an honest one adds on average.

        The estimate is the mean of (T - zero) / (one - zero), with T = 1 for a report that supports the value. A
        crafted report adds (1 - zero) / (one - zero) where nobody has the value, or takes one / (one - zero) away
        where all have it.
        """
        return leverage(self.one, self.zero)

    @classmethod
    def of_bits(cls, *, one: float, zero: float) -> Self:
        """Return the support by independent bits, one for each value.

        The ratio is 1 / rho, rho = one (1 - zero) / (zero (1 - one)) the posterior odds of Chu, Long and Liu (2022),
        Algorithm 2, lines 14-20.
        """
        return cls(one=one, zero=zero, ratio=zero * (1.0 - one) / (one * (1.0 - zero)) if one > 0.0 else 1.0)

    @classmethod
    def of_one_value(cls, *, one: float, zero: float) -> Self:
        """Return the support by reports that name a single value."""
        return cls(one=one, zero=zero, ratio=zero / one if one > 0.0 else 1.0)


def leverage(one: float, zero: float) -> float:
    """Return the leverage of a report that supports its value with probability `one`, and others with `zero`."""
    return max(1.0 - zero, one) / (one - zero)
