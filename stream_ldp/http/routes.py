"""Find what answers a request, by its method and path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from stream_ldp.http.refusal import Refused

#: What stands for a name in the path of a route, and in which part of the path.
_NAME, _PLACE = "{name}", 3

#: What answers a request. It is called with it and, where its route has one, the name in the path.
Handler = Callable[..., Awaitable[web.StreamResponse]]


class Routes:
    """The routes of a server, each found by a look or two into a table."""

    def __init__(self, handlers: Mapping[tuple[str, str], Handler]) -> None:
        """Prepare the table.

        handlers: by method and path, which may have `{name}` as its fourth part. One for GET answers HEAD, too.
        """
        self.known = frozenset(handlers)
        # Two tables, since the name that a client asks for may be {name} itself.
        self._plain: dict[str, dict[str, Handler]] = {}
        self._named: dict[str, dict[str, Handler]] = {}
        for (method, path), handler in handlers.items():
            table = self._named if _NAME in path else self._plain
            table.setdefault(path, {})[method] = handler

    def answer(self, request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        """Return the answer to a request.

        Raises:
            Refused: there is no such path, or it is not there for this method.
        """
        name: list[str] = []
        methods = self._plain.get(request.path)
        if methods is None and len(parts := request.path.split("/")) > _PLACE:
            name, parts[_PLACE] = [parts[_PLACE]], _NAME
            methods = self._named.get("/".join(parts))
        if methods is None:
            raise Refused(404, "not_found", f"{request.method} {request.path}")
        handler = methods.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            raise Refused(405, "method_not_allowed", f"{request.method} {request.path}")
        return handler(request, *name)


def name_of(request: web.BaseRequest) -> str:
    """Return what stands in the path of a request where routes have a name; nothing if it ends before."""
    return "".join(request.path.split("/")[_PLACE : _PLACE + 1])
