"""Answer Prometheus."""

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder


def exposition(registry: CollectorRegistry, request: web.BaseRequest) -> web.Response:
    """Return the metrics of a registry, in the format that a request accepts."""
    try:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    except (TypeError, ValueError):
        # It asks for a version that is no number.
        encode, content_type = choose_encoder("")
    return web.Response(body=encode(registry), headers={"Content-Type": content_type})
