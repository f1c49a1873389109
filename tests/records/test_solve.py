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
from tests.records.examples import TEXT

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
    assert not estimate.plausibility.flagged
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


@pytest.mark.parametrize(
    "window",
    ["{size: 60s, hop: 20s}", "{size: 60s, memory: 0.5}", "{size: 60s, reports_per_user: 2}"],
)
def test_where_the_theorem_does_not_hold_nothing_is_stated(window: str) -> None:
    assert solved(window).privacy.published is None


def test_differences_of_provisional_answers_are_of_few_reports_and_nothing_is_stated() -> None:
    assert solved("{size: 60s}", final=False).privacy.published is None


@pytest.mark.parametrize(("reports_per_user", "covered"), [(16.0, True), (1.0, False)])
def test_errors_cover_the_users_who_report_again_and_again_if_that_is_stated(
    reports_per_user: float, covered: bool
) -> None:
    """20 draws of 2,000 users with 16 reports of one permanent response each; 95 % intervals of 6 cells."""
    text = TEXT.replace("{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}", "{kind: rr-ldp, f: 0.5}")
    collection = JointCollection.parse(text.replace("60s}", f"60s, reports_per_user: {reports_per_user}}}"))
    within = []
    for seed in range(20):
        cells = np.random.default_rng(seed).choice(6, size=2_000, p=[0.4, 0.1, 0.1, 0.15, 0.05, 0.2])
        records = np.stack(np.unravel_index(cells, (2, 3)), axis=1)
        once = RowCounts.of(
            collection.mechanism.perturb(records, entropy=SeededEntropy(seed)), bits=collection.mechanism.bits
        )
        estimate = solve(
            collection,
            Question(
                series=collection.estimates[0],
                window_ms=0,
                final=True,
                windows=((1.0, (RowCounts.sum([once] * 16, bits=once.bits),)),),
                before=None,
            ),
        )
        assert estimate.reports == 32_000
        assert estimate.effective_reports == 32_000 / reports_per_user
        truth = np.bincount(cells, minlength=6).reshape(2, 3) / len(cells)
        within.append(np.abs(estimate.joint() - truth) <= 1.96 * estimate.standard_errors())
    assert bool(np.mean(within) >= 0.88) is covered
