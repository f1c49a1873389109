"""Tests of the metrics page: it is served whatever a scraper says that it accepts."""

import pytest
from aiohttp.test_utils import make_mocked_request
from prometheus_client import CollectorRegistry, Counter

from stream_ldp.http.exposition import exposition


@pytest.mark.parametrize(
    ("accept", "served"),
    [
        ("", "text/plain"),
        ("text/plain; version=x", "text/plain"),
        ("application/openmetrics-text; version=newest", "text/plain"),
        ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text"),
    ],
)
def test_metrics_have_the_format_that_is_asked_for_or_the_plain_one(accept: str, served: str) -> None:
    registry = CollectorRegistry()
    Counter("asked", "Times.", registry=registry).inc()
    response = exposition(registry, make_mocked_request("GET", "/metrics", headers={"Accept": accept}))
    assert response.headers["Content-Type"].startswith(served)
    assert isinstance(response.body, bytes)
    assert b"asked_total 1.0" in response.body
