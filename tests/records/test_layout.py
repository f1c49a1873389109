"""Crafted batches of records are distinguished from honest ones and counted; impossible ones are refused."""

from __future__ import annotations

import os

import numpy as np

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.layout import JointLayout
from tests.records.examples import TEXT


def test_a_batch_of_crafted_reports_is_found_implausible_but_still_counted() -> None:
    collection = JointCollection.parse(TEXT)
    values = np.random.default_rng(1).integers(2, size=(500, 2))
    honest = collection.mechanism.perturb(values, entropy=SeededEntropy(1))
    all_bits = np.full((100, 1), 0b11111, dtype=np.uint8)
    records = [
        wire.encode(wire.Batch(fingerprint=collection.fingerprint, batch_id=os.urandom(16), time_ms=0, rows=rows))
        for rows in (honest, all_bits)
    ]
    counted = SourcePartition(collection, JointLayout(collection), partition=0).count([0, 1], [0, 0], records)
    assert counted.implausible == 1
    assert counted.reports == 600


def test_a_turn_with_only_invalid_batches_counts_no_reports() -> None:
    collection = JointCollection.parse(TEXT)
    counted = SourcePartition(collection, JointLayout(collection), partition=0).count([0], [0], [b"garbage"])
    assert (counted.implausible, counted.reports, len(counted.rejected)) == (0, 0, 1)


def test_a_named_value_that_is_not_there_is_refused_as_unknown() -> None:
    collection = JointCollection.parse(
        TEXT.replace("{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}", "{kind: k-rr, epsilon: 2}")
    )
    state = SourcePartition(collection, JointLayout(collection), partition=0)
    rows = np.array([[0b110]], dtype=np.uint8)  # mobility 3 of 0 to 2
    batch = wire.Batch(fingerprint=collection.fingerprint, batch_id=bytes(16), time_ms=0, rows=rows)
    ((_, rejected),) = state.count([0], [0], [wire.encode(batch)]).rejected
    assert rejected.reason.value == "unknown_value"


def test_linked_reports_are_counted_by_pseudonym_and_those_without_are_refused() -> None:
    collection = JointCollection.parse(f"{TEXT}linked: 1h\n")
    secrets = [bytes([user]) * 32 for user in range(3)]
    reports = collection.mechanism.perturb(np.zeros((3, 2), dtype=np.int64), entropy=SeededEntropy(1))
    names = collection.pseudonyms(3, secrets=secrets, time_ms=0, entropy=SeededEntropy(2))
    linked = np.concatenate([names, reports], axis=1)
    padded = linked.copy()
    padded[0, -1] |= 0b100000
    records = [
        wire.encode(wire.Batch(fingerprint=collection.fingerprint, batch_id=os.urandom(16), time_ms=0, rows=rows))
        for rows in (linked, linked[:1], reports, padded)
    ]
    source = SourcePartition(collection, JointLayout(collection), partition=0)
    counted = source.count([0, 1, 2, 3], [0, 0, 0, 0], records)
    assert [rejected.reason for _, rejected in counted.rejected] == [Reason.WRONG_WIDTH, Reason.PADDING_BITS]
    source.take_changes()
    changes = source.take_changes()
    assert changes is not None
    (partial,) = changes.partials
    assert isinstance(partial.counts, RowCounts)
    found = {row[:8].tobytes(): count for row, count in zip(partial.counts.rows, partial.counts.counts, strict=True)}
    assert found == {name.tobytes(): count for name, count in zip(names, (2, 1, 1), strict=True)}


def test_a_batch_of_one_users_linked_reports_is_plausible_and_one_of_crafted_reports_is_not() -> None:
    collection = JointCollection.parse(f"{TEXT}linked: 1h\n")
    mechanism, entropy, layout = collection.mechanism, SeededEntropy(1), JointLayout(collection)
    permanent = np.repeat(np.array([[1, 1, 1, 1, 1]], dtype=np.uint8), 200, axis=0)
    own = mechanism.packed(mechanism.instantaneous(permanent, entropy))
    crafted = np.full((200, 1), 0b11111, dtype=np.uint8)
    one = np.zeros((200, 8), dtype=np.uint8)
    others = np.random.default_rng(1).integers(256, size=(200, 8), dtype=np.uint8)
    batches = [np.concatenate(each, axis=1) for each in ((one, own), (others, own), (others, crafted))]
    found = layout.implausible(np.concatenate(batches), np.array([200, 200, 200]))
    assert found.tolist() == [False, True, True]


def test_linked_batches_are_judged_together_as_they_are_one_by_one() -> None:
    collection = JointCollection.parse(f"{TEXT}linked: 1h\n")
    layout, rng = JointLayout(collection), np.random.default_rng(2)
    batches = []
    for users in (1, 3, 40, 1, 200):
        names = rng.integers(256, size=(users, 8), dtype=np.uint8)[rng.integers(users, size=200)]
        batches += [np.concatenate([names, np.full((200, 1), bits, np.uint8)], axis=1) for bits in (0b11111, 0b00111)]
    one_by_one = [layout.implausible(batch, np.array([200])).item() for batch in batches]
    together = layout.implausible(np.concatenate(batches), np.full(len(batches), 200))
    assert together.tolist() == one_by_one
    assert {True, False} == set(one_by_one)
