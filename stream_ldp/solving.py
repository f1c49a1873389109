"""A question about a window becomes an answer. Pure: the same question has the same answer, wherever asked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

from stream_ldp import plausibility
from stream_ldp.estimate import Axis, Estimate, Fit, Independence, Plausibility, Privacy, WindowBounds
from stream_ldp.estimators import estimator
from stream_ldp.heavy_hitters.phases import epoch_epsilon
from stream_ldp.item_collection import ItemCollection, PhaseSeries
from stream_ldp.joint_collection import EstimateSpec, JointCollection
from stream_ldp.mechanisms import HadamardResponse
from stream_ldp.mechanisms.set_hadamard import SetHadamardResponse
from stream_ldp.ranking import Candidate, EpochPrivacy, HeavyHitter, NextPhase, Ranking
from stream_ldp.statistics import ReportSums, RowCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.collection import Collection
    from stream_ldp.heavy_hitters.phases import Standing
    from stream_ldp.mechanisms import FrequencyOracle
    from stream_ldp.merging import Question

__all__ = ["Answer", "answer_from_bytes", "row_counts", "solve", "warm_start"]

Answer = Estimate | Ranking


def answer_from_bytes(collection: Collection, data: bytes) -> Answer:
    """An answer of a collection, as it was published.

    Raises:
        ValueError: not one, or of a schema version that this release does not read.
    """
    return Ranking.from_bytes(data) if isinstance(collection, ItemCollection) else Estimate.from_bytes(data)


def solve(collection: Collection, question: Question) -> Answer:
    """Answer a question.

    Heavy: it belongs on a thread of its own, never on an event loop.
    """
    match collection, question.series:
        case JointCollection(), EstimateSpec() as spec:
            return _solve_joint(collection, spec, question)
        case ItemCollection(), PhaseSeries() as phase:
            return _solve_phase(collection, phase, question)
        case _:
            raise TypeError(f"a {type(collection).__name__} has no {type(question.series).__name__}")


def _solve_joint(collection: JointCollection, spec: EstimateSpec, question: Question) -> Estimate:
    window = collection.window
    mechanism = collection.mechanism
    counts = row_counts(question, bits=len(collection.bits_of(spec.of)))
    sizes, channel = collection.sizes_of(spec), mechanism.channel()
    solution = estimator(spec.method, stop=spec.stop, delta=spec.delta).estimate(
        counts, sizes=sizes, channel=channel, start=warm_start(question, sizes=sizes)
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
        plausibility=_told(likeness),
        privacy=Privacy(per_report=one.epsilon, for_ever=for_ever.epsilon, assumption=for_ever.assumption),
    )


def row_counts(question: Question, *, bits: int) -> RowCounts:
    """All the counts of a question in one, weighted, their sum the effective number of reports.

    That is (sum w n)^2 / (sum w^2 n) over windows of n reports and weight w (Kish, 1965): the number of equally
    weighted reports that say as much, so that errors and tests made from these counts are right.
    """
    sums = [
        (weight, RowCounts.sum([part for part in parts if isinstance(part, RowCounts)], bits=bits))
        for weight, parts in question.windows
    ]
    if len(sums) == 1:
        return sums[0][1]
    weighted = sum(weight * counts.reports for weight, counts in sums)
    squared = sum(weight**2 * counts.reports for weight, counts in sums)
    scale = weighted / squared if squared else 1.0
    return RowCounts.sum([counts.scaled(scale * weight) for weight, counts in sums], bits=bits)


def warm_start(question: Question, *, sizes: tuple[int, ...]) -> NDArray[np.float64] | None:
    """The joint that the solver starts from; None where no estimate of this shape is before it."""
    before = question.before
    return before.joint() if isinstance(before, Estimate) and before.shape == sizes else None


def _solve_phase(collection: ItemCollection, phase: PhaseSeries, question: Question) -> Ranking:
    method, schedule = collection.method, collection.schedule
    before = cast("Ranking | None", question.before)
    inquiry = method.first() if before is None else before.next_inquiry
    epoch = schedule.epoch_at(question.window_ms, phase.number)
    if inquiry is None or inquiry.phase != phase.number or epoch is None:
        raise ValueError(f"answers to {phase.name} in the window of {question.window_ms} ms, which does not ask it")
    oracle = method.oracle(inquiry)
    ((_, parts),) = question.windows
    sums = ReportSums.sum([part for part in parts if isinstance(part, ReportSums)], counters=oracle.counters)
    standing, then = method.solve(
        inquiry, sums=sums.values, reports=sums.reports, before=None if before is None else before.standing
    )
    likeness = _draws(oracle, sums.values)
    return Ranking(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        method=method.name,
        epoch=epoch,
        phase=phase.number,
        phases=schedule.phases,
        window=WindowBounds(start_ms=question.window_ms, end_ms=question.window_ms + schedule.size_ms),
        final=question.final,
        reports=sums.reports,
        reports_per_phase=(*(() if before is None else before.reports_per_phase), sums.reports),
        items=_heavy_hitters(collection, standing),
        candidates=tuple(
            Candidate(number=number, frequency=frequency, standard_error=error)
            for number, frequency, error in zip(
                standing.items.tolist(), standing.frequency.tolist(), standing.standard_error.tolist(), strict=True
            )
        ),
        next_phase=None
        if then is None or then.candidates is None
        else NextPhase(padding=then.padding, correction=then.correction, candidates=tuple(then.candidates.tolist())),
        plausibility=_told(likeness),
        privacy=EpochPrivacy(
            per_epoch=epoch_epsilon(method),
            phases=tuple(each.epsilon for each in method.phases),
            assumption="any two sets of items; another epoch costs as much again",
        ),
    )


def _heavy_hitters(collection: ItemCollection, standing: Standing) -> tuple[HeavyHitter, ...]:
    """The k best; a frequency is where it can be."""
    k = collection.method.k
    return tuple(
        HeavyHitter(rank=rank, item=collection.items.name(item), frequency=frequency, standard_error=error)
        for rank, (item, frequency, error) in enumerate(
            zip(
                standing.items[:k].tolist(),
                np.clip(standing.frequency[:k], 0.0, 1.0).tolist(),
                standing.standard_error[:k].tolist(),
                strict=True,
            ),
            start=1,
        )
    )


def _told(likeness: plausibility.Plausibility) -> Plausibility:
    """What an answer says of it."""
    return Plausibility(
        statistic=likeness.statistic,
        degrees_of_freedom=likeness.degrees_of_freedom,
        p_value=likeness.p_value,
        flagged=likeness.flagged,
    )


def _draws(oracle: FrequencyOracle, sums: NDArray[np.int64]) -> plausibility.Plausibility:
    """Whether the rows of a Hadamard matrix were drawn uniformly; other oracles leave nothing to test."""
    if not isinstance(oracle, HadamardResponse | SetHadamardResponse):
        return plausibility.check_draws(np.zeros(1, dtype=np.int64))
    return plausibility.check_draws(oracle.draws(sums))
