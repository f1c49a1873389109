"""The origins of web pages, in the one form in which they can be compared."""

import re

from yarl import URL

#: A host as a browser writes it. With anything else, such as a wildcard, an origin would never be met.
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|[0-9a-f:.]+")


def origin_of(text: str) -> str | None:
    """Write an origin as browsers do: in lower case, IDNA, without the scheme's own port; None if it is none.

    >>> origin_of("HTTPS://B\u00fccher.example:443/"), origin_of("page.example")
    ('https://xn--bcher-kva.example', None)
    """
    try:
        found = URL(text.strip())
        host, port = found.raw_host, found.port
    except ValueError:
        return None
    if not found.scheme or not host or not _HOST.fullmatch(host) or found.raw_authority.count("@"):
        return None
    if found.raw_path not in ("", "/") or re.search(r"[?#\s]", text.strip()):
        return None
    shown = f"[{host}]" if ":" in host else host
    return f"{found.scheme}://{shown}" + ("" if found.is_default_port() or port is None else f":{port}")
