"""Tests of the gateway's metrics."""

from __future__ import annotations

from stream_ldp.gateway.metrics import REFUSALS, GatewayMetrics
from stream_ldp.pipeline.rejection import Reason


def test_every_reason_exists_from_the_start_at_zero() -> None:
    metrics = GatewayMetrics(["care", "films"])
    found = {
        (sample.labels["collection"], sample.labels["reason"]): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "stream_ldp_gateway_refused_total"
    }
    assert found == {(name, reason): 0 for name in ("care", "films") for reason in (*Reason, *REFUSALS)}
