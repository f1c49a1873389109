"""The metrics of a worker for Prometheus: base units, bounded labels, and no value of a user."""

import itertools
import platform
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
)

from stream_ldp.kinds import KINDS
from stream_ldp.pipeline.rejection import Reason

# The time at which each series was created would nearly double their number, and nobody asks for it.
disable_created_metrics()  # type: ignore[no-untyped-call]

#: First part of the name of every metric.
_NAMESPACE = "stream_ldp"

#: A marginal of two values takes a millisecond, 2^17 cells a minute.
_SOLVE_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
#: A warm start takes a few, a cold one hundreds.
_ITERATIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
#: Values of the label `kind`: a window's answer, by whether it can still change.
_FINALITIES = ("final", "provisional")
#: What answers that are iterated to may have been started from, of every kind.
_STARTS = tuple(dict.fromkeys(start for kind in KINDS.values() for start in kind.vocabulary.get("Fit.start", ())))
#: At best the grace and a flush; after an outage, hours.
_DELAY_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 300.0, 1800.0, 7200.0)
#: At 46,000 partials a second: from an empty log to one that was not compacted.
_REBUILD_SECONDS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


class _Creator:
    """It creates metrics in a registry, with every label value that is known from the start.

    They exist from the start, at zero: a rate over a counter that appears with its first event misses that event.
    Partitions are the exception: they come and go with their owner.
    """

    def __init__(self, collections: Iterable[str], registry: CollectorRegistry) -> None:
        self._collections = list(collections)
        self._registry = registry
        # What begins the metrics of a collection.
        self._begin: list[Callable[[str], object]] = []

    def know(self, collection: str) -> None:
        """Let the metrics of one more collection begin at zero."""
        self._collections.append(collection)
        for begin in self._begin:
            begin(collection)

    def _of_each(self, begin: Callable[[str], object]) -> None:
        self._begin.append(begin)
        for collection in self._collections:
            begin(collection)

    def counter(self, name: str, help_: str, **values: Iterable[str]) -> Counter:
        """Create a counter of each collection, and of each of the values of one further label if there is one."""
        counter = Counter(name, help_, ("collection", *values), namespace=_NAMESPACE, registry=self._registry)
        self._of_each(
            lambda collection: [counter.labels(collection, *known) for known in itertools.product(*values.values())]
        )
        return counter

    def gauge(self, name: str, help_: str, *labels: str) -> Gauge:
        """Create a gauge of collections, and of further labels, which appears when it is set."""
        return self.gauge_of(("collection", *labels), name, help_)

    def gauge_of(self, labels: Sequence[str], name: str, help_: str) -> Gauge:
        """Create a gauge of these labels alone, which appears when it is set; with none, it is there at once."""
        return Gauge(name, help_, labels, namespace=_NAMESPACE, registry=self._registry)

    def gauge_from_zero(self, name: str, help_: str) -> Gauge:
        """Create a gauge of each collection."""
        gauge = self.gauge(name, help_)
        self._of_each(gauge.labels)
        return gauge

    def gauge_by_finality(self, name: str, help_: str) -> Gauge:
        """Create a gauge of final answers and one of provisional ones, distinguished by the label `kind`."""
        gauge = self.gauge_of(("kind",), name, help_)
        for finality in _FINALITIES:
            gauge.labels(finality)
        return gauge

    def histogram(self, name: str, help_: str, buckets: Sequence[float]) -> Histogram:
        """Create a histogram of each collection."""
        histogram = Histogram(
            name, help_, ("collection",), namespace=_NAMESPACE, registry=self._registry, buckets=buckets
        )
        self._of_each(histogram.labels)
        return histogram


class IngestMetrics:
    """The metrics of what is counted of the reports topics."""

    def __init__(self, create: _Creator) -> None:
        self.reports_counted = create.counter("reports_counted", "Reports counted in their window.")
        self.reports_late = create.counter("reports_late", "Reports whose window had closed; not counted.")
        self.reports_duplicate = create.counter(
            "reports_duplicate", "Reports of batches that were counted before; not counted again."
        )
        self.batches_rejected = create.counter(
            "batches_rejected", "Batches sent to the dead-letter topic, by reason.", reason=Reason
        )
        self.batches_implausible = create.counter(
            "batches_implausible",
            "Batches with more or fewer set bits than honest reports have; counted all the same.",
        )
        self.flushes_flooded = create.counter(
            "flushes_flooded",
            "Flushes before their time, since more dead letters waited than `max_dead_letter_bytes`.",
        )
        self.offsets_lost = create.counter(
            "offsets_lost", "Records of a reports topic that retention deleted before they were counted."
        )
        self.consumer_lag = create.gauge_of(
            ("topic", "partition"), "consumer_lag_records", "Records of a reports topic that are still to be read."
        )
        self.watermark = create.gauge(
            "watermark_timestamp_seconds", "Event time up to which a partition is complete.", "partition"
        )
        self.panes_open = create.gauge_from_zero("panes_open", "Stretches of event time that still take reports.")
        self.last_commit = create.gauge("last_commit_timestamp_seconds", "Time of the last commit of offsets.")
        self.rebalances = create.counter("rebalances", "Number of times that the group assigned its partitions.")
        self.partials_published = create.counter("partials_published", "Partial counts written and acknowledged.")


