"""The solver of collections of records: it answers a question with an estimate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.answer import Axis, Estimate, Privacy
from stream_ldp.records.estimators import estimator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Mechanism
    from stream_ldp.pipeline.question import Question
    from stream_ldp.records.collection import JointCollection
    from stream_ldp.records.series import EstimateSpec

__all__ = ["row_counts", "solve", "supported", "warm_start"]


def solve(collection: JointCollection, question: Question[EstimateSpec, Estimate]) -> Estimate:
    """Answer a question about one window of one estimate."""
    spec, window = question.series, collection.window
    mechanism = collection.mechanism
    counts = row_counts(question, bits=len(collection.bits_of(spec.of)))
    positions, sizes = collection.positions_of(spec.of), collection.sizes_of(spec)
    solution = estimator(spec.method, stop=spec.stop, delta=spec.delta).estimate(
        supported(counts, mechanism, positions),
        sizes=sizes,
        supports=[mechanism.supports[position] for position in positions],
        start=warm_start(question, sizes=sizes),
    )
    one, for_ever = mechanism.privacy_loss(reports=1), mechanism.privacy_loss(reports=math.inf)
    return Estimate(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        estimate=spec.name,
        window=WindowBounds(start_ms=question.window_ms, end_ms=question.window_ms + window.size_ms),
        final=question.final,
        reports=question.reports,
        effective_reports=float(counts.reports),
        axes=tuple(
            Axis(attribute=attribute.name, values=attribute.values) for attribute in collection.attributes_of(spec)
        ),
        probability=solution.joint.tolist(),
        standard_error=solution.standard_error.tolist(),
        fit=solution,
        independence=solution.independence,
        plausibility=mechanism.plausibility(
            counts.unpacked(), counts.counts, positions, reports_per_user=window.reports_per_user
        ),
        privacy=Privacy(per_report=one.epsilon, for_ever=for_ever.epsilon, assumption=for_ever.assumption),
    )


def row_counts(question: Question[EstimateSpec, Estimate], *, bits: int) -> RowCounts:
    """Add up all counts of a question with their weights, scaled to sum to the effective number of reports.

    That number is (sum w n)^2 / (sum w^2 n) over windows of n reports and weight w (Kish, 1965): so many equally
    weighted reports hold as much information, so errors and tests that use these counts are right.

    Raises:
        TypeError: a part of the question is no count of rows.
    """
    sums = [(weight, RowCounts.sum(parts, bits=bits)) for weight, parts in question.counts(RowCounts)]
    if len(sums) == 1:
        return sums[0][1]
    weighted = sum(weight * counts.reports for weight, counts in sums)
    squared = sum(weight**2 * counts.reports for weight, counts in sums)
    scale = weighted / squared if squared else 1.0
    return RowCounts.sum([counts.scaled(scale * weight) for weight, counts in sums], bits=bits)


def supported(counts: RowCounts, mechanism: Mechanism, attributes: Sequence[int]) -> RowCounts:
    """Convert counts of report rows to counts of the patterns of values that they support, one bit for each value.

    counts: counts of rows whose bits are the mechanism's `columns` of these attributes.
    """
    bits = mechanism.supported(counts.unpacked(), attributes)
    return RowCounts(bits=bits.shape[1], rows=np.packbits(bits, axis=1, bitorder="little"), counts=counts.counts)


def warm_start(question: Question[EstimateSpec, Estimate], *, sizes: tuple[int, ...]) -> NDArray[np.float64] | None:
    """Return the joint that the solver starts from; None if the answer before is missing or has another shape."""
    before = question.before
    return before.joint() if before is not None and before.shape == sizes else None
