"""The form in which a request is refused."""

from aiohttp import web

from stream_ldp.errors import StreamLDPError


class Refused(StreamLDPError, ValueError):
    """A request is refused, with a status, a reason for programs and a detail for people."""

    def __init__(self, status: int, reason: str, detail: str, *, retry_after: float | None = None) -> None:
        """Say why.

        retry_after: seconds after which the same request may be taken; None if that is not a matter of time.
        """
        super().__init__(detail)
        self.status = status
        self.reason = reason
        self.headers = {} if retry_after is None else {"Retry-After": str(int(retry_after) + 1)}

    def response(self) -> web.Response:
        """Return the answer to the request."""
        found = {"reason": self.reason, "detail": str(self)}
        return web.json_response(found, status=self.status, headers=self.headers)
