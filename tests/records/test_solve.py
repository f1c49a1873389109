"""Tests of solving: reports of every mechanism become an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from stream_ldp.kinds import kind_of, parse_collection
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.mechanisms.shuffling import shuffled_epsilon
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.pipeline.statistics import ReportSums, RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records import solve as records_solve
from stream_ldp.records.answer import Estimate
from stream_ldp.records.bit_selection import selected
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.estimators import hidden_factor
from stream_ldp.records.estimators.likelihood import Likelihood
from stream_ldp.records.layout import JointLayout
from stream_ldp.records.series import EstimateSpec
from stream_ldp.records.solve import SmallCache, solve
from tests.read_back import read_back

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
    task = merge.due()
    assert task is not None
    assert task.window_ms == 0

    estimate = kind_of(collection).solve(collection, task)
    assert isinstance(estimate, Estimate)
    assert [axis.attribute for axis in estimate.axes] == ["mobility", "bathing"]
    assert estimate.fit.certified
    # Nothing in the reports of k-RR can be tested.
    assert (estimate.plausibility is None) == ("k-rr" in mechanism)
    assert estimate.plausibility is None or not estimate.plausibility.flagged
    assert estimate.reports == 100_000
    assert estimate.privacy.lifetime == collection.mechanism.epsilon(reports=float("inf"))
    share = np.bincount(cells, minlength=6).reshape(truth.shape) / len(cells)
    assert np.all(np.abs(estimate.joint() - share) < 5 * estimate.standard_errors())


def among(
    mechanism: Mapping[str, object] | None = None,
    *,
    window: Mapping[str, object] | None = None,
    prior: str = "window",
) -> JointCollection:
    """Make a collection of binary attributes, with an estimate of two that is among all, and one that is not."""
    names = [f"a{number}" for number in range(10)]
    collection = parse_collection(
        yaml.safe_dump(
            {
                "collection": "care-survey",
                "mechanism": mechanism or {"kind": "rr-ldp", "f": 0.5, "p": 0.3, "q": 0.7},
                "attributes": [{"name": name, "values": ["no", "yes"]} for name in names],
                "window": {"size": "60s", **(window or {})},
                "estimates": [
                    {"name": "among", "of": ["a3", "a1"], "among": names[::-1], "prior": prior},
                    {"name": "alone", "of": ["a3", "a1"], "prior": "window"},
                ],
            }
        )
    )
    assert isinstance(collection, JointCollection)
    return collection


def test_an_estimate_among_attributes_with_a_factor_is_nearer_to_the_truth_than_alone() -> None:
    """Of 5 seeds, on the mean, which is .09 for the pair alone and .06 among the others."""
    collection, distances = among(), []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        hidden = rng.random(4_000) < 0.5
        records = np.where(rng.random((4_000, 10)) < 0.9, hidden[:, None], ~hidden[:, None]).astype(np.int64)
        rows = collection.mechanism.perturb(records, entropy=SeededEntropy(seed))
        truth = np.bincount(2 * records[:, 3] + records[:, 1], minlength=4).reshape(2, 2) / 4_000
        layout = JointLayout(collection)
        tallies = layout.tallies()
        layout.count(tallies, rows)
        answers = []
        for spec in collection.estimates:
            (counts,) = tallies[spec.counted].take_changed(closing=True).values()
            task: WindowTask[EstimateSpec, Estimate] = WindowTask(
                series=spec, window_ms=0, final=True, windows=((1.0, (counts,)),), before=None
            )
            answers.append(solve(collection, task))
        assert [each.fit.prior_centre for each in answers] == ["factor", "independence"]
        assert [each.reports for each in answers] == [4_000, 4_000]
        assert answers[0].independence == answers[1].independence, "what its own reports say of it"
        distances.append([0.5 * np.abs(each.joint() - truth).sum() for each in answers])
    near, far = np.mean(distances, axis=0)
    assert near < 0.8 * far


def test_estimates_among_the_same_attributes_share_a_factor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collection = among()
    first = collection.estimates[0]
    second = first.model_copy(update={"name": "second", "of": ("a5", "a2")})
    learnt: list[float] = []

    def learn(likelihood: Likelihood) -> tuple[NDArray[np.float64], ...] | None:
        learnt.append(likelihood.reports)
        return hidden_factor(likelihood)

    monkeypatch.setattr(records_solve, "hidden_factor", learn)
    for seed, spec in [(1, first), (1, second), (2, first), (2, second)]:
        rng = np.random.default_rng(100 + seed)
        records = np.repeat(rng.integers(2, size=(900 + seed, 1)), 10, axis=1)
        rows = collection.mechanism.perturb(records, entropy=SeededEntropy(100 + seed))
        task: WindowTask[EstimateSpec, Estimate] = WindowTask(
            series=spec, window_ms=0, final=True, windows=((1.0, (RowCounts.of(rows, bits=20),)),), before=None
        )
        assert solve(collection, task).fit.prior_centre == "factor"
    assert learnt == [901, 902]


def test_an_estimate_among_attributes_is_the_same_however_their_rows_are_parted_and_carried() -> None:
    collection = among()
    (spec, _), rng = collection.estimates, np.random.default_rng(1)
    records = np.repeat(rng.integers(2, size=(900, 1)), 10, axis=1)
    rows = collection.mechanism.perturb(records, entropy=SeededEntropy(1))
    whole = RowCounts.of(rows, bits=20)
    parts = tuple(RowCounts.from_bytes(RowCounts.of(part, bits=20).to_bytes()) for part in np.split(rows[::-1], 3))
    answers = []
    for windows in (((1.0, (whole,)),), ((1.0, parts),)):
        task: WindowTask[EstimateSpec, Estimate] = WindowTask(
            series=spec, window_ms=0, final=True, windows=windows, before=None
        )
        answers.append(solve(collection, task))
    assert answers[0].fit.prior_centre == "factor"
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("collection", "remembered", "learns"),
    [
        (among(window={"returning": 0.0}, prior="temporal"), 0.0, True),
        (among(window={"memory": 0.5}), 0.5, False),
        (among({"kind": "k-rr", "epsilon": 10}), 0.0, False),
    ],
)
def test_a_factor_is_seen_by_any_mechanism_and_goes_with_what_earlier_windows_tell(
    collection: JointCollection, remembered: float, learns: bool
) -> None:
    spec = collection.estimates[0]
    windows: list[RowCounts] = []
    answers: list[Estimate] = []
    for minute in range(2):
        rng = np.random.default_rng(minute)
        hidden = rng.random(4_000) < 0.5
        records = np.where(rng.random((4_000, 10)) < 0.9, hidden[:, None], ~hidden[:, None]).astype(np.int64)
        rows = collection.mechanism.perturb(records, entropy=SeededEntropy(minute))
        windows.append(selected(RowCounts.of(rows, bits=20), collection.row_bits_of(spec.counted)))
        earlier = [(remembered, (windows[0],))] if remembered and minute else []
        task = WindowTask(
            series=spec,
            window_ms=minute * MINUTE_MS,
            final=True,
            windows=((1.0, (windows[-1],)), *earlier),
            before=answers[-1] if answers else None,
        )
        answers.append(solve(collection, task))
    assert [each.fit.prior_centre for each in answers] == ["factor", "factor"]
    temporal = answers[1].temporal
    assert (temporal is not None and temporal.users > 0) == learns


def test_an_estimate_among_attributes_of_nobody_is_answered() -> None:
    collection = among()
    nobody = RowCounts.empty(20)
    task: WindowTask[EstimateSpec, Estimate] = WindowTask(
        series=collection.estimates[0], window_ms=0, final=True, windows=((1.0, (nobody,)),), before=None
    )
    assert solve(collection, task).reports == 0


def test_sums_of_reports_are_refused_and_not_left_out() -> None:
    collection = collection_with(MECHANISMS[0])
    sums = ReportSums.of(reports=1, values=np.zeros(1, dtype=np.int64))
    task: WindowTask[EstimateSpec, Estimate] = WindowTask(
        series=collection.estimates[0], window_ms=0, final=True, windows=((1.0, (sums,)),), before=None
    )
    with pytest.raises(TypeError, match="answered from RowCounts"):
        solve(collection, task)


def _window(minute: int, before: Estimate | None, *, seed: int) -> WindowTask[EstimateSpec, Estimate]:
    """Ask about one minute of 5,000 users, whose joint is the same in every minute."""
    collection = collection_with(MECHANISMS[0])
    cells = np.random.default_rng(seed).choice(6, size=5_000, p=[0.4, 0.1, 0.1, 0.15, 0.05, 0.2])
    mobility, bathing = np.unravel_index(cells, (3, 2))
    records = np.stack([bathing, np.zeros_like(bathing), mobility], axis=1)
    rows = collection.mechanism.perturb(records, entropy=SeededEntropy(seed))
    bits = np.unpackbits(rows, axis=1, bitorder="little")[:, list(collection.bits_of(("mobility", "bathing")))]
    counts = RowCounts.of(np.packbits(bits, axis=1, bitorder="little"), bits=bits.shape[1])
    return WindowTask(
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
    assert second.fit.start == "previous"
    assert solve(collection, _window(1, read_back(first), seed=2)).to_bytes() == second.to_bytes()


def test_what_a_final_leaves_takes_few_bytes() -> None:
    """At so many digits, the estimates with the most cells stay within a record."""
    collection = collection_with(MECHANISMS[0])
    first = solve(collection, _window(0, None, seed=1))
    temporal = solve(collection, _window(1, first, seed=2)).temporal
    assert temporal is not None
    assert temporal.filter is not None
    left = temporal.filter
    assert np.any(left.scores)
    for numbers, most in ((left.variances, 12), (left.permanent, 12), (left.mean, 18), (left.scores, 9)):
        each = np.array(numbers).ravel().tolist()
        assert len(each) == 6
        assert max(len(repr(number)) for number in each) <= most


def test_a_final_that_has_learnt_nothing_leaves_nothing_but_a_start() -> None:
    collection = collection_with(MECHANISMS[0])
    first = solve(collection, _window(0, None, seed=1)).model_copy(update={"temporal": None})
    second = solve(collection, _window(1, first, seed=2))
    assert second.temporal is not None
    assert (second.temporal.users, second.temporal.drift) == (0.0, None)
    assert tuple(second.joint().ravel().tolist()) == second.temporal.alone
    assert second.fit.start == "previous"


def test_a_provisional_estimate_learns_from_the_past_and_leaves_nothing() -> None:
    collection = collection_with(MECHANISMS[0])
    first = solve(collection, _window(0, None, seed=1))
    provisional = solve(collection, replace(_window(1, first, seed=2), final=False))
    assert provisional.temporal is not None
    assert provisional.temporal.users > 0
    assert provisional.temporal.filter is None


def solved(window: str, *, final: bool = True, reports: int = 10_000) -> Estimate:
    """Solve a window of so many reports, of which as many have each value."""
    collection = collection_with(MECHANISMS[0])
    changed = JointCollection.model_validate({**collection.document, "window": yaml.safe_load(window)})
    (spec,) = changed.estimates
    records = np.arange(reports)[:, None] % collection.mechanism.sizes
    rows = collection.mechanism.perturb(records, entropy=SeededEntropy(1))
    bits = np.unpackbits(rows, axis=1, bitorder="little")[:, list(changed.bits_of(spec.of))]
    counts = RowCounts.of(np.packbits(bits, axis=1, bitorder="little"), bits=bits.shape[1])
    windows = tuple((0.5**age, (counts,)) for age in range(changed.window.memory_windows))
    return solve(changed, WindowTask(series=spec, window_ms=0, final=final, windows=windows, before=None))


def test_a_final_states_what_readers_of_finals_could_learn_beside_what_the_service_could() -> None:
    privacy = solved("{size: 60s, returning: 0}").privacy
    assert privacy.published is not None
    any_report = shuffled_epsilon(privacy.per_report, reports=10_000, delta=1e-8)
    assert privacy.published.epsilon < 0.4 * any_report, "by the blanket of such reports"
    assert privacy.published.epsilon < privacy.per_report
    assert privacy.published.delta == 1e-8
    assert "who trust the service" in privacy.published.assumption
    assert solved("{size: 60s}").privacy.published is None, "all users may return, and their noise is permanent"


LINKED = """
collection: survey
mechanism: {kind: rr-ldp, f: 0.25, p: 0.5, q: 0.75}
attributes:
  - {name: bathing, values: [no, yes]}
  - {name: mobility, values: [none, some, full]}
