"""Crafted batches of records are distinguished from honest ones and counted; impossible ones are refused."""

from __future__ import annotations

import os

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.bit_selection import BitSelection, Pieces
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.layout import SHARED_BITS, SHARED_ROWS, JointLayout, shared_selections
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


#: Bits of a row.
_BITS = 40


@given(
    chosen=st.lists(st.lists(st.integers(0, _BITS - 1), min_size=1, max_size=8, unique=True), max_size=8),
    seed=st.integers(0, 9),
)
def test_shared_selections_have_the_counts_of_each_alone(chosen: list[list[int]], seed: int) -> None:
    selections: dict[tuple[str, ...], list[int]] = {(f"e{number}",): bits for number, bits in enumerate(chosen)}
    rows = np.random.default_rng(seed).integers(256, size=(200, _BITS // 8), dtype=np.uint8)
    found: dict[tuple[str, ...], NDArray[np.int64]] = {}
    for shared in shared_selections(selections):
        assert len(shared.names) > 1
        found |= dict(shared.counts(shared.patterns(Pieces(rows))))
    for name, counts in found.items():
        alone = BitSelection(selections[name]).of(Pieces(rows))[:, 0]
        assert counts.tolist() == np.bincount(alone, minlength=2 ** len(selections[name])).tolist()
    left = [set(bits) for name, bits in selections.items() if name not in found]
    assert all(len(one | other) > SHARED_BITS for one in left for other in left if one is not other)


def test_many_reports_at_once_are_counted_as_few_at_a_time() -> None:
    pairs = [(0, 1), (2, 9), (4, 5), (3, 14), (11, 12)]
    collection = JointCollection.model_validate(
        {
            "collection": "survey",
            "mechanism": {"kind": "rr-ldp", "f": 0.25, "p": 0.25, "q": 0.75},
            "attributes": [{"name": f"a{number}", "values": ["no", "yes"]} for number in range(16)],
            "estimates": [{"name": f"e{i}", "of": [f"a{i}", f"a{j}"]} for i, j in pairs]
            + [{"name": "wide", "of": [f"a{number}" for number in range(9)]}],
            "window": {"size": "60s"},
        }
    )
    layout = JointLayout(collection)
    rows = np.random.default_rng(1).integers(256, size=(SHARED_ROWS + 1, 4), dtype=np.uint8)
    together, apart = layout.tallies(), layout.tallies()
    layout.count(together, rows)
    for part in np.array_split(rows, 7):
        layout.count(apart, part)
    for of, tally in together.items():
        assert tally.take_changed(closing=True) == apart[of].take_changed(closing=True)
    # Where one of a group has been restored further than the others, it is not counted with them.
    some = dict(list(layout.tallies().items())[1:])
    layout.count(some, rows)
    assert {of: tally.take_changed(closing=True)[0].reports for of, tally in some.items() if len(of) == 2} == {
        of: len(rows) for of in some if len(of) == 2
    }
