"""This module says which addresses count as one client."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network

__all__ = ["network_of"]

#: Bits of an IPv6 address that a provider gives to one customer, who has the 2^64 addresses behind them.
IPV6_PREFIX = 64


def network_of(address: str | None) -> str:
    """Return what stands for a client: an IPv4 address as it is, the /64 network of an IPv6 address; else "".

    >>> network_of("192.0.2.7"), network_of("2001:db8::7"), network_of("::ffff:192.0.2.7"), network_of(None)
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7', '')
    """
    if not address:
        return ""
    found = ip_address(address.partition("%")[0])
    if not isinstance(found, IPv6Address):
        return str(found)
    return str(found.ipv4_mapped or ip_network((found, IPV6_PREFIX), strict=False))
