"""Proxies that stand before a server, and whom it believes when they say who has asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network

from stream_ldp.http.network import address_of

#: Addresses of a header that are looked at, from its end: more proxies than stand in a row anywhere.
MAX_HOPS = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Proxies:
    """The networks of the proxies that are trusted; none by default."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def of(cls, text: str) -> Proxies:
        """Read networks that are separated by commas.

        >>> Proxies.of("10.0.0.0/8, 2001:db8::7").networks
        (IPv4Network('10.0.0.0/8'), IPv6Network('2001:db8::7/128'))

        Raises:
            ValueError: one of them is no network.
        """
        return cls(networks=tuple(ip_network(name) for each in text.split(",") if (name := each.strip())))

    def trust(self, address: str | None) -> bool:
        """Decide whether an address is that of a trusted proxy."""
        found = address_of(address)
        return found is not None and any(found in network for network in self.networks)

    def client(self, peer: str | None, forwarded: Sequence[str]) -> str | None:
        """Return the address of who asks: the last one that is not that of a trusted proxy.

        Each proxy adds at the end by whom it was asked. What stands before the first that is not trusted was written
        by that one, and is not read. Where a proxy names nobody, the request is its own.

        peer: address at the other end of the connection.
        forwarded: values of the headers X-Forwarded-For.

        >>> Proxies.of("10.0.0.0/8").client("10.0.0.1", ["198.51.100.9, 192.0.2.7, 10.0.0.2"])
        '192.0.2.7'
        >>> Proxies.of("10.0.0.0/8").client("192.0.2.7", ["198.51.100.9"])
        '192.0.2.7'
        """
        if not self.networks:
            return peer
        hops = ",".join(forwarded[-MAX_HOPS:]).rsplit(",", MAX_HOPS)[-MAX_HOPS:]
        while hops and self.trust(peer) and (found := address_of(_without_port(hops.pop()))) is not None:
            peer = str(found)
        return peer


def _without_port(hop: str) -> str:
    """Return an address without the port that some proxies add."""
    hop = hop.strip()
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop
