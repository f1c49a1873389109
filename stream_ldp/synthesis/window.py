"""The distributions of all attributes of a collection in one window, from which its records are made."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from stream_ldp.collection.located import parse_values
from stream_ldp.errors import ParameterError
from stream_ldp.pipeline.weighted_sums import weighted_sums
from stream_ldp.records import solve as records
from stream_ldp.records.collection import JointCollection
from stream_ldp.synthesis.marginals import OfPairs, OfViews, least_p_value
from stream_ldp.views.collection import ViewsCollection
from stream_ldp.views.fitting import Fit
from stream_ldp.views.tables import view_tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stream_ldp.collection import Collection, Series
    from stream_ldp.pipeline.question import Question
    from stream_ldp.synthesis.marginals import Marginals

__all__ = ["all_pairs", "labels_of", "marginals_of"]


def all_pairs(collection: Collection) -> Collection:
    """Make a collection with the same reports that asks for all that records are made from.

    Raises:
        ParameterError: the collection has no records, or its pairs have too many cells.
    """
    if isinstance(collection, ViewsCollection):
        return collection
    if not isinstance(collection, JointCollection):
        raise ParameterError(
            f"{collection.name} has no records: synthetic ones are made of collections of joint distributions, by "
            "rr-ldp, by k-rr, or by `kind: sampled` with `ask`"
        )
    names = [attribute.name for attribute in collection.attributes]
    fields = {name: getattr(collection, name) for name in JointCollection.model_fields}
    asked = [(name,) for name in names] + list(combinations(names, 2))
    estimates = [{"name": f"of-{number}", "of": of, "prior": "window"} for number, of in enumerate(asked)]
    return parse_values(JointCollection, fields | {"estimates": estimates})


def marginals_of(collection: Collection, question: Callable[[Series], Question[Any, Any]]) -> Marginals:
    """Estimate the distributions of a window.

    collection: one that `all_pairs` has made.
    question: makes the question about one of its series.
    """
    if isinstance(collection, ViewsCollection):
        return OfViews(fit=_fit(collection, question(collection.series[0])))
    asked = cast("JointCollection", collection)
    answers = {asked.positions_of(each.of): records.solve(asked, question(each)) for each in asked.series}
    pairs = {(of[0], of[1]): answer for of, answer in answers.items() if len(of) == 2}
    return OfPairs(
        attributes=[answers[place,].joint() for place in range(len(asked.attributes))],
        pairs={of: answer.joint() for of, answer in pairs.items()},
        p_values={
            of: least_p_value(answer.independence.p_value, statistic=answer.independence.statistic)
            for of, answer in pairs.items()
        },
    )


def _fit(collection: ViewsCollection, question: Question[Any, Any]) -> Fit:
    questions = collection.questions
    windows = weighted_sums(question, counters=questions.counters)
    tables = view_tables(questions, windows, reports_per_user=collection.window.reports_per_user)
    return Fit(tables, sizes=[len(attribute.labels) for attribute in collection.attributes])


def labels_of(collection: Collection, synthetic: NDArray[np.int64]) -> dict[str, NDArray[np.str_]]:
    """Return the values of records, by the name of the attribute; each of shape (n,).

    synthetic: value indices, shape (n, attributes).
    """
    labels = {each.name: each.labels for each in cast("JointCollection | ViewsCollection", collection).attributes}
    return {
        name: np.array(values)[column] for (name, values), column in zip(labels.items(), synthetic.T, strict=True)
    }
