"""The metrics of a gateway for Prometheus: base units, bounded labels, and nothing of a client."""

from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics

from stream_ldp.http.incidents import Incident
from stream_ldp.pipeline.rejection import Reason

# As those of a worker do not have: see `stream_ldp.service.metrics`.
disable_created_metrics()  # type: ignore[no-untyped-call]

#: Why a request is refused, beside the reasons why a batch is.
REFUSALS = (
    "unknown_host",
    "unknown_origin",
    "unauthorized",
    "too_many_requests",
    "wrong_content_type",
    "encoded_body",
    "not_supported",
    "slow_body",
    "too_large",
    "busy",
    "brokers_unavailable",
)

#: From a broker beside the gateway to the end of its patience.
_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3, 1.0, 3.0, 10.0)


class GatewayMetrics:
    """The metrics, each an attribute, in a registry of their own; every label value exists from the start."""

    def __init__(self, collections: Iterable[str]) -> None:
        """Create every metric.

        collections: names of the collections that the gateway takes batches for.
        """
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        ours: dict[str, Any] = {"namespace": "stream_ldp_gateway", "registry": self.registry}
        self.batches = Counter("batches", "Batches that the brokers have acknowledged.", ("collection",), **ours)
        self.reports = Counter("reports", "Reports in these batches.", ("collection",), **ours)
        self.refused = Counter("refused", "Requests that were refused, by reason.", ("collection", "reason"), **ours)
        self.incidents = Counter(
            "incidents",
            "Connections and requests that ended without an answer or a refusal, by what went wrong.",
            ("incident",),
            **ours,
        )
        self.open = Gauge("open_requests", "Batches that wait for the brokers.", **ours)
        self.seconds = Histogram(
            "publish_duration_seconds",
            "Time to have the batches that came together acknowledged by the brokers.",
            buckets=_SECONDS,
            **ours,
        )
        for incident in Incident:
            self.incidents.labels(incident)
        for name in collections:
            self.batches.labels(name)
            self.reports.labels(name)
            for reason in (*Reason, *REFUSALS):
                self.refused.labels(name, reason)
