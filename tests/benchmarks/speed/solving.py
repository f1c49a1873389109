"""Comparisons of the solver: one evaluation of the EM map, and whole estimates."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from stream_ldp.mechanisms import RRLDP, SeededEntropy
from stream_ldp.mechanisms.k_rr import KRR
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.bit_selection import BitSelection, Pieces, selected
from stream_ldp.records.estimators import FloatArray, estimator, hidden_factor
from stream_ldp.records.estimators.likelihood import Likelihood
from stream_ldp.records.solve import supported
from tests.benchmarks.speed import before
from tests.benchmarks.speed.measuring import Comparison, Work
from tests.records.estimators.examples import latent

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
    yield _among(round(scale * 4_000))
    yield _named(round(scale * 30_000))


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
    counted = [RowCounts.of(BitSelection(mechanism.columns(pair)).of(pieces), bits=16) for pair in pairs]
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


def _among(reports: int) -> Comparison:
    """Compare pairs that have a factor of more attributes in common, learnt once, with pairs by themselves."""
    mechanism = RRLDP(sizes=(2,) * 16, f=0.5, p=0.5, q=0.75)
    rng = np.random.default_rng(1)
    hidden = rng.random((reports, 1)) < 0.4
    values = np.where(rng.random((reports, 16)) < 0.8, hidden, ~hidden).astype(np.int64)
    rows = RowCounts.of(mechanism.perturb(values, entropy=SeededEntropy(1)), bits=mechanism.bits)
    pairs = [(place, place + 1) for place in range(0, 16, 2)]
    counted = [selected(rows, mechanism.columns(pair)) for pair in pairs]
    certified = estimator("em", stop="certificate", delta=1e-3)
    supports = mechanism.supports

    def solve(factor: Sequence[FloatArray] | None) -> None:
        for pair, counts in zip(pairs, counted, strict=True):
            own = None if factor is None else [factor[place] for place in pair]
            certified.estimate(counts, sizes=(2, 2), supports=supports[:2], factor=own)

    def learn() -> Sequence[FloatArray] | None:
        return hidden_factor(Likelihood.of(rows, sizes=mechanism.sizes, supports=supports))

    return Comparison(
        work=f"8 pairs among 16 x 2 values, {reports:,} reports, and the factor that they share",
        unit="ms",
        now=Work(run=lambda: solve(learn())),
        against={"the factor alone": Work(run=learn), "the pairs without it": Work(run=lambda: solve(None))},
    )


def _named(reports: int) -> Comparison:
    """Compare the estimate of two attributes of many values, of which k-RR names one, with one evaluation."""
    sizes = (250, 300)
    mechanism = KRR(sizes=sizes, attribute_epsilon=5.0)
    rng = np.random.default_rng(1)
    values = np.stack([np.minimum(rng.zipf(1.5, size=reports), size) - 1 for size in sizes], axis=1)
    rows = RowCounts.of(mechanism.perturb(values, entropy=SeededEntropy(1)), bits=mechanism.bits)
    counts = supported(rows, mechanism, range(2))
    certified = estimator("em", stop="certificate", delta=1e-3)
    likelihood = Likelihood.of(counts, sizes=sizes, supports=mechanism.supports)
    uniform = np.full(sizes, 1 / np.prod(sizes))
    return Comparison(
        work=f"250 x 300 values, k-RR, {reports:,} reports, to the certificate",
        unit="ms",
        now=Work(run=lambda: certified.estimate(counts, sizes=sizes, supports=mechanism.supports)),
        against={"one evaluation": Work(run=lambda: likelihood.score(uniform))},
    )


def _reports(sizes: tuple[int, ...], reports: int) -> tuple[RowCounts, RRLDP]:
    joint = latent(sizes, seed=1)
    mechanism = RRLDP(sizes=sizes, f=0.25, p=0.25, q=0.75)
    cells = np.random.default_rng(1).choice(joint.size, size=reports, p=joint.ravel())
    values = np.stack(np.unravel_index(cells, sizes), axis=1)
    return RowCounts.of(mechanism.perturb(values, entropy=SeededEntropy(1)), bits=mechanism.bits), mechanism


def _shape(sizes: tuple[int, ...]) -> str:
    return f"{len(sizes)} x {sizes[0]}"
