"""Decide by which names a server may be called.

A page of an attacker has a name of the attacker's, which the attacker may let mean 127.0.0.1 a moment later (DNS
rebinding). Scripts of that page then read whatever a server on the visitor's machine or network answers, unless it
answers to its own names alone. An address is no name, so nobody can let it mean another one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address

_HOST = re.compile(r"(?P<name>\[[^\[\]]*\]|[^:\[\]]*)(:\d*)?")

#: Headers that are remembered, of up to 8 kB: to read one takes longer than all else that is asked of a request.
_REMEMBERED = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class Hosts:
    """The names by which a server may be called: addresses, localhost and some more.

    names: further names, in lower case and without a port; "*" for any name.
    """

    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, text: str) -> Hosts:
        """Read names that are separated by commas.

        >>> sorted(Hosts.of("Reports.example, page.example").names)
        ['page.example', 'reports.example']
        """
        return cls(names=frozenset(name for each in text.split(",") if (name := each.strip().lower())))

    def accept(self, host: str) -> bool:
        """Decide whether a request may have this Host header.

        >>> [Hosts().accept(each) for each in ("127.0.0.1:8443", "[::1]", "localhost:1", "evil.example")]
        [True, True, True, False]
        """
        return _accept(self.names, host)


@lru_cache(maxsize=_REMEMBERED)
def _accept(names: frozenset[str], host: str) -> bool:
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = found["name"].lower().removesuffix(".")
    if name == "localhost" or name in names or "*" in names:
        return True
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
