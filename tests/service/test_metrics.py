"""Tests of the metrics: their names follow Prometheus' rules, and every series exists before its first event."""

import re

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from stream_ldp.pipeline.rejection import Reason
from stream_ldp.service.metrics import Metrics


@pytest.fixture
def metrics() -> Metrics:
    return Metrics({"care": 4, "films": 1})


def _families(metrics: Metrics) -> list[Metric]:
    text = generate_latest(metrics.registry).decode()
    return list(text_string_to_metric_families(text))


def test_names_follow_the_conventions_of_prometheus(metrics: Metrics) -> None:
    metrics.ingest.consumer_lag.labels("care.reports", "0").set(1)
    metrics.ingest.watermark.labels("care", "0").set(1)
    for family in _families(metrics):
        assert re.fullmatch(r"(stream_ldp|process)_[a-z][a-z_]*[a-z]", family.name), family.name
        assert family.documentation.endswith("."), f"{family.name} has no help, or no sentence"
        assert not re.search(r"(^|_)(ms|millis|milliseconds|minutes|kb|count|total)(_|$)", family.name), family.name
        if family.type == "histogram" and family.name != "stream_ldp_em_iterations":
            assert family.name.endswith("_seconds")
        for sample in family.samples:
            if family.type == "counter":
                assert sample.name == f"{family.name}_total"
            assert set(sample.labels) <= {
                *("collection", "topic", "partition", "reason", "kind", "certified", "start", "le"),
                *("version", "python"),
            }, f"{sample.name} has a label that is not known to be bounded"


def test_no_series_tells_when_another_was_created(metrics: Metrics) -> None:
    assert "_created" not in generate_latest(metrics.registry).decode()
    assert "_created" not in openmetrics.generate_latest(metrics.registry).decode()  # type: ignore[no-untyped-call]


def test_every_counter_of_every_collection_is_there_before_its_first_event(metrics: Metrics) -> None:
    series = {
        (sample.name, sample.labels["collection"])
        for family in _families(metrics)
        if family.type in {"counter", "histogram"}
        for sample in family.samples
        if "collection" in sample.labels
    }
    names = {name for name, _ in series}
    assert len([name for name in names if name.endswith("_total")]) == 20
    assert series == {(name, collection) for name in names for collection in ("care", "films")}


def test_a_collection_that_comes_later_has_the_same_series_as_one_that_was_there() -> None:
    def shown(metrics: Metrics) -> set[tuple[str, tuple[tuple[str, str], ...]]]:
        return {(each.name, tuple(each.labels.items())) for family in _families(metrics) for each in family.samples}

    later = Metrics(["care"])
    later.know("films")
    later.ingest.reports_counted.labels("films").inc(5)
    later.know("films")
    assert shown(later) == shown(Metrics(["care", "films"]))
    assert later.registry.get_sample_value("stream_ldp_reports_counted_total", {"collection": "films"}) == 5.0


def test_every_reason_to_reject_has_its_series_at_zero(metrics: Metrics) -> None:
    for reason in Reason:
        labels = {"collection": "care", "reason": reason.value}
        assert metrics.registry.get_sample_value("stream_ldp_batches_rejected_total", labels) == 0.0


def test_a_partition_that_is_not_owned_has_no_watermark(metrics: Metrics) -> None:
    assert not next(family.samples for family in _families(metrics) if "watermark" in family.name)


def test_two_workers_in_one_process_have_separate_metrics() -> None:
    first, second = Metrics(["care"]), Metrics(["care"])
    first.ingest.reports_counted.labels("care").inc(5)
    value = second.registry.get_sample_value("stream_ldp_reports_counted_total", {"collection": "care"})
    assert value == 0.0


def test_a_registry_given_by_the_caller_is_used() -> None:
    registry = CollectorRegistry()
    assert Metrics([], registry=registry).registry is registry
    assert b"stream_ldp_build_info{" in generate_latest(registry)


def test_a_worker_that_owns_nothing_shows_nothing_of_partitions_and_windows(metrics: Metrics) -> None:
    before = generate_latest(metrics.registry)
    metrics.ingest.consumer_lag.labels("care.reports", "0").set(1)
    metrics.ingest.watermark.labels("care", "0").set(1)
    metrics.merge.last_final.labels("care").set(1)
    metrics.merge.window_plausibility.labels("care", "both").set(1)
    for gauge in (metrics.ingest.panes_open, metrics.merge.records_holding, metrics.merge.windows_unsolved):
        gauge.labels("care").set(1)

    def shown(text: bytes) -> list[str]:
        return [line for line in text.decode().splitlines() if not line.startswith("process_")]

    assert shown(generate_latest(metrics.registry)) != shown(before)
    metrics.forget_owned()
    assert shown(generate_latest(metrics.registry)) == shown(before)