window: {size: 60s}
linked: 16m
estimates:
  - {name: both, of: [bathing, mobility]}
"""


def linked_windows(windows: int, *, users: int = 2_000, seed: int = 1) -> tuple[list[RowCounts], NDArray[np.float64]]:
    """Let the same users report in each window, the newest first; return their joint as well."""
    collection, rng, entropy = JointCollection.parse(LINKED), np.random.default_rng(seed), SeededEntropy(seed)
    cells = rng.choice(6, size=users, p=[0.4, 0.1, 0.1, 0.15, 0.05, 0.2])
    table = np.stack(np.unravel_index(cells, (2, 3)), axis=1)
    mechanism = collection.mechanism
    names = collection.pseudonyms(users, secrets=None, time_ms=0, entropy=entropy)
    permanent = mechanism.permanent(table, entropy)
    counts = [
        RowCounts.of(
            np.concatenate([names, mechanism.packed(mechanism.instantaneous(permanent, entropy))], axis=1),
            bits=64 + 5,
        )
        for _ in range(windows)
    ]
    return counts, np.bincount(cells, minlength=6).reshape(2, 3) / users


def solved_linked(windows: list[RowCounts]) -> Estimate:
    collection = JointCollection.parse(LINKED)
    (spec,) = collection.estimates
    task: WindowTask[EstimateSpec, Estimate] = WindowTask(
        series=spec,
        window_ms=15 * MINUTE_MS,
        final=True,
        windows=tuple((1.0, (counts,)) for counts in windows),
        before=None,
    )
    return solve(collection, task)


def test_linked_reports_of_a_period_tell_more_than_those_of_a_window_and_errors_say_so() -> None:
    windows, truth = linked_windows(16)
    first, last = solved_linked(windows[:1]), solved_linked(windows)
    assert last.distance(truth) < 0.65 * first.distance(truth)
    assert last.standard_errors().mean() < 0.65 * first.standard_errors().mean()
    assert last.reports == first.reports == 2_000
    assert first.effective_reports == pytest.approx(2_000)
    assert 2_000 < last.effective_reports < 16 * 2_000
    assert np.all(np.abs(last.joint() - truth) < 4 * last.standard_errors())
    assert Estimate.from_bytes(last.to_bytes()) == last


def test_what_linked_reports_show_of_the_users_is_published() -> None:
    (newest, _), _ = linked_windows(2, users=100)
    (other, _), _ = linked_windows(2, users=50, seed=2)
    linked = solved_linked([newest, RowCounts.sum([newest, other], bits=69)]).linked
    assert linked is not None
    assert (linked.users, linked.reports) == (100, 200)
    assert (linked.reports_per_user, linked.returning) == (1.0, 1.0)
    assert solved_linked([newest]).linked == linked.model_copy(update={"reports": 100, "returning": None})
    strangers = solved_linked([newest, other]).linked
    assert strangers is not None
    assert (strangers.reports, strangers.returning) == (100, 0.0)


@pytest.mark.parametrize(
    ("back", "share"), [(0, 0.0), (1, None), (19, None), (20, 0.2), (80, 0.8), (81, None), (100, 1.0)]
)
def test_the_share_who_return_is_withheld_where_it_is_about_few_of_them(back: int, share: float | None) -> None:
    """Of 100 users, with the floor of 20 of a file that says nothing: at both edges of it."""
    (newest, _), _ = linked_windows(2, users=100)
    (strangers, _), _ = linked_windows(2, users=100, seed=2)
    before = RowCounts(
        bits=newest.bits,
        rows=np.concatenate([newest.rows[:back], strangers.rows[back:]]),
        counts=np.concatenate([newest.counts[:back], strangers.counts[back:]]),
    )
    linked = solved_linked([newest, before]).linked
    assert linked is not None
    assert linked.returning == share


def test_a_linked_estimate_states_what_linking_tells_and_claims_no_amplification() -> None:
    estimate = solved_linked(linked_windows(1)[0])
    assert estimate.linked is not None
    assert "the same pseudonym for 16m" in estimate.linked.privacy
    assert estimate.privacy.published is None
    assert estimate.temporal is None
    assert estimate.privacy.lifetime == JointCollection.parse(LINKED).mechanism.epsilon(reports=float("inf"))


def test_a_linked_estimate_is_the_same_in_whatever_order_and_pieces_its_reports_come() -> None:
    windows, _ = linked_windows(3, users=200)
    whole = solved_linked(windows)
    collection = JointCollection.parse(LINKED)
    pieces = [
        (
            1.0,
            tuple(
                RowCounts.of(np.repeat(counts.rows, counts.counts.astype(np.int64), axis=0)[part::3], bits=69)
                for part in (2, 0, 1)
            ),
        )
        for counts in windows
    ]
    task: WindowTask[EstimateSpec, Estimate] = WindowTask(
        series=collection.estimates[0], window_ms=15 * MINUTE_MS, final=True, windows=tuple(pieces), before=None
    )
    assert solve(collection, task).to_bytes() == whole.to_bytes()


def loud(report: int, *, reports: int) -> RowCounts:
    """Let one pseudonym send the same report many times."""
    row = np.array([[*b"mallory!", report]], dtype=np.uint8)
    return RowCounts(bits=64 + 5, rows=row, counts=np.array([reports]))


def test_a_pseudonym_with_millions_of_reports_counts_as_one_user() -> None:
    windows, _ = linked_windows(2)
    honest = solved_linked(windows)
    known, flooded = (
        solved_linked([windows[0] + loud(0b10001, reports=reports), windows[1]]) for reports in (200, 3_000_000)
    )
    assert flooded.linked is not None
    assert (flooded.reports, flooded.linked.users) == (3_002_000, 2_001)
    assert flooded.joint() == pytest.approx(known.joint(), abs=1e-6)
    most = 1 / JointCollection.parse(LINKED).mechanism.permanent_share
    assert flooded.effective_reports < honest.effective_reports + most


def test_a_pseudonym_with_millions_of_reports_hides_no_other_reports_that_are_crafted() -> None:
    (window,), _ = linked_windows(1)
    pseudonyms = np.random.default_rng(5).integers(256, size=(400, 8), dtype=np.uint8)
    crafted = RowCounts.of(np.concatenate([pseudonyms, np.full((400, 1), 0b11111, dtype=np.uint8)], axis=1), bits=69)
    flood = loud(0b10001, reports=1_000_000)
    honest, hidden = (solved_linked([each + flood]).plausibility for each in (window, window + crafted))
    assert honest is not None
    assert hidden is not None
    assert (honest.flagged, hidden.flagged) == (False, True)


def test_whoever_takes_the_pseudonym_of_another_speaks_for_that_user_alone() -> None:
    (newest, earlier), _ = linked_windows(2)
    taken, others = newest.rows[:1].copy(), RowCounts(bits=69, rows=newest.rows[1:], counts=newest.counts[1:])
    taken[0, 8] = 0b10001
    own = RowCounts(bits=69, rows=taken, counts=np.array([100_000]))
    spoken, instead = solved_linked([newest + own, earlier]), solved_linked([others + own, earlier])
    assert spoken.linked is not None
    assert spoken.linked.users == 2_000
    assert spoken.joint() == pytest.approx(instead.joint(), abs=1e-6), "as if the user had never said anything else"


def test_what_is_asked_again_is_not_made_again_and_what_was_asked_longest_ago_is_forgotten() -> None:
    kept: SmallCache[str] = SmallCache(most=2)
    made: list[str] = []

    def of(key: str) -> str:
        return kept.of(key, lambda: made.append(key) or key.upper())  # type: ignore[func-returns-value]

    assert [of(key) for key in "abab"] == ["A", "B", "A", "B"]
    assert made == ["a", "b"]
    assert [of(key) for key in "acab"] == ["A", "C", "A", "B"]
    assert made == ["a", "b", "c", "b"]


def test_a_result_may_be_none_and_a_failure_is_not_kept() -> None:
    kept: SmallCache[None] = SmallCache(most=2)
    made = []
    for _ in range(2):
        kept.of("none", lambda: made.append(1))
    assert made == [1]
    with pytest.raises(ZeroDivisionError):
        kept.of("failed", lambda: [None][1 // 0])
    kept.of("failed", lambda: made.append(2))
    assert made == [1, 2]
