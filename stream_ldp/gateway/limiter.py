"""Limit how much each client may send, with time as an argument."""

from collections import OrderedDict
from dataclasses import dataclass

#: Clients that are remembered, 200 bytes each. The longest silent is forgotten first, whose allowance is full again.
CLIENTS = 100_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Limiter:
    """A limiter gives each client an allowance that fills again at an even rate (a token bucket)."""

    def __init__(self, *, rate: float, burst: float, clients: int = CLIENTS) -> None:
        """Start with full allowances.

        rate: requests per second that a client may make permanently.
        burst: requests that it may make at once after a silence; at least 1.
        clients: number of clients that are remembered.
        """
        self._rate = rate
        self._burst = max(1.0, burst)
        self._clients = clients
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait(self, client: str, *, now: float) -> float:
        """Take one request of a client, and return 0; or return the seconds after which to try again.

        now: seconds of a clock that is never set back.
        """
        bucket = self._buckets.pop(client, None) or _Bucket(self._burst, now)
        self._buckets[client] = bucket
        if len(self._buckets) > self._clients:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.at) * self._rate)
        bucket.at = now
        if bucket.tokens < 1:
            return (1 - bucket.tokens) / self._rate
        bucket.tokens -= 1
        return 0.0
