"""The dependence between two attributes that earlier finals show, for a design that is yet to be chosen."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.collection.located import Misplaced, parse_values
from stream_ldp.errors import ParameterError
from stream_ldp.quantity import quantity
from stream_ldp.views.collection import ViewsCollection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from stream_ldp.records.answer import Estimate

#: Least and most dependence that a collection file may state, with the digits that it is stated with.
_LEAST, _MOST, _DIGITS = 0.001, 0.999, 3


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownDependence:
    """How much pairs of attributes depend on each other.

    mean: mean AVD between their joint distributions and the products of their margins.
    pairs: number of pairs.
    """

    mean: float
    pairs: int


def for_finals(collection: ViewsCollection, finals: Iterable[Estimate]) -> tuple[ViewsCollection, str]:
    """Return the collection whose design is chosen for the dependence that finals show, and say what it is.

    Raises:
        ParameterError, Misplaced: see `shown_dependence` and `expecting`.
    """
    shown = shown_dependence(collection, finals)
    found = expecting(collection, shown)
    dependence, pairs = found.mechanism_spec.dependence, quantity(shown.pairs, "pair")
    return found, f"dependence: {dependence}, as the finals show of {pairs} of attributes"


def shown_dependence(collection: ViewsCollection, finals: Iterable[Estimate]) -> ShownDependence:
    """Return the mean dependence of the pairs of a collection's attributes, each in the last final that has it.

    finals: of any collections with these attributes, whatever perturbs them. Those of views have only the pairs that
        some of their users have reported together: all others are estimated as independent.

    Raises:
        ParameterError: they have no pair of these attributes.
    """
    names = {attribute.name for attribute in collection.attributes}
    last: dict[frozenset[str], tuple[int, float]] = {}
    for final in finals:
        joint = final.joint()
        for one, other in combinations(range(len(final.axes)), 2):
            pair = frozenset((final.axes[one].attribute, final.axes[other].attribute))
            covers = final.views is None or any(pair <= set(view.attributes) and view.reports for view in final.views)
            known = last.get(pair)
            if covers and pair <= names and (known is None or known[0] < final.window.start_ms):
                last[pair] = final.window.start_ms, _dependence(joint, one, other)
    if not last:
        raise ParameterError(
            "the finals have no two attributes of this collection together: have some pairs asked first, such as by "
            "`ask: pairs`, and take the finals of their estimates"
        )
    return ShownDependence(mean=float(np.mean([found for _, found in last.values()])), pairs=len(last))


def expecting(collection: ViewsCollection, shown: ShownDependence) -> ViewsCollection:
    """Make a collection whose design is chosen for the dependence that finals have shown.

    Raises:
        Misplaced: its file names the views itself.
    """
    if collection.mechanism_spec.ask != "auto":
        raise Misplaced(
            f"only `ask: auto` chooses views by the dependence to expect; this file asks about "
            f"{collection.mechanism_spec.asked}",
            "mechanism",
            "ask",
        )
    mean = round(min(max(shown.mean, _LEAST), _MOST), _DIGITS)
    fields = {name: getattr(collection, name) for name in ViewsCollection.model_fields}
    return parse_values(
        ViewsCollection,
        fields | {"mechanism_spec": collection.mechanism_spec.model_copy(update={"dependence": mean})},
    )


def _dependence(joint: NDArray[np.float64], one: int, other: int) -> float:
    """Return the AVD between the joint distribution of two axes and the product of their margins."""
    pair = joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in (one, other)))
    product = np.outer(pair.sum(axis=1), pair.sum(axis=0))
    return float(np.abs(pair - product).sum() / 2)
