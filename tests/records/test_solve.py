"""Tests of solving: reports of every mechanism become an estimate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml

from stream_ldp.kinds import kind_of, parse_collection
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.mechanisms.shuffling import shuffled_epsilon
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.question import Question
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.pipeline.statistics import ReportSums, RowCounts
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.series import EstimateSpec
from stream_ldp.records.solve import solve

MECHANISMS = ["{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}", "{kind: rr-ldp, f: 0.25}", "{kind: k-rr, epsilon: 2}"]

MINUTE_MS = 60_000


def collection_with(mechanism: str) -> JointCollection:
    collection = parse_collection(
        f"""
        collection: care-survey
        mechanism: {mechanism}
        attributes:
          - {{name: bathing, values: [no, yes]}}
          - {{name: dressing, values: [no, yes]}}
          - {{name: mobility, values: [none, some, full]}}
        window: {{size: 60s, grace: 5s}}
        estimates:
          - {{name: all, of: [mobility, bathing]}}
        """
    )
    assert isinstance(collection, JointCollection)
    return collection


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_reports_become_the_final_estimate_of_their_window(mechanism: str) -> None:
    """100,000 records of a known joint: every cell within five of its stated errors, but for one seed in 10^5."""
    collection = collection_with(mechanism)
    truth = np.array([[0.4, 0.1], [0.1, 0.15], [0.05, 0.2]])  # of mobility and bathing
    cells = np.random.default_rng(1).choice(6, size=100_000, p=truth.ravel())
    mobility, bathing = np.unravel_index(cells, truth.shape)
    records = np.stack([bathing, np.zeros_like(bathing), mobility], axis=1)
    rows = collection.mechanism.perturb(records, entropy=SeededEntropy(2))

    layout = kind_of(collection).layout(collection)
    state, merge = SourcePartition(collection, layout, partition=0), Merge(collection, partitions=1)
    batches = [
        wire.encode(wire.Batch(fingerprint=collection.fingerprint, batch_id=bytes([n]) * 16, time_ms=time, rows=part))
        for n, (time, part) in enumerate([(0, rows[:50_000]), (10, rows[50_000:]), (2 * MINUTE_MS, rows[:1])])
    ]
    counted = state.count(range(3), [0, 10, 2 * MINUTE_MS], batches)
    assert (counted.reports, counted.rejected, counted.implausible) == (100_001, [], 0)
    for _ in range(2):  # the first flush claims the partition
        changes = state.take_changes()
        assert changes is not None
        for partial in changes.partials:
            merge.apply(partial)
        if changes.watermark is not None:
            merge.apply(changes.watermark)
    question = merge.due()
    assert question is not None
    assert question.window_ms == 0

    estimate = kind_of(collection).solve(collection, question)
    assert isinstance(estimate, Estimate)
    assert [axis.attribute for axis in estimate.axes] == ["mobility", "bathing"]
    assert estimate.fit.certified
    # Nothing in the reports of k-RR can be tested.
    assert (estimate.plausibility is None) == ("k-rr" in mechanism)
    assert estimate.plausibility is None or not estimate.plausibility.flagged
    assert estimate.reports == 100_000
    assert estimate.privacy.for_ever == collection.mechanism.epsilon(reports=float("inf"))
    share = np.bincount(cells, minlength=6).reshape(truth.shape) / len(cells)
    assert np.all(np.abs(estimate.joint() - share) < 5 * estimate.standard_errors())


def test_sums_of_reports_are_refused_and_not_left_out() -> None:
    collection = collection_with(MECHANISMS[0])
    sums = ReportSums(reports=1, values=np.zeros(1, dtype=np.int64))
    question: Question[EstimateSpec, Estimate] = Question(
        series=collection.estimates[0], window_ms=0, final=True, windows=((1.0, (sums,)),), before=None
    )
    with pytest.raises(TypeError, match="answered from RowCounts"):
        solve(collection, question)


def _window(minute: int, before: Estimate | None, *, seed: int) -> Question[EstimateSpec, Estimate]:
    """Ask about one minute of 5,000 users, whose joint is the same in every minute."""
    collection = collection_with(MECHANISMS[0])
    cells = np.random.default_rng(seed).choice(6, size=5_000, p=[0.4, 0.1, 0.1, 0.15, 0.05, 0.2])
    mobility, bathing = np.unravel_index(cells, (3, 2))
    records = np.stack([bathing, np.zeros_like(bathing), mobility], axis=1)
    rows = collection.mechanism.perturb(records, entropy=SeededEntropy(seed))
    bits = np.unpackbits(rows, axis=1, bitorder="little")[:, list(collection.bits_of(("mobility", "bathing")))]
    counts = RowCounts.of(np.packbits(bits, axis=1, bitorder="little"), bits=bits.shape[1])
    return Question(
        series=collection.estimates[0],
        window_ms=minute * MINUTE_MS,
        final=True,
        windows=((1.0, (counts,)),),
        before=before,
    )


def test_a_final_that_is_read_back_from_the_log_is_followed_by_the_same_one() -> None:
    collection = collection_with(MECHANISMS[0])
    first = solve(collection, _window(0, None, seed=1))
    second = solve(collection, _window(1, first, seed=2))
    assert second.temporal is not None
    assert second.temporal.users > 0
    assert second.fit.prior_centre == "previous"
    assert second.fit.prior_users == second.temporal.users
    read_back = Estimate.from_bytes(first.to_bytes())
    assert solve(collection, _window(1, read_back, seed=2)).to_bytes() == second.to_bytes()


def test_what_a_final_leaves_takes_few_bytes() -> None:
    """At six digits each, the estimates with the most cells stay within a record."""
    temporal = solve(collection_with(MECHANISMS[0]), _window(0, None, seed=1)).temporal
    assert temporal is not None
    assert temporal.filter is not None
    numbers = np.array([temporal.filter.variances, temporal.filter.permanent]).ravel().tolist()
    assert len(numbers) == 12
    assert max(len(repr(number)) for number in numbers) <= 12


def test_a_final_of_an_earlier_release_leaves_nothing_but_a_start() -> None:
    collection = collection_with(MECHANISMS[0])
    first = solve(collection, _window(0, None, seed=1)).model_copy(update={"temporal": None})
    second = solve(collection, _window(1, first, seed=2))
    assert second.temporal is not None
    assert (second.temporal.users, second.temporal.drift) == (0.0, None)
    assert second.joint().tolist() == second.temporal.alone
    assert second.fit.start == "previous"


def test_a_provisional_estimate_learns_from_the_past_and_leaves_nothing() -> None:
    collection = collection_with(MECHANISMS[0])
    first = solve(collection, _window(0, None, seed=1))
    provisional = solve(collection, replace(_window(1, first, seed=2), final=False))
    assert provisional.temporal is not None
    assert provisional.temporal.users > 0
    assert provisional.temporal.filter is None


def solved(window: str, *, final: bool = True, reports: int = 10_000) -> Estimate:
    """Solve a window of so many reports, whatever they say."""
    collection = collection_with(MECHANISMS[0])
    changed = JointCollection.model_validate({**collection.document, "window": yaml.safe_load(window)})
    (spec,) = changed.estimates
    bits = len(changed.bits_of(spec.of))
    counts = RowCounts.of(np.ones((reports, 1), dtype=np.uint8), bits=bits)
    windows = tuple((0.5**age, (counts,)) for age in range(changed.window.memory_windows))
    return solve(changed, Question(series=spec, window_ms=0, final=final, windows=windows, before=None))


def test_a_final_states_what_readers_of_finals_could_learn_beside_what_the_service_could() -> None:
    privacy = solved("{size: 60s}").privacy
    assert privacy.published is not None
    assert privacy.published.epsilon == shuffled_epsilon(privacy.per_report, reports=10_000, delta=1e-8)
    assert privacy.published.epsilon < privacy.per_report
    assert privacy.published.delta == 1e-8
    assert "who trust the service" in privacy.published.assumption