class MergeMetrics:
    """The metrics of the windows that are merged, and of what is published of them."""

    def __init__(self, create: _Creator) -> None:
        self.records_holding = create.gauge_from_zero(
            "records_holding", "Records that cannot be read and hold the final answers of the collection back."
        )
        self.windows_unsolved = create.gauge_from_zero(
            "windows_unsolved", "Windows whose answer cannot be computed, which hold the collection's finals back."
        )
        self.windows_implausible = create.counter(
            "windows_implausible", "Final estimates whose reports fail the plausibility test."
        )
        self.windows_withheld = create.counter(
            "windows_withheld",
            "Windows without a published final, since they have fewer users than `min_reports`; the last ones before "
            "a rebalance or a restart count again.",
        )
        self.windows_silent = create.counter(
            "windows_silent",
            "Messages that nobody reported in a window or in several in a row; an epoch with one has no result.",
        )
        self.epochs_without_result = create.counter(
            "epochs_without_result", "Epochs that ended without a result, for want of reports to one of their phases."
        )
        self.last_final = create.gauge(
            "last_final_timestamp_seconds", "Time of the last final answer that this worker has published."
        )
        self.window_plausibility = create.gauge(
            "window_plausibility_statistic",
            "Test statistic of the last final estimate's reports against the mechanism.",
            "estimate",
        )
        self.region_lag = create.gauge(
            "region_lag_seconds",
            "Event time by which a region is behind the furthest one; absent for one that has never reported.",
            "region",
        )
        self.region_cut_off = create.gauge(
            "region_cut_off", "1 while windows go on without a region, until it is heard of again.", "region"
        )
        self.region_reports_late = create.counter(
            "region_reports_late",
            "Reports of a region that came after their window had gone on without it, in each statistic of them; "
            "after a restart, those of the same windows that had come before count, too.",
            region=(),
        )
        self.rebuild_duration = create.histogram(
            "rebuild_duration_seconds", "Time to read the windows' state back from the log.", _REBUILD_SECONDS
        )
        self.window_close_delay = create.histogram(
            "window_close_delay_seconds", "Time from a window's end to its final estimate.", _DELAY_SECONDS
        )
        self.estimates_published = create.counter(
            "estimates_published", "Estimates and rankings written and acknowledged.", kind=_FINALITIES
        )
        self.estimates_certified = create.counter(
            "estimates_certified",
            "Solved estimates, by whether the certificate is within tolerance.",
            certified=("true", "false"),
        )
        self.em_starts = create.counter(
            "em_starts", "Solved estimates, by what they were started from.", start=_STARTS
        )
        self.em_iterations = create.histogram("em_iterations", "EM evaluations of one estimate.", _ITERATIONS)
        self.provisionals_skipped = create.counter(
            "provisionals_skipped", "Provisional answers left out, since those of their series take too long."
        )
        self.synthetic_records_published = create.counter(
            "synthetic_records_published",
            "Synthetic records published with finals; those of the last window again after every start.",
        )
        self.rounds_published = create.counter(
            "rounds_published", "Rounds published for clients to report on; published again after every start."
        )


class SolveMetrics:
    """The metrics of the solver: what waits for its turn, what runs, and how long that takes."""

    def __init__(self, create: _Creator) -> None:
        self.solve_duration = create.histogram(
            "solve_duration_seconds",
            "Time to solve one estimate or ranking, without the wait for its turn.",
            _SOLVE_SECONDS,
        )
        self.solve_wait = create.histogram(
            "solve_wait_seconds", "Time that an estimate or ranking waits for its turn to be solved.", _SOLVE_SECONDS
        )
        self.solve_failures = create.counter(
            "solve_failures",
            "Answers, and other results of windows, that could not be computed, by the exception.",
            error=(),
        )
        self.solves_queued = create.gauge_by_finality("solves_queued", "Solves that wait for their turn.")
        self.solves_running = create.gauge_by_finality("solves_running", "Solves that run.")


class Metrics:
    """The metrics of a worker, each an attribute of its part, in a registry that nothing else shares.

    ingest, merge, solve: the metrics of the parts.
    records_passed_over: of the topics that workers write; ingest reads one of them, the merge the others.
    broker_connected, collection_waiting: of the whole worker.
    """

    def __init__(self, collections: Iterable[str], *, registry: CollectorRegistry | None = None) -> None:
        """Create every metric.

        collections: names of the collections that the worker serves.
        """
        self.registry = registry if registry is not None else CollectorRegistry()
        self._collections = dict.fromkeys(collections)
        ProcessCollector(registry=self.registry)
        build = Info("build", "Release.", namespace=_NAMESPACE, registry=self.registry)
        build.info({"version": version("stream-ldp"), "python": platform.python_version()})
        self._create = create = _Creator(self._collections, self.registry)
        self.broker_connected = create.gauge_of(
            (), "broker_connected", "1 while a broker answers, 0 while none does."
        )
        self.collection_waiting = create.gauge(
            "collection_waiting", "1 while a registered collection is not served, since it is paused or has failed."
        )
        self.records_passed_over = create.counter(
            "records_passed_over",
            "Records of a topic of workers that could not be read.",
            topic=("partials", "answers", "rounds"),
        )
        self.ingest = IngestMetrics(create)
        self.merge = MergeMetrics(create)
        self.solve = SolveMetrics(create)

    def know(self, collection: str) -> None:
        """Begin the metrics of a collection, if they have not begun."""
        if collection not in self._collections:
            self._collections[collection] = None
            self._create.know(collection)

    def forget_owned(self) -> None:
        """Show of partitions and windows, which peers may own by now, what a worker shows that owns none."""
        ingest, merge = self.ingest, self.merge
        owned = (ingest.consumer_lag, ingest.watermark, merge.last_final, merge.window_plausibility)
        for gauge in (*owned, merge.region_lag, merge.region_cut_off):
            gauge.clear()
        for gauge, name in itertools.product(
            (ingest.panes_open, merge.records_holding, merge.windows_unsolved), self._collections
        ):
            gauge.labels(name).set(0)
