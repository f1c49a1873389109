"""This module has the metrics of a worker for Prometheus: base units, bounded labels, and no value of a user."""

from __future__ import annotations

import itertools
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
)

from stream_ldp.pipeline.rejection import Reason
from stream_ldp.records.estimators import Start

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Metrics"]

# The time at which each series was created would nearly double their number, and nobody asks for it.
disable_created_metrics()  # type: ignore[no-untyped-call]

#: A marginal of two values takes a millisecond, 2^17 cells a minute.
_SOLVE_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
#: A warm start takes a few, a cold one hundreds.
_ITERATIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
#: A window's answer, by whether it can still change.
_KINDS = ("final", "provisional")
#: At best the grace and a flush; after an outage, hours.
_DELAY_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 300.0, 1800.0, 7200.0)
#: At 46,000 partials a second: from an empty log to one that was not compacted.
_REBUILD_SECONDS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


class Metrics:
    """The metrics, each an attribute, in a registry that nothing else shares.

    Every label value that is known from the start exists from the start, at zero: a rate over a counter that appears
    with its first event misses that event. Partitions are the exception: they come and go with their owner.
    """

    def __init__(self, collections: Iterable[str], *, registry: CollectorRegistry | None = None) -> None:
        """Create every metric.

        collections: names of the collections that the worker serves.
        """
        self.registry = registry if registry is not None else CollectorRegistry()
        self._collections = tuple(collections)
        ProcessCollector(registry=self.registry)
        build = Info("build", "Release.", namespace="stream_ldp", registry=self.registry)
        build.info({"version": version("stream-ldp"), "python": platform.python_version()})

        self.broker_connected = Gauge(
            "broker_connected",
            "1 while a broker answers, 0 while none does.",
            namespace="stream_ldp",
            registry=self.registry,
        )
        self.reports_counted = self._counter("reports_counted", "Reports counted in their window.")
        self.reports_late = self._counter("reports_late", "Reports whose window had closed; not counted.")
        self.reports_duplicate = self._counter(
            "reports_duplicate", "Reports of batches that were counted before; not counted again."
        )
        self.batches_rejected = self._counter(
            "batches_rejected", "Batches sent to the dead-letter topic, by reason.", reason=Reason
        )
        self.flushes_flooded = self._counter(
            "flushes_flooded",
            "Flushes before their time, since more dead letters waited than `max_dead_letter_bytes`.",
        )
        self.records_passed_over = self._counter(
            "records_passed_over",
            "Records of a topic of workers that could not be read.",
            topic=("partials", "answers", "rounds"),
        )
        self.records_holding = self._gauge_from_zero(
            "records_holding", "Records that cannot be read and hold the final answers of the collection back."
        )
        self.offsets_lost = self._counter(
            "offsets_lost", "Records of a reports topic that retention deleted before they were counted."
        )
        self.batches_implausible = self._counter(
            "batches_implausible",
            "Batches with more or fewer set bits than honest reports have; counted all the same.",
        )
        self.windows_implausible = self._counter(
            "windows_implausible", "Final estimates whose reports do not look as the mechanism makes them."
        )
        self.windows_withheld = self._counter(
            "windows_withheld", "Windows of fewer users than `min_reports`, of which no final was published."
        )
        self.windows_silent = self._counter(
            "windows_silent",
            "Messages that nobody reported in a window or in several in a row; an epoch with one has no result.",
        )
        self.epochs_without_result = self._counter(
            "epochs_without_result", "Epochs that ended without a result, for want of reports to one of their phases."
        )
        self.last_final = self._gauge(
            "last_final_timestamp_seconds", "Time of the last final answer that this worker has published."
        )
        self.window_plausibility = self._gauge(
            "window_plausibility_statistic",
            "Test statistic of the last final estimate's reports against the mechanism.",
            "estimate",
        )
        self.consumer_lag = Gauge(
            "consumer_lag_records",
            "Records of a reports topic that are still to be read.",
            ("topic", "partition"),
            namespace="stream_ldp",
            registry=self.registry,
        )
        self.watermark = self._gauge(
            "watermark_timestamp_seconds", "Event time up to which a partition is complete.", "partition"
        )
        self.panes_open = self._gauge_from_zero("panes_open", "Stretches of event time that still take reports.")
        self.last_commit = self._gauge("last_commit_timestamp_seconds", "Time of the last commit of offsets.")
        self.rebalances = self._counter("rebalances", "Number of times that the group assigned its partitions.")
        self.partials_published = self._counter("partials_published", "Partial counts written and acknowledged.")
        self.rebuild_duration = self._histogram(
            "rebuild_duration_seconds", "Time to read the windows' state back from the log.", _REBUILD_SECONDS
        )
        self.window_close_delay = self._histogram(
            "window_close_delay_seconds", "Time from a window's end to its final estimate.", _DELAY_SECONDS
        )
        self.estimates_published = self._counter(
            "estimates_published", "Estimates and rankings written and acknowledged.", kind=_KINDS
        )
        self.estimates_certified = self._counter(
            "estimates_certified",
            "Solved estimates, by whether the certificate is within tolerance.",
            certified=("true", "false"),
        )
        self.em_starts = self._counter("em_starts", "Solved estimates, by what they were started from.", start=Start)
        self.solve_duration = self._histogram(
            "solve_duration_seconds",
            "Time to solve one estimate or ranking, without the wait for its turn.",
            _SOLVE_SECONDS,
        )
        self.solve_wait = self._histogram(
            "solve_wait_seconds", "Time that an estimate or ranking waits for its turn to be solved.", _SOLVE_SECONDS
        )
        self.solves_queued = self._by_kind("solves_queued", "Solves that wait for their turn.")
        self.solves_running = self._by_kind("solves_running", "Solves that run.")
        self.provisionals_skipped = self._counter(
            "provisionals_skipped", "Provisional answers left out, since those of their series take too long."
        )
        self.synthetic_records_published = self._counter(
            "synthetic_records_published",
            "Synthetic records published with finals; those of the last window again after every start.",
        )
        self.rounds_published = self._counter(
            "rounds_published", "Rounds published for clients to report on; published again after every start."
        )
        self.em_iterations = self._histogram("em_iterations", "EM evaluations of one estimate.", _ITERATIONS)

    def _counter(self, name: str, help_: str, **values: Iterable[str]) -> Counter:
        """Create a counter of each collection, and of each of the values of one further label if there is one."""
        counter = Counter(name, help_, ("collection", *values), namespace="stream_ldp", registry=self.registry)
        for known in itertools.product(self._collections, *values.values()):
            counter.labels(*known)
        return counter

    def _gauge(self, name: str, help_: str, *labels: str) -> Gauge:
        return Gauge(name, help_, ("collection", *labels), namespace="stream_ldp", registry=self.registry)

    def _gauge_from_zero(self, name: str, help_: str) -> Gauge:
        gauge = self._gauge(name, help_)
        for collection in self._collections:
            gauge.labels(collection)
        return gauge

    def _by_kind(self, name: str, help_: str) -> Gauge:
        gauge = Gauge(name, help_, ("kind",), namespace="stream_ldp", registry=self.registry)
        for kind in _KINDS:
            gauge.labels(kind)
        return gauge

    def _histogram(self, name: str, help_: str, buckets: Sequence[float]) -> Histogram:
        histogram = Histogram(
            name, help_, ("collection",), namespace="stream_ldp", registry=self.registry, buckets=buckets
        )
        for collection in self._collections:
            histogram.labels(collection)
        return histogram
