"""A source partition tells crafted batches from honest ones, and counts both."""

from __future__ import annotations

import os

import numpy as np

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.layout import JointLayout

TEXT = """
collection: survey
mechanism: {kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}
attributes:
  - {name: bathing, values: [no, yes]}
  - {name: mobility, values: [none, some, full]}
window: {size: 60s}
estimates: [{name: joint, of: [bathing, mobility]}]
"""


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
