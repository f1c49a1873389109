"""The distributions of all attributes of a collection in one window, from which its records are made."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.collection.located import parse_values
from stream_ldp.collection.synthesis import SynthesizingCollection
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records import solve as records
from stream_ldp.records.answer import Estimate
from stream_ldp.records.bit_selection import selected
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.series import EstimateSpec
from stream_ldp.synthesis.marginals import MarginalModel, PairMarginals, ViewMarginals, least_p_value
from stream_ldp.views.collection import ViewsCollection
from stream_ldp.views.solve import fitted
from stream_ldp.views.temporal import filter_all


def all_pairs(collection: JointCollection, *, stop: str | None = None) -> JointCollection:
    """Make a collection with the same reports that asks for every attribute and every pair, of a window alone.

    stop: of the estimates; None for ours.
    """
    names = [attribute.name for attribute in collection.attributes]
    asked = [(name,) for name in names] + list(combinations(names, 2))
    fields = {name: getattr(collection, name) for name in JointCollection.model_fields}
    form = {"prior": "window", "stop": stop or "certificate"}
    estimates = [{"name": f"of-{number}", "of": of, **form} for number, of in enumerate(asked)]
    return parse_values(JointCollection, fields | {"estimates": estimates, "synthesis": None})


def marginals_of_views(
    collection: ViewsCollection,
    task: WindowTask[Any, Any],
    *,
    earlier: Mapping[str, Any],
    stop: str | None = None,  # noqa: ARG001  views are fitted in one way
) -> MarginalModel:
    """See `SynthesizingCollection.marginals`: they learn from previous windows as far as the estimates do."""
    tables, fit = fitted(collection, task)
    return ViewMarginals(fit=filter_all(collection, task, tables, fit, earlier=earlier))


def marginals_of_pairs(
    collection: JointCollection,
    task: WindowTask[Any, Any],
    *,
    earlier: Mapping[str, Any],  # noqa: ARG001
    stop: str | None = None,
) -> MarginalModel:
    """See `SynthesizingCollection.marginals`: those of every pair, which no window before has estimated."""
    asked = all_pairs(collection, stop=stop)

    def answer(series: EstimateSpec) -> Estimate:
        windows = _selected(task, asked.row_bits_of(series.of))
        return records.solve(asked, replace(task, series=series, windows=windows, before=None))

    def direct(of: tuple[int, ...]) -> NDArray[np.float64]:
        names = tuple(asked.attributes[place].name for place in of)
        return answer(asked.series[0].model_copy(update={"of": names})).joint()

    answers = {asked.positions_of(each.of): answer(each) for each in asked.series}
    pairs = {(of[0], of[1]): each for of, each in answers.items() if len(of) == 2}
    return PairMarginals(
        attributes=[answers[place,].joint() for place in range(len(asked.attributes))],
        pairs={of: each.joint() for of, each in pairs.items()},
        p_values={
            of: least_p_value(each.independence.p_value, statistic=each.independence.statistic)
            for of, each in pairs.items()
        },
        direct=direct if stop == "paper" else None,
    )


def _selected(task: WindowTask[Any, Any], bits: Sequence[int]) -> tuple[tuple[float, tuple[RowCounts, ...]], ...]:
    """Return the counts of some bits of whole rows."""
    return tuple((weight, tuple(selected(part, bits) for part in parts)) for weight, parts in task.counts(RowCounts))


def labels_of(collection: SynthesizingCollection, synthetic: NDArray[np.int64]) -> dict[str, NDArray[np.str_]]:
    """Return the values of records, by the name of the attribute; each of shape (n,).

    synthetic: value indices, shape (n, attributes).
    """
    names = [attribute.name for attribute in collection.attributes]
    columns = zip(names, collection.record_labels, synthetic.T, strict=True)
    return {name: np.array(labels)[column] for name, labels, column in columns}
