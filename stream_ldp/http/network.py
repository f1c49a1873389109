"""Which addresses count as one client."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

#: Bits of an IPv6 address that a provider gives to one customer, who has the 2^64 addresses behind them.
IPV6_PREFIX = 64

#: Texts whose addresses are remembered: to read one takes longer than all else that is asked of it.
_REMEMBERED = 4_096


@lru_cache(maxsize=_REMEMBERED)
def address_of(text: str | None) -> IPv4Address | IPv6Address | None:
    """Read an address, without its zone, and an IPv4 address that is written as one of IPv6 as what it is.

    >>> address_of("::ffff:192.0.2.7"), address_of("unknown")
    (IPv4Address('192.0.2.7'), None)
    """
    try:
        found = ip_address((text or "").partition("%")[0])
    except ValueError:
        return None
    return found if isinstance(found, IPv4Address) else found.ipv4_mapped or found


@lru_cache(maxsize=_REMEMBERED)
def network_of(address: str | None) -> str:
    """Return what stands for a client: an IPv4 address as it is, the /64 network of an IPv6 address; else "".

    >>> network_of("192.0.2.7"), network_of("2001:db8::7"), network_of("::ffff:192.0.2.7"), network_of(None)
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7', '')
    """
    found = address_of(address)
    return (
        "" if found is None else str(ip_network((found, IPV6_PREFIX), strict=False) if found.version == 6 else found)
    )
