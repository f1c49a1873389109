"""The time that provisional answers may take."""

from __future__ import annotations


class Allowance:
    """An allowance of time, which grows by a share of the time that passes, up to a limit, and is spent.

    More may be spent than there is, since how long something takes is known when it is over; what was spent too much
    has to grow back. So all that is spent is within the share of the time, but for one limit and one excess. Times
    are seconds of one clock that never goes back.
    """

    def __init__(self, *, share: float, period_s: float, now: float) -> None:
        """Begin with the limit, which is what grows in one period.

        share: share of the time, in (0, 1].
        period_s: length of a period, in seconds.
        """
        self._share = share
        self._limit_s = share * period_s
        self._left_s = self._limit_s
        self._since = now

    def left_s(self, *, now: float) -> float:
        """Return what is left, in seconds; at most 0 if all of it is spent."""
        return min(self._limit_s, self._left_s + self._share * (now - self._since))

    def spend(self, seconds: float, *, now: float) -> None:
        """Note that so much has been spent."""
        self._left_s, self._since = self.left_s(now=now) - seconds, now
