"""The tokens, one of which a port may want of each request."""

import base64
import binascii
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Self

from aiohttp import web

#: Lets a browser ask for a name and the password.
_BASIC = 'Basic realm="stream-ldp", charset="UTF-8"'


@dataclass(frozen=True, kw_only=True, slots=True)
class Tokens:
    """The tokens of a port, one of which a request brings as `Authorization: Bearer ...`.

    digests: of the tokens, and empty if nothing has to be brought. The time of a comparison of digests does not
        reveal how much of a guess was right.
    basic: whether one may be the password of Basic authentication as well, with any name. A browser asks its user for
        that by itself, and brings it with every request to the port.
    """

    digests: frozenset[bytes] = field(default=frozenset(), repr=False)
    basic: bool = False

    @classmethod
    def of(cls, *texts: str | None, basic: bool = False) -> Self:
        """Make those of some texts; None is no token."""
        return cls(digests=frozenset(_digest(each) for each in texts if each is not None), basic=basic)

    def brought(self, request: web.BaseRequest) -> str | None:
        """Return the token that a request brings; None if it is none of these."""
        scheme, _, found = request.headers.get("Authorization", "").partition(" ")
        scheme, found = scheme.lower(), found.strip()
        if self.basic and scheme == "basic":
            found = _password(found)
        elif scheme != "bearer":
            return None
        return found if _digest(found) in self.digests else None

    def admits(self, request: web.BaseRequest) -> bool:
        """Decide whether a request brings a token, where one is wanted."""
        return not self.digests or self.brought(request) is not None

    @property
    def challenges(self) -> tuple[str, ...]:
        """The values of the header `WWW-Authenticate` of an answer to a request without it."""
        return (_BASIC, "Bearer") if self.basic else ("Bearer",)


def _digest(text: str) -> bytes:
    # Of a token that is no text, aiohttp keeps the bytes as surrogates.
    return sha256(text.encode(errors="surrogateescape")).digest()


def _password(brought: str) -> str:
    """Return the password of Basic credentials; nothing of what is malformed."""
    try:
        return base64.b64decode(brought, validate=True).partition(b":")[2].decode(errors="surrogateescape")
    except (binascii.Error, ValueError):
        return ""
