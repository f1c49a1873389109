"""Reference estimates that were stored once, and the reports that they are of.

python -m tests.records.estimators.reference > tests/golden/estimates.json

The file is made again only where an estimate is meant to change.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.mechanisms import Support
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import Solution, estimator
from tests.records.estimators.examples import latent

if TYPE_CHECKING:
    from stream_ldp.records.estimators import FloatArray

#: Values that are stored of an array; of a larger one, evenly spread entries and its first moments.
_STORED = 64


@dataclass(frozen=True, kw_only=True)
class Case:
    """Reports of a dependent joint, drawn bit by bit without the package, and how they are solved.

    one_value: whether a report names one value of each attribute; otherwise it has a bit for each value.
    warm: whether the estimate starts from a joint that is off, as after a drift.
    weighted: whether the counts are scaled, as with memory.
    """

    sizes: tuple[int, ...]
    reports: int
    one: float
    zero: float
    method: str = "em"
    stop: str = "certificate"
    one_value: bool = False
    warm: bool = False
    weighted: bool = False

    @property
    def name(self) -> str:
        """Name in the file."""
        flags = [flag for flag in ("one_value", "warm", "weighted") if getattr(self, flag)]
        shape = "x".join(map(str, self.sizes))
        return " ".join([shape, str(self.reports), f"{self.one}-{self.zero}", self.method, self.stop, *flags])

    def counts(self) -> RowCounts:
        """Draw the reports."""
        joint = latent(self.sizes, seed=1)
        rng = np.random.default_rng(1)
        values = np.unravel_index(rng.choice(joint.size, size=self.reports, p=joint.ravel()), self.sizes)
        bits = [self._bits(rng, value, size) for value, size in zip(values, self.sizes, strict=True)]
        rows = np.packbits(np.concatenate(bits, axis=1), axis=1, bitorder="little")
        counts = RowCounts.of(rows, bits=sum(self.sizes))
        return counts.scaled(0.7) if self.weighted else counts

    def _bits(self, rng: np.random.Generator, values: Any, size: int) -> Any:
        if self.one_value:
            kept = rng.random(len(values)) < self.one
            values = np.where(kept, values, (values + rng.integers(1, size, size=len(values))) % size)
            return values[:, None] == np.arange(size)
        hot = values[:, None] == np.arange(size)
        return rng.random(hot.shape) < np.where(hot, self.one, self.zero)

    def solve(self) -> Solution:
        """Estimate the joint."""
        make = Support.of_one_value if self.one_value else Support.of_bits
        return estimator(self.method, stop=self.stop, delta=1e-3).estimate(
            self.counts(),
            sizes=self.sizes,
            supports=[make(one=self.one, zero=self.zero) for _ in self.sizes],
            start=latent(self.sizes, seed=2) if self.warm else None,
        )


CASES = (
    Case(sizes=(5,), reports=2_000, one=0.7, zero=0.3),
    Case(sizes=(2, 2), reports=500, one=0.7, zero=0.3),
    Case(sizes=(8, 8), reports=20_000, one=0.6875, zero=0.3125),
    Case(sizes=(8, 8), reports=20_000, one=0.6875, zero=0.3125, warm=True),
    Case(sizes=(8, 8), reports=20_000, one=0.6875, zero=0.3125, weighted=True),
    Case(sizes=(8, 8), reports=200, one=0.6, zero=0.4),
    Case(sizes=(8, 8), reports=20_000, one=0.875, zero=0.125, method="lasso"),
    Case(sizes=(8, 8), reports=20_000, one=0.875, zero=0.125, method="lremh"),
    Case(sizes=(8, 8), reports=20_000, one=0.875, zero=0.125, stop="paper"),
    Case(sizes=(8, 8), reports=20_000, one=0.875, zero=0.125, method="lremh", stop="paper"),
    Case(sizes=(9, 7), reports=3_000, one=0.6, zero=0.05, one_value=True),
    Case(sizes=(3, 5, 2), reports=3_000, one=0.8, zero=0.2),
    Case(sizes=(3, 5, 2), reports=3_000, one=1.0, zero=0.3),
    Case(sizes=(3, 5, 2), reports=3_000, one=0.7, zero=0.0),
    Case(sizes=(8, 8, 8), reports=20_000, one=0.875, zero=0.125),
    Case(sizes=(8, 8, 8), reports=20_000, one=0.6875, zero=0.3125, warm=True),
    Case(sizes=(4, 4, 4, 4, 4), reports=5_000, one=0.875, zero=0.125),
    Case(sizes=(2,) * 8, reports=5_000, one=0.8, zero=0.2),
    Case(sizes=(41, 9), reports=3_000, one=0.9, zero=0.1),
    Case(sizes=(20, 3, 18), reports=2_000, one=0.9, zero=0.1),
)


def described(solution: Solution) -> dict[str, Any]:
    """Describe a solution in numbers, as they are stored."""
    marginals = np.concatenate(solution.independence.marginals)
    return {
        "joint": _stored(solution.joint),
        "standard_error": _stored(solution.standard_error),
        "marginals": _stored(marginals),
        "iterations": solution.iterations,
        "certificate": solution.certificate,
        "tolerance": solution.tolerance,
        "certified": solution.certified,
        "start": str(solution.start),
        "log_likelihood": solution.log_likelihood,
        "prior_users": solution.prior_users,
        "independence": {
            "log_likelihood": solution.independence.log_likelihood,
            "statistic": solution.independence.statistic,
            "p_value": solution.independence.p_value,
        },
    }


def _stored(array: FloatArray) -> list[float]:
    flat = array.ravel()
    if len(flat) <= _STORED:
        return [float(each) for each in flat]
    spread = flat[:: math.ceil(len(flat) / _STORED)]
    places = np.arange(len(flat)) / len(flat)
    return [float(each) for each in (*spread, flat @ places, flat @ places**2, np.square(flat).sum())]


if __name__ == "__main__":
    lines = (f"{json.dumps(case.name)}: {json.dumps(described(case.solve()))}" for case in CASES)
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")
