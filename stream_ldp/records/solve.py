"""The solver of collections of records: it answers a task with an estimate."""

from __future__ import annotations

import hashlib
import math
import threading
from collections import OrderedDict
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from stream_ldp.filtering.weighted_reports import WeightedReports
from stream_ldp.mechanisms.privacy_loss import round_up
from stream_ldp.mechanisms.randomness.pseudonym import PSEUDONYM_BITS
from stream_ldp.pipeline.published import published_of_window
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import fewest_users
from stream_ldp.records.answer import Estimate, JointFilter, Linked, Privacy, Temporal
from stream_ldp.records.bit_selection import selected
from stream_ldp.records.distribution import Axis
from stream_ldp.records.estimators import Likelihood, Past, Population, Recurrence, estimator, fits, hidden_factor
from stream_ldp.records.linking import LinkedUsers, each_user_once, users_of
from stream_ldp.records.plan import published

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Mechanism
    from stream_ldp.pipeline.window_task import WindowTask
    from stream_ldp.records.collection import JointCollection
    from stream_ldp.records.estimators import Temporal as Solved
    from stream_ldp.records.series import EstimateSpec

T = TypeVar("T")


class SmallCache(Generic[T]):
    """The latest results of a slow function, by what they depend on; threads may share it."""

    def __init__(self, *, most: int) -> None:
        """Begin with none.

        most: number of results that are kept.
        """
        self._most = most
        self._lock = threading.Lock()
        self._results: OrderedDict[Hashable, T] = OrderedDict()

    def of(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of a key, and make it if it is not kept.

        Two threads that ask for the same at a time may both make it: none waits for what another one makes.

        key: equal where results are equal.
        make: the function, without side effects; what it raises is raised, and nothing is kept.
        """
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
        made = make()
        with self._lock:
            self._results[key] = made
            while len(self._results) > self._most:
                self._results.popitem(last=False)
        return made


#: The factors that were learnt last: a worker hardly answers among more than 64 sets of attributes at a time.
_FACTORS: SmallCache[tuple[NDArray[np.float64], ...] | None] = SmallCache(most=64)
#: Digits of the errors and weights that a final leaves, and of its mean, some of whose coefficients are ten thousand
#: times as noisy as others, which must not drown in the rounding of these. Of scores, some are a hundredth of others.
_DIGITS, _DIGITS_OF_MEAN, _DIGITS_OF_SCORES = 6, 12, 3


def solve(collection: JointCollection, task: WindowTask[EstimateSpec, Estimate]) -> Estimate:
    """Solve a task about one window of one estimate."""
    spec, window = task.series, collection.window
    mechanism = collection.mechanism
    bits = len(collection.bits_of(spec.counted))
    positions, sizes = collection.positions_of(spec.of), collection.sizes_of(spec)
    users = None if collection.linked_ms is None else linked_users(task, bits=bits)
    if users is None:
        reports_per_user = window.reports_per_user
        counted = row_counts(task, bits=bits)
        factor = _factor(collection, spec, counted)
        counts = _own(collection, spec, counted)
        informative = _informative(counts, mechanism, reports_per_user=reports_per_user)
        effective, odds = float(informative.reports), None
    else:
        reports_per_user = 1.0
        counts = informative = each_user_once(_of_window(task, bits=PSEUDONYM_BITS + bits))
        effective = effective_reports(users, mechanism)
        odds, factor = mechanism.linked_odds(users.ones, users.reports), None
    solution = estimator(spec.method, stop=spec.stop, delta=spec.delta).estimate(
        supported(informative, mechanism, positions),
        sizes=sizes,
        supports=[mechanism.supports[position] for position in positions],
        start=warm_start(task, sizes=sizes),
        past=past(task, sizes=sizes),
        recurrence=_recurrence(collection, task),
        odds=odds,
        factor=factor,
    )
    one, lifetime = mechanism.privacy_loss(reports=1), mechanism.privacy_loss(reports=math.inf)
    plausibility = mechanism.plausibility(
        counts.unpacked(), counts.counts, positions, reports_per_user=reports_per_user
    )
    return Estimate(
        **task.head(collection),
        estimate=spec.name,
        effective_reports=effective,
        axes=tuple(
            Axis(attribute=attribute.name, values=attribute.values) for attribute in collection.attributes_of(spec)
        ),
        probability=tuple(solution.joint.ravel().tolist()),
        standard_error=tuple(solution.standard_error.ravel().tolist()),
        effects=solution.effects,
        fit=solution,
        independence=solution.independence,
        plausibility=plausibility,
        privacy=Privacy(
            per_report=one.epsilon,
            lifetime=lifetime.epsilon,
            all_answers=_all_buckets(mechanism),
            assumption=lifetime.assumption,
            published=published_of_window(task, collection, published, plausibility=plausibility),
        ),
        linked=None if users is None else _linked(users, collection),
        temporal=_temporal(solution.temporal, joint=solution.joint, final=task.final),
    )


def _all_buckets(mechanism: Mechanism) -> float | None:
    """Return the loss of reports that show all buckets of all attributes, in nats; None where values have none."""
    costs = mechanism.bucket_costs
    lost = [Fraction(each.responses_loss(responses=each.size, reports=math.inf)) for each in costs]
    return round_up(sum(lost, start=Fraction(0))) if lost else None


def users(collection: JointCollection, task: WindowTask[EstimateSpec, Estimate]) -> int:
    """Count the users who reported in a task's window, or bound their number where reports are not linked."""
    if collection.linked_ms is None:
        return fewest_users(collection, task)
    (_, parts), *_ = task.counts(RowCounts)
    return users_of(parts)


def row_counts(task: WindowTask[EstimateSpec, Estimate], *, bits: int) -> RowCounts:
    """Add up all counts of a task with their weights, scaled to sum to the effective number of reports.

    So many equally weighted reports hold as much information (see `WeightedReports`), and errors and tests that use
    these counts are right.

    Raises:
        TypeError: a part of the task is no count of rows.
    """
    sums = [(weight, RowCounts.sum(parts, bits=bits)) for weight, parts in task.counts(RowCounts)]
    if len(sums) == 1:
        return sums[0][1]
    scale = WeightedReports.of((weight, counts.reports) for weight, counts in sums).scale
    return RowCounts.sum([counts.scaled(scale * weight) for weight, counts in sums], bits=bits)


def linked_users(task: WindowTask[EstimateSpec, Estimate], *, bits: int) -> LinkedUsers:
    """Gather what the users of the window have reported in its period.

    bits: number of bits of a report of the estimate's attributes, without the pseudonym.

    Raises:
        TypeError: a part of the task is no count of rows.
    """
    windows = [RowCounts.sum(parts, bits=PSEUDONYM_BITS + bits) for _, parts in task.counts(RowCounts)]
    return LinkedUsers.of(windows, bits=bits)


def effective_reports(users: LinkedUsers, mechanism: Mechanism) -> float:
    """Return the number of reports of different users that would say as much: W users' reports less what they share.

    The W reports of a user have the variance of W / (1 + (W - 1) c) independent ones, c the permanent share of their
    noise; see `Mechanism.design_effect`.
    """
    return float((users.reports / (1.0 + (users.reports - 1.0) * mechanism.permanent_share)).sum())


def _of_window(task: WindowTask[EstimateSpec, Estimate], *, bits: int) -> RowCounts:
    (_, parts), *_ = task.counts(RowCounts)
    return RowCounts.sum(parts, bits=bits)


def few_return(users: LinkedUsers, *, floor: int) -> bool:
    """Decide whether so few users have come back, or have come anew, that their number would be about them."""
    if users.returned is None:
        return False
    back = int(users.returned.sum())
    return any(0 < each < floor for each in (back, len(users.returned) - back))


def _linked(users: LinkedUsers, collection: JointCollection) -> Linked:
    return Linked(
        users=len(users.reports),
        reports=int(users.reports.sum()),
        reports_per_user=users.reports_per_user,
        returning=None if few_return(users, floor=collection.floor) else users.returning,
        privacy=collection.linking or "",
    )


def _own(collection: JointCollection, spec: EstimateSpec, counted: RowCounts) -> RowCounts:
    """Select the bits of an estimate's own attributes in the rows that are counted for it."""
    if spec.counted == spec.of:
        return counted
    place = {bit: place for place, bit in enumerate(collection.bits_of(spec.counted))}
    return selected(counted, [place[bit] for bit in collection.bits_of(spec.of)])


def _factor(collection: JointCollection, spec: EstimateSpec, counted: RowCounts) -> list[NDArray[np.float64]] | None:
    """Learn what each value of an estimate's attributes has of the factor of those among which they are.

    Of all estimates of a window that are among the same attributes, the first one waits for it: it is kept.
    """
    if spec.among is None:
        return None
    mechanism = collection.mechanism
    informative = _informative(counted, mechanism, reports_per_user=collection.window.reports_per_user)
    positions = collection.positions_of(spec.among)
    found = _FACTORS.of(
        (mechanism, tuple(positions), _digest(informative)), lambda: factor_of(informative, mechanism, positions)
    )
    return None if found is None else [found[spec.among.index(name)] for name in spec.of]


def factor_of(
    counts: RowCounts, mechanism: Mechanism, attributes: Sequence[int]
) -> tuple[NDArray[np.float64], ...] | None:
    """Learn the hidden factor of some attributes from the rows that users report of them; see `hidden_factor`.

    counts: counts of rows whose bits are the mechanism's `columns` of these attributes. None is learnt of nobody.
    """
    likelihood = Likelihood.of(
        supported(counts, mechanism, attributes),
        sizes=tuple(mechanism.sizes[attribute] for attribute in attributes),
        supports=[mechanism.supports[attribute] for attribute in attributes],
    )
    return hidden_factor(likelihood) if likelihood.reports else None


def _digest(counts: RowCounts) -> bytes:
    """Name counts of rows by their content: equal for equal counts, and else different."""
    about = hashlib.blake2b(f"{counts.bits} {counts.rows.shape} {counts.counts.dtype}".encode())
    about.update(counts.rows.tobytes())
    about.update(counts.counts.tobytes())
    return about.digest()


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


def warm_start(task: WindowTask[EstimateSpec, Estimate], *, sizes: tuple[int, ...]) -> NDArray[np.float64] | None:
    """Return the joint that the solver starts from; None if the answer before is missing or has another shape."""
    before = task.before
    return before.joint() if before is not None and before.shape == sizes else None


def past(task: WindowTask[EstimateSpec, Estimate], *, sizes: tuple[int, ...]) -> Past | None:
    """Return what the previous final leaves to this window; None if that is nothing."""
    before = task.earlier
    if before is None or before.temporal is None or before.temporal.filter is None:
        return None
    left = before.temporal.filter
    mean, variances, permanent, scores = (
        np.array(cells, dtype=np.float64).reshape(before.shape)
        for cells in (left.mean, left.variances, left.permanent, left.scores)
    )
    found = Past(
        mean=mean,
        variances=variances,
        permanent=permanent,
        scores=scores,
        evidence=np.array(left.evidence, dtype=np.float64),
        population=_population(left, before),
    )
    return found if fits(found, sizes) else None


def _population(left: JointFilter, before: Estimate) -> Population | None:
    """Return what is known of the population's joint: that of the previous final unless the filter has another."""
    if left.population_variance is None or left.population_reports is None:
        return None
    joint = (
        before.joint()
        if left.population is None
        else np.array(left.population, dtype=np.float64).reshape(before.shape)
    )
    return Population(joint, left.population_variance, left.population_reports)


def _recurrence(collection: JointCollection, task: WindowTask[EstimateSpec, Estimate]) -> Recurrence | None:
    window = collection.window
    if collection.linked_ms is not None or not task.series.is_temporal(window):
        return None
    return Recurrence(
        returning=1.0 if collection.returning is None else collection.returning,
        permanent=collection.mechanism.permanent_share,
        elapsed=task.elapsed(window.size_ms),
        forgotten=task.forgotten(window),
    )


def _temporal(temporal: Solved | None, *, joint: NDArray[np.float64], final: bool) -> Temporal | None:
    """Return the part of the answer that says what previous windows have contributed.

    joint: of the answer.
    """
    if temporal is None:
        return None
    left = temporal.past
    known = left.population
    return Temporal(
        alone=tuple(temporal.alone.ravel().tolist()),
        users=temporal.users,
        drift=temporal.drift,
        jumped=temporal.jumped,
        filter=JointFilter(
            mean=_short(left.mean, digits=_DIGITS_OF_MEAN),
            variances=_short(left.variances),
            permanent=_short(left.permanent),
            scores=_short(left.scores, digits=_DIGITS_OF_SCORES),
            evidence=tuple(left.evidence.tolist()),
            population=None if known is None or known.joint is joint else _short(known.joint),
            population_variance=None if known is None else float(f"{known.variance:.{_DIGITS}g}"),
            population_reports=None if known is None else known.reports,
        )
        if final
        else None,
    )


def _short(array: NDArray[np.float64], *, digits: int = _DIGITS) -> tuple[float, ...]:
    """List the numbers of an array, to some digits, since there can be many."""
    return tuple(float(f"{number:.{digits}g}") for number in array.ravel().tolist())
