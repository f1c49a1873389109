"""The solver of collections of records: it answers a question with an estimate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.pipeline.published import published_of_window
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.answer import Axis, Estimate, Filter, Privacy, Temporal
from stream_ldp.records.estimators import Past, Recurrence, estimator, fits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Mechanism
    from stream_ldp.pipeline.question import Question
    from stream_ldp.records.collection import JointCollection
    from stream_ldp.records.estimators import Temporal as Solved
    from stream_ldp.records.series import EstimateSpec

__all__ = ["past", "row_counts", "solve", "supported", "warm_start"]


def solve(collection: JointCollection, question: Question[EstimateSpec, Estimate]) -> Estimate:
    """Answer a question about one window of one estimate."""
    spec, window = question.series, collection.window
    mechanism = collection.mechanism
    counts = row_counts(question, bits=len(collection.bits_of(spec.of)))
    informative = _informative(counts, mechanism, reports_per_user=window.reports_per_user)
    positions, sizes = collection.positions_of(spec.of), collection.sizes_of(spec)
    solution = estimator(spec.method, stop=spec.stop, delta=spec.delta).estimate(
        supported(informative, mechanism, positions),
        sizes=sizes,
        supports=[mechanism.supports[position] for position in positions],
        start=warm_start(question, sizes=sizes),
        past=past(question, sizes=sizes),
        recurrence=_recurrence(collection, question),
    )
    one, for_ever = mechanism.privacy_loss(reports=1), mechanism.privacy_loss(reports=math.inf)
    return Estimate(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        estimate=spec.name,
        window=WindowBounds(start_ms=question.window_ms, end_ms=question.window_ms + window.size_ms),
        final=question.final,
        reports=question.reports,
        effective_reports=float(informative.reports),
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
        privacy=Privacy(
            per_report=one.epsilon,
            for_ever=for_ever.epsilon,
            assumption=for_ever.assumption,
            published=published_of_window(question, collection, epsilon=one.epsilon, inputs=one.assumption),
        ),
        temporal=_temporal(solution.temporal, final=question.final),
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


def _informative(counts: RowCounts, mechanism: Mechanism, *, reports_per_user: float) -> RowCounts:
    """Scale counts to the number of reports of as many users that would have as much noise."""
    effect = mechanism.design_effect(reports_per_user=reports_per_user)
    return counts if effect == 1.0 else counts.scaled(1.0 / effect)


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


def past(question: Question[EstimateSpec, Estimate], *, sizes: tuple[int, ...]) -> Past | None:
    """Return what the final before leaves to this window; None if that is nothing."""
    before = question.before
    if before is None or before.window.start_ms >= question.window_ms:
        return None
    if before.temporal is None or before.temporal.filter is None:
        return None
    left = before.temporal.filter
    found = Past(
        joint=before.joint(),
        variances=np.array(left.variances, dtype=np.float64),
        permanent=np.array(left.permanent, dtype=np.float64),
        evidence=np.array(left.evidence, dtype=np.float64),
    )
    return found if fits(found, sizes) else None


def _recurrence(collection: JointCollection, question: Question[EstimateSpec, Estimate]) -> Recurrence | None:
    window, before = collection.window, question.before
    if not question.series.is_temporal(window):
        return None
    elapsed = 1 if before is None else (question.window_ms - before.window.start_ms) // window.size_ms
    return Recurrence(
        returning=1.0 if window.returning is None else window.returning,
        permanent=collection.mechanism.permanent_share,
        elapsed=max(1, elapsed),
    )


def _temporal(temporal: Solved | None, *, final: bool) -> Temporal | None:
    if temporal is None:
        return None
    left = temporal.past
    return Temporal(
        alone=temporal.alone.tolist(),
        users=temporal.users,
        drift=temporal.drift,
        jumped=temporal.jumped,
        filter=Filter(
            variances=_short(left.variances), permanent=_short(left.permanent), evidence=tuple(left.evidence.tolist())
        )
        if final
        else None,
    )


def _short(array: NDArray[np.float64]) -> list[Any]:
    """Nest the numbers of an array, to six digits: they are errors and weights, and there can be many."""
    short = [float(f"{number:.6g}") for number in array.ravel().tolist()]
    nested: list[Any] = np.array(short).reshape(array.shape).tolist()
    return nested
