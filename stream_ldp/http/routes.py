"""Find what answers a request, by its method and path."""

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
        self._plain = {route: handler for route, handler in handlers.items() if _NAME not in route[1]}
        self._named = {route: handler for route, handler in handlers.items() if _NAME in route[1]}

    def answer(self, request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        """Return the answer to a request.

        Raises:
            Refused: there is no such path, or it is not there for this method.
        """
        method, path = "GET" if request.method == "HEAD" else request.method, request.path
        name: list[str] = []
        handler = self._plain.get((method, path))
        if handler is None and len(parts := path.split("/")) > _PLACE:
            name, parts[_PLACE] = [parts[_PLACE]], _NAME
            path = "/".join(parts)
            handler = self._named.get((method, path))
        if handler is not None:
            return handler(request, *name)
        there = any(each in (path, request.path) for _, each in self.known)
        status, reason = (405, "method_not_allowed") if there else (404, "not_found")
        raise Refused(status, reason, f"{request.method} {request.path}")


def name_of(request: web.BaseRequest) -> str:
    """Return what stands in the path of a request where routes have a name; nothing if it ends before."""
    return "".join(request.path.split("/")[_PLACE : _PLACE + 1])
