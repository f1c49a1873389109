"""Patterns say of a report what its bits do, and no more."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import patterns as module
from stream_ldp.records.estimators.patterns import Patterns
from tests.records.estimators.examples import random_reports


def test_no_bit_set_says_as_little_as_all_bits_set() -> None:
    for size in (3, 20):
        rows = np.packbits(
            np.eye(3, size, k=-1, dtype=np.uint8) | np.array([[0], [0], [1]]), axis=1, bitorder="little"
        )
        counts = RowCounts(bits=size, rows=rows, counts=np.ones(3, dtype=np.int64))
        (patterns,) = Patterns.of(counts, sizes=(size,), ratios=(0.5,))
        first, *_, last = patterns.likelihoods()[patterns.codes]
        assert first.tolist() == last.tolist() == [1.0] * size


def test_the_information_of_patterns_is_that_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for size, largest in ((5, 2**22), (20, 50)):
        monkeypatch.setattr(module, "LARGEST_ARRAY", largest)
        counts = random_reports((size,), n=200)
        (patterns,) = Patterns.of(counts, sizes=(size,), ratios=(0.3,))
        marginal = np.random.default_rng(1).dirichlet(np.ones(size))
        A = np.where(counts.unpacked(), 1.0, 0.3)
        scores = A / (A @ marginal)[:, None]
        expected = (scores * counts.counts[:, None]).T @ scores
        found = patterns.information(counts.counts.astype(np.float64), marginal)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
