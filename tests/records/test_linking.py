"""Linked reports: gathered user by user, as counting them one by one would."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_ldp.pipeline import wire
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.layout import JointLayout
from stream_ldp.records.linking import LinkedUsers
from stream_ldp.records.solve import solve

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.pipeline.partials import Partial, Watermark

BITS = 5
#: A report: the number of its user, and its bits.
reports = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2**BITS - 1)), max_size=12)


def counted(window: Sequence[tuple[int, int]]) -> RowCounts:
    rows = [[*(251 * user).to_bytes(8, "big"), bits] for user, bits in window]
    return RowCounts.of(np.array(rows, dtype=np.uint8).reshape(-1, 9), bits=64 + BITS)


@settings(deadline=None)
@given(windows=st.lists(reports, min_size=1, max_size=4))
def test_each_users_reports_of_the_period_are_counted_if_the_user_reports_in_the_window(
    windows: list[list[tuple[int, int]]],
) -> None:
    found = LinkedUsers.of([counted(window) for window in windows], bits=BITS)
    users = {user for user, _ in windows[0]}
    in_period = [report for window in windows for report in window if report[0] in users]
    expected: Counter[tuple[int, tuple[int, ...], int]] = Counter()
    for user in users:
        own = [bits for each, bits in in_period if each == user]
        ones = tuple(sum(bits >> place & 1 for bits in own) for place in range(BITS))
        expected[len(own), ones, sum(each == user for each, _ in windows[0])] += 1
    assert (
        Counter(zip(found.reports.tolist(), map(tuple, found.ones.tolist()), found.in_window.tolist(), strict=True))
        == expected
    )
    if len(windows) > 1 and users:
        assert found.returning == len(users & {user for user, _ in windows[1]}) / len(users)
    if windows[0]:
        of_report = [sum(each == user for each, _ in windows[0]) for user, _ in windows[0]]
        assert found.reports_per_user == pytest.approx(np.mean(of_report))


def test_nobody_is_known_to_return_in_the_first_window_of_a_period() -> None:
    found = LinkedUsers.of([counted([(1, 3), (1, 3), (2, 0)])], bits=BITS)
    assert found.returning is None
    assert found.reports_per_user == pytest.approx((2 * 2 + 1) / 3)


def test_rows_without_pseudonyms_are_refused() -> None:
    with pytest.raises(ValueError, match="rows of 5 bits, where linked reports have 69"):
        LinkedUsers.of([RowCounts.empty(BITS)], bits=BITS)


COLLECTION = JointCollection.parse(
    """
    collection: survey
    mechanism: {kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}
    attributes:
      - {name: bathing, values: [no, yes]}
      - {name: mobility, values: [none, some, full]}
    window: {size: 60s, grace: 0s}
    linked: 3m
    estimates:
      - {name: both, of: [bathing, mobility], method: em}
    """
)
MINUTE_MS = 60_000
#: A batch: its partition, its window, and its reports.
batches = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5), reports.filter(bool)), min_size=4, max_size=8).map(
    lambda found: sorted(found, key=lambda each: each[1])
)


def encoded(number: int, window: int, told: Sequence[tuple[int, int]]) -> bytes:
    rows = np.array([[*(251 * user).to_bytes(8, "big"), bits] for user, bits in told], dtype=np.uint8)
    return wire.encode(
        wire.Batch(
            fingerprint=COLLECTION.fingerprint,
            batch_id=number.to_bytes(16, "big"),
            time_ms=window * MINUTE_MS,
            rows=rows,
        )
    )


def written(
    log: Sequence[tuple[int, bytes]], *, partition: int, killed_after: int | None
) -> Iterator[Partial | Watermark]:
    """Count a partition record by record, and yield what is written; a kill comes before a commit."""
    state = SourcePartition(COLLECTION, JointLayout(COLLECTION), partition=partition)
    committed = None
    state.take_changes()
    place = 0
    while place < len(log):
        time_ms, record = log[place]
        state.count([place], [time_ms], [record])
        changes = state.take_changes()
        if changes is not None:
            yield from changes.partials
        if place == killed_after:
            killed_after = None
            state = SourcePartition(
                COLLECTION, JointLayout(COLLECTION), partition=partition, checkpoint=committed, generation=2
            )
            state.take_changes()
            place = state.position
            continue
        if changes is not None:
            committed = changes.checkpoint
            yield from () if changes.watermark is None else (changes.watermark,)
        place += 1


def finals(
    told: Sequence[tuple[int, int, Sequence[tuple[int, int]]]], *, killed_after: int | None, seed: int
) -> list[tuple[int, bytes]]:
    """Answer all windows whose partials and watermarks come in a random order."""
    logs: list[list[tuple[int, bytes]]] = [[], []]
    # The last batch of each partition closes the windows before it.
    for number, (partition, window, reported) in enumerate([*told, (0, 7, [(0, 0)]), (1, 7, [(0, 0)])]):
        logs[partition].append((window * MINUTE_MS, encoded(number, window, reported)))
    records = [
        record
        for partition, log in enumerate(logs)
        for record in written(log, partition=partition, killed_after=killed_after)
    ]
    np.random.default_rng(seed).shuffle(records)
    merge = Merge(COLLECTION, partitions=2)
    merge.expect(JointLayout(COLLECTION))
    for record in records:
        merge.apply(record)
    answered = []
    while (task := merge.due()) is not None:
        answer = solve(COLLECTION, task)
        if task.silent_until_ms is not None:
            answer = answer.without_reports(until_ms=task.silent_until_ms)
        else:
            answered.append((task.window_ms, answer.to_bytes()))
        merge.decide(answer)
    return answered


@settings(deadline=None, max_examples=10)
@given(told=batches, killed_after=st.integers(0, 4), seed=st.integers(0, 99))
def test_finals_of_linked_reports_are_the_same_after_a_kill_and_in_any_order(
    told: list[tuple[int, int, list[tuple[int, int]]]], killed_after: int, seed: int
) -> None:
    steady = finals(told, killed_after=None, seed=0)
    assert finals(told, killed_after=killed_after, seed=seed) == steady
    assert [window_ms for window_ms, _ in steady] == sorted({window * MINUTE_MS for _, window, _ in told})
    for window_ms, final in steady:
        window, linked = window_ms // MINUTE_MS, Estimate.from_bytes(final).linked
        assert linked is not None
        users = {user for _, each, reported in told if each == window for user, _ in reported}
        in_period = range(window - window % 3, window + 1)
        assert linked.users == len(users)
        assert linked.reports == sum(
            user in users for _, each, reported in told if each in in_period for user, _ in reported
        )
