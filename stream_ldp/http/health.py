"""Answer probes."""

from collections.abc import Sequence

from aiohttp import web


def health(problems: Sequence[str], *, shown: bool = True) -> web.Response:
    """Return the state of a server: status 200 without problems, and 503 with some.

    shown: whether the answer names the problems.
    """
    return web.json_response({"problems": list(problems)} if shown else {}, status=503 if problems else 200)
