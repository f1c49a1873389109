"""Example reports, and brute-force computations with them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from stream_ldp.mechanisms import RRLDP, SeededEntropy, Support
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import estimator

if TYPE_CHECKING:
    from stream_ldp.records.estimators import FloatArray, Solution

#: Small enough to enumerate every report.
TINY_SIZES = [(2,), (4,), (2, 2), (2, 3), (3, 2, 2)]


def solve(
    method: str,
    stop: str,
    counts: RowCounts,
    channel: Support,
    sizes: tuple[int, ...],
    start: FloatArray | None = None,
) -> Solution:
    """Estimate the joint of attributes that have one channel, to within 0.001."""
    return estimator(method, stop=stop, delta=0.001).estimate(
        counts, sizes=sizes, supports=[channel] * len(sizes), start=start
    )


def likelihood_table(counts: RowCounts, *, sizes: tuple[int, ...], channel: Support) -> FloatArray:
    """Compute P(row | cell) bit by bit from the mechanism's definition; shape (rows, cells)."""
    bits = counts.unpacked()
    table = np.empty((len(bits), math.prod(sizes)))
    for cell, values in enumerate(np.ndindex(*sizes)):
        truth = np.concatenate([np.eye(size)[value] for size, value in zip(sizes, values, strict=True)])
        ones = np.where(truth == 1, channel.one, channel.zero)
        table[:, cell] = np.where(bits == 1, ones, 1 - ones).prod(axis=1)
    return table


def expected_counts(joint: FloatArray, *, channel: Support, reports: float) -> RowCounts:
    """List every possible report with its expected count for `reports` users of this joint."""
    bits = sum(joint.shape)
    patterns = ((np.arange(2**bits)[:, None] >> np.arange(bits)) & 1).astype(np.uint8)
    every = RowCounts.of(np.packbits(patterns, axis=1, bitorder="little"), bits=bits)
    weights = likelihood_table(every, sizes=joint.shape, channel=channel) @ joint.ravel() * reports
    possible = weights > 0
    return RowCounts(bits=bits, rows=every.rows[possible], counts=weights[possible])


def draw(
    joint: FloatArray, reports: int, *, f: float, seed: int, response: tuple[float, float] | None = None
) -> tuple[RowCounts, Support]:
    """Draw reports of users from a joint; `response` is (p, q) of the instantaneous response, if there is one."""
    cells = np.random.default_rng(seed).choice(joint.size, size=reports, p=joint.ravel())
    values = np.stack(np.unravel_index(cells, joint.shape), axis=1)
    p, q = response or (None, None)
    mechanism = RRLDP(sizes=joint.shape, f=f, p=p, q=q)
    rows = mechanism.perturb(values, entropy=SeededEntropy(seed))
    return RowCounts.of(rows, bits=mechanism.bits), mechanism.channel()


channels = st.builds(
    lambda zero, gap: Support.of_bits(one=zero + gap * (1 - zero), zero=zero),
    st.floats(0.02, 0.6),
    st.floats(0.1, 0.95),
)


@st.composite
def joints(draw_: st.DrawFn, sizes: tuple[int, ...]) -> FloatArray:
    """Draw any distribution of this shape, cells of zero included."""
    weights = draw_(st.lists(st.integers(0, 20), min_size=math.prod(sizes), max_size=math.prod(sizes)))
    joint = np.array(weights, dtype=np.float64).reshape(sizes) + (0.0 if any(weights) else 1.0)
    total: float = joint.sum()
    return joint / total


@st.composite
def drawn_rows(draw_: st.DrawFn, sizes: tuple[int, ...]) -> RowCounts:
    """Draw any counted rows of this many bits, at least one, plain or weighted."""
    bits = sum(sizes)
    values = draw_(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=30))
    patterns = ((np.array(values)[:, None] >> np.arange(bits)) & 1).astype(np.uint8)
    counts = RowCounts.of(np.packbits(patterns, axis=1, bitorder="little"), bits=bits)
    return counts.scaled(draw_(st.sampled_from([0.3, 1.0, 50.0]))) if draw_(st.booleans()) else counts


def latent(shape: tuple[int, ...], *, seed: int, classes: int = 4) -> FloatArray:
    """A dependent joint: a mixture of products."""
    rng = np.random.default_rng(seed)
    joint: FloatArray = np.zeros(shape)
    for weight in rng.dirichlet(np.ones(classes)):
        part = np.array(weight)
        for size in shape:
            part = np.multiply.outer(part, rng.dirichlet(np.full(size, 0.5)))
        joint += part
    total: float = joint.sum()
    return joint / total


def random_reports(sizes: tuple[int, ...], *, n: int) -> RowCounts:
    """Draw random rows with at least one bit in each attribute, and random counts."""
    rng = np.random.default_rng(1)
    parts = [rng.random((n, size)) < 0.4 for size in sizes]
    for part in parts:
        part[np.arange(n), rng.integers(part.shape[1], size=n)] = True
    rows = np.packbits(np.concatenate(parts, axis=1), axis=1, bitorder="little")
    distinct = RowCounts.of(rows, bits=sum(sizes))
    counts = rng.integers(1, 9, size=len(distinct.counts))
    return RowCounts(bits=distinct.bits, rows=distinct.rows, counts=counts)
