"""The token that a port may want of each request."""

import base64
import binascii
import hmac
from dataclasses import dataclass, field

from aiohttp import web

#: Lets a browser ask for a name and the password.
_BASIC = 'Basic realm="stream-ldp", charset="UTF-8"'


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """The token of a port, which requests bring as `Authorization: Bearer ...`.

    text: None if nothing has to be brought.
    basic: whether it may be the password of Basic authentication as well, with any name. A browser asks its user for
        that by itself, and brings it with every request to the port.
    """

    text: str | None = field(default=None, repr=False)
    basic: bool = False

    def admits(self, request: web.BaseRequest) -> bool:
        """Decide whether a request brings the token."""
        if self.text is None:
            return True
        scheme, _, brought = request.headers.get("Authorization", "").partition(" ")
        if self.basic and scheme.lower() == "basic":
            given = _password(brought.strip())
        else:
            given = brought.strip().encode(errors="surrogateescape") if scheme.lower() == "bearer" else b""
        # In constant time: the time of a comparison must not reveal how much of a guess was right.
        return hmac.compare_digest(given, self.text.encode())

    @property
    def challenges(self) -> tuple[str, ...]:
        """The values of the header `WWW-Authenticate` of an answer to a request without it."""
        return (_BASIC, "Bearer") if self.basic else ("Bearer",)


def _password(brought: str) -> bytes:
    """Return the password of Basic credentials; nothing of what is malformed."""
    try:
        return base64.b64decode(brought, validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return b""
