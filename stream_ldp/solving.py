"""A question about a window becomes an estimate. Pure: the same question has the same answer, wherever asked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from stream_ldp import plausibility
from stream_ldp.estimate import Axis, Estimate, Fit, Independence, Plausibility, Privacy, WindowBounds
from stream_ldp.estimators import estimator

if TYPE_CHECKING:
    from stream_ldp.collection import Collection
    from stream_ldp.merging import Question

__all__ = ["solve"]


def solve(collection: Collection, question: Question) -> Estimate:
    """Estimate the joint distribution that a question asks for.

    Heavy: it belongs on a thread of its own, never on an event loop.
    """
    spec, window = question.spec, collection.window
    mechanism = collection.mechanism
    counts = question.counts(bits=len(collection.bits_of(spec.of)))
    sizes, channel = collection.sizes_of(spec), mechanism.channel()
    solution = estimator(spec.method, stop=spec.stop, delta=spec.delta).estimate(
        counts, sizes=sizes, channel=channel, start=question.start
    )
    one, for_ever = mechanism.privacy_loss(reports=1), mechanism.privacy_loss(reports=math.inf)
    likeness = plausibility.check(
        counts,
        sizes=sizes,
        channel=channel,
        design_effect=plausibility.design_effect(mechanism, reports_per_user=window.reports_per_user),
    )
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
        fit=Fit(
            method=solution.method,
            stop=solution.stop,
            start=solution.start,
            iterations=solution.iterations,
            certificate=solution.certificate,
            certified=solution.certified,
        ),
        independence=Independence(
            marginals=tuple(tuple(marginal.tolist()) for marginal in solution.independence.marginals),
            statistic=solution.independence.statistic,
            p_value=solution.independence.p_value,
            dependent=solution.independence.dependent,
        ),
        plausibility=Plausibility(
            statistic=likeness.statistic,
            degrees_of_freedom=likeness.degrees_of_freedom,
            p_value=likeness.p_value,
            flagged=likeness.flagged,
        ),
        privacy=Privacy(per_report=one.epsilon, for_ever=for_ever.epsilon, assumption=for_ever.assumption),
    )
