"""Bound what strangers hold: connections, bytes, streams."""

from collections import Counter


class Quota:
    """A quota bounds what is taken and not yet given back, in all (`taken`) and of each client."""

    def __init__(self, *, most: int, share: int) -> None:
        """Start with nothing taken.

        most: what all clients may hold together.
        share: what one client may hold.
        """
        self._most = most
        self._share = share
        self.taken = 0
        self._of_client: Counter[str] = Counter()

    def share_is_taken(self, client: str, *, shares: int = 1) -> bool:
        """Decide whether a client holds as much as one may, or as one that stands for several."""
        return self._of_client[client] >= shares * self._share

    def take(self, client: str, amount: int = 1, *, shares: int = 1) -> bool:
        """Take an amount for a client; return False, and take nothing, if that would be too much.

        shares: the number of shares that the client may hold.
        """
        if self._of_client[client] + amount > shares * self._share or self.taken + amount > self._most:
            return False
        self._of_client[client] += amount
        self.taken += amount
        return True

    def give_back(self, client: str, amount: int = 1) -> None:
        """Give back what was taken for a client."""
        self._of_client[client] -= amount
        self.taken -= amount
        if not self._of_client[client]:
            # Clients come and go: each one that was remembered would take memory forever.
            del self._of_client[client]
