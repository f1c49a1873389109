"""Algorithm 2 of Chu, Long and Liu (2022) with a row for each report, as it is printed: what its run times are of.

The product counts equal reports first, and then iterates over the distinct ones. Its `stop: paper` has the published
answers, which these must equal, in times that are not those of the paper.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.evaluation.distance import average_variation_distance, joint_of
from stream_ldp.evaluation.trial import Measured, Trial
from stream_ldp.mechanisms import SeededEntropy, Support
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import FloatArray
from stream_ldp.records.estimators.lasso import paper_lasso

#: Most seconds of a processor that an answer may take; what takes longer is drawn as that.
LIMIT_S = 10.0
#: Most likelihoods that are kept from one iteration to the next, and that are made at once: 64 MB.
_KEPT = _AT_ONCE = 2**23


class TooLongError(Exception):
    """An answer has taken longer than it may."""


class ByRow:
    """The likelihood of every report given every cell that is left."""

    def __init__(
        self, bits: NDArray[np.bool_], sizes: tuple[int, ...], supports: Sequence[Support], cells: NDArray[np.int64]
    ) -> None:
        """Make it, or leave it to each iteration if it is too large to keep.

        bits: of each report, shape (n, sum of sizes).
        cells: numbers of the cells that are left, in C order.
        """
        self._parts = np.split(bits, np.cumsum(sizes)[:-1], axis=1)
        self._ratios = [support.ratio for support in supports]
        self._values = np.unravel_index(cells, sizes)
        self._cells = len(cells)
        self._reports = len(bits)
        self._rows_at_once = max(1, _AT_ONCE // self._cells)
        self._kept = list(self._made()) if self._reports * self._cells <= _KEPT else None

    def _made(self) -> Iterator[FloatArray]:
        for begin in range(0, self._reports, self._rows_at_once):
            rows = slice(begin, begin + self._rows_at_once)
            block: FloatArray = np.ones((len(self._parts[0][rows]), self._cells))
            for part, ratio, values in zip(self._parts, self._ratios, self._values, strict=True):
                block *= np.where(part[rows], 1.0, ratio)[:, values]
            yield block

    def step(self, joint: FloatArray, *, check: Callable[[], None]) -> FloatArray:
        """Return the mean of the posteriors of all reports (lines 30 to 35)."""
        mean = np.zeros_like(joint)
        for block in self._kept or self._made():
            mean += (1.0 / (block @ joint)) @ block
            check()
        return joint * mean / self._reports


def em_by_row(
    bits: NDArray[np.bool_],
    sizes: tuple[int, ...],
    supports: Sequence[Support],
    *,
    start: FloatArray,
    delta: float,
    check: Callable[[], None] = lambda: None,
) -> FloatArray:
    """Iterate from a start until no cell moves by delta; cells that start at 0 are left out (lines 11 and 22).

    check: is called between steps, and may raise.
    """
    flat = start.ravel()
    cells = np.flatnonzero(flat)
    likelihood = ByRow(bits, sizes, supports, cells)
    before, after = flat[cells], likelihood.step(flat[cells], check=check)
    while np.abs(after - before).max() >= delta:
        before, after = after, likelihood.step(after, check=check)
    joint = np.zeros_like(flat)
    joint[cells] = after
    return joint.reshape(sizes)


def measure(trial: Trial[Any]) -> Iterator[Measured]:
    """Measure each estimate of a collection by its method, as published, with a row for each report.

    The clock runs from the rows to the joint: of `lasso` it is the counts and the regression.
    """
    collection, mechanism = trial.collection, trial.collection.mechanism
    rows = mechanism.perturb(trial.people, entropy=SeededEntropy(trial.noise))
    unpacked = np.unpackbits(rows, axis=1, count=mechanism.bits, bitorder="little").astype(np.bool_)
    for spec in collection.estimates:
        positions, sizes = collection.positions_of(spec.of), collection.sizes_of(spec)
        supports = [mechanism.supports[position] for position in positions]
        bits = unpacked[:, list(mechanism.columns(positions))]
        begun = trial.clock()

        def check(begun: float = begun) -> None:
            if trial.clock() - begun > LIMIT_S:
                raise TooLongError

        try:
            if spec.method == "em":
                joint = np.full(sizes, 1.0 / np.prod(sizes))
            else:
                counts = RowCounts.of(np.packbits(bits, axis=1, bitorder="little"), bits=bits.shape[1])
                joint = paper_lasso(counts, sizes=sizes, supports=supports)
            if spec.method != "lasso":
                joint = em_by_row(bits, sizes, supports, start=joint, delta=spec.delta, check=check)
        except TooLongError:
            yield Measured(spec.name, {"over": 1.0}, LIMIT_S)
            continue
        seconds = trial.clock() - begun
        truth = joint_of(np.stack(collection.columns_of(trial.people, spec), axis=1), sizes)
        yield Measured(spec.name, {"avd": average_variation_distance(joint, truth), "over": 0.0}, seconds)
