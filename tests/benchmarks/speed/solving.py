"""Comparisons of the solver: one evaluation of the EM map, and whole estimates."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import RRLDP, SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts, RowTally
from stream_ldp.records.bit_selection import BitSelection, Pieces
from stream_ldp.records.estimators import estimator
from stream_ldp.records.estimators.likelihood import Likelihood
from tests.benchmarks.speed import before
from tests.benchmarks.speed.measuring import Comparison, Work
from tests.records.estimators.examples import latent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_ldp.records.estimators import FloatArray

__all__ = ["comparisons"]

#: The rows of a dense matrix of rows and cells: the largest that fits 256 MB.
_DENSE_ENTRIES = 2**25


def comparisons(scale: float) -> Iterator[Comparison]:
    """Yield the comparisons, on `scale` times as many reports as are meant."""
    for sizes, reports in (((8, 8), 200_000), ((8, 8, 8), 200_000), ((4, 4, 4, 4, 4), 20_000)):
        counts, mechanism = _reports(sizes, round(scale * reports))
        joint = latent(sizes, seed=2)
        yield _evaluation(counts, mechanism, joint)
        if len(sizes) <= 3:
            yield from _estimates(counts, mechanism, joint)
    yield _all_pairs(round(scale * 1_000_000))


def _evaluation(counts: RowCounts, mechanism: RRLDP, joint: FloatArray) -> Comparison:
    sizes, supports = mechanism.sizes, mechanism.supports
    likelihood = Likelihood.of(counts, sizes=sizes, supports=supports)
    likelihood.score(joint)
    rows = len(counts.counts)
    against = {"row by row": Work(run=lambda: before.score_by_row(counts, sizes, supports, joint))}
    dense = min(rows, _DENSE_ENTRIES // joint.size)
    some = RowCounts(bits=counts.bits, rows=counts.rows[:dense], counts=counts.counts[:dense])
    plain = before.DenseEM(some, sizes, supports)
    against["plain dense EM"] = Work(run=lambda: plain.score(joint), units=dense / rows)
    return Comparison(
        work=f"one EM evaluation, {_shape(sizes)} values, {rows:,} distinct rows",
        unit="ms",
        now=Work(run=lambda: likelihood.score(joint)),
        against=against,
    )


def _estimates(counts: RowCounts, mechanism: RRLDP, start: FloatArray) -> Iterator[Comparison]:
    sizes, supports = mechanism.sizes, mechanism.supports
    certified = estimator("em", stop="certificate", delta=1e-3)

    def solve(start: FloatArray | None = None) -> object:
        return certified.estimate(counts, sizes=sizes, supports=supports, start=start)

    likelihood = Likelihood.of(counts, sizes=sizes, supports=supports)
    joint = np.full(sizes, 1 / np.prod(sizes))
    cold = certified.estimate(counts, sizes=sizes, supports=supports)
    drifted = 0.95 * cold.joint + 0.05 * start
    for name, work in (("cold", Work(run=solve)), ("warm", Work(run=lambda: solve(drifted)))):
        yield Comparison(
            work=f"{_shape(sizes)} values, {counts.reports:,} reports, to the certificate, {name}",
            unit="ms",
            now=work,
            against={"one evaluation": Work(run=lambda: likelihood.score(joint))},
        )


def _all_pairs(reports: int) -> Comparison:
    """Compare the solving of all pairs of eight attributes with one evaluation for each of them."""
    mechanism = RRLDP(sizes=(8,) * 8, f=0.25, p=0.25, q=0.75)
    rng = np.random.default_rng(1)
    kind = rng.integers(4, size=reports)
    values = np.stack([(kind * shift + rng.binomial(5, 0.3, size=reports)) % 8 for shift in range(1, 9)], axis=1)
    rows = mechanism.perturb(values, entropy=SeededEntropy(1))
    pieces, pairs = Pieces(rows), list(combinations(range(8), 2))
    counted = []
    for pair in pairs:
        tally = RowTally(16)
        tally.update(BitSelection(mechanism.columns(pair)).of(pieces))
        counted.append(tally.take_changed(closing=True)[0])
    certified = estimator("em", stop="certificate", delta=1e-3)
    supports = mechanism.supports[:2]
    likelihoods = [Likelihood.of(each, sizes=(8, 8), supports=supports) for each in counted]
    uniform = np.full((8, 8), 1 / 64)
    return Comparison(
        work=f"28 pairs of 8 x 8 values, {reports:,} reports, from counts to the certificates",
        unit="s",
        now=Work(run=lambda: [certified.estimate(each, sizes=(8, 8), supports=supports) for each in counted]),
        against={"one evaluation each": Work(run=lambda: [each.score(uniform) for each in likelihoods])},
    )


def _reports(sizes: tuple[int, ...], reports: int) -> tuple[RowCounts, RRLDP]:
    joint = latent(sizes, seed=1)
    mechanism = RRLDP(sizes=sizes, f=0.25, p=0.25, q=0.75)
    cells = np.random.default_rng(1).choice(joint.size, size=reports, p=joint.ravel())
    values = np.stack(np.unravel_index(cells, sizes), axis=1)
    return RowCounts.of(mechanism.perturb(values, entropy=SeededEntropy(1)), bits=mechanism.bits), mechanism


def _shape(sizes: tuple[int, ...]) -> str:
    return f"{len(sizes)} x {sizes[0]}"
