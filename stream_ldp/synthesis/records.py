"""Records that are drawn from estimates: a function of the estimates and a seed alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.collection.synthesis import Synthesis
from stream_ldp.synthesis.graph import Edge, Structure, cliques_of, mutual_information, spanning_forest
from stream_ldp.synthesis.junction_tree import JunctionTree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from stream_ldp.synthesis.marginals import MarginalModel

#: Most cells of a clique. The joint of one has to be fitted and drawn from; wider ones only spread the same evidence.
MAX_CELLS = 5_000
#: Probability that independent attributes have any edge at all; and, where some do depend, that two that do not have
#: one. The noise of such an edge is what shrinking leaves of it, so a few cost little: with 1 in 20 shared out to all
#: pairs, records of NLTCS at epsilon 1 are as far off as independent ones, and half as far without.
SIGNIFICANCE = 0.05
#: Least correlation that LoPub takes for a dependence (Ren et al., 2018, section 6).
_LOPUB_PHI = 0.2


@dataclass(frozen=True, kw_only=True)
class SyntheticRecords:
    """Records, and how their attributes depend on each other.

    records: value indices, int64, shape (n, attributes).
    cliques: positions of the attributes that were drawn together.
    """

    records: NDArray[np.int64]
    structure: Structure
    cliques: tuple[tuple[int, ...], ...]


def synthesize(
    marginals: MarginalModel,
    *,
    records: int,
    seed: int | Sequence[int],
    method: Synthesis = Synthesis.AUTO,
    most_cells: int = MAX_CELLS,
) -> SyntheticRecords:
    """Draw records whose attributes have the estimated distributions (LoPub; Ren et al., 2018, algorithm 4).

    records: how many.
    seed: one number or several, which determine them, together with the estimates.
    most_cells: most cells of the joint distribution of attributes that are drawn together.
    """
    tree = tree_of(marginals, method=method, most_cells=most_cells)
    cliques = tuple(node.clique for node in tree.nodes)
    structure = Structure.TREE if max(map(len, cliques)) <= 2 else Structure.JUNCTION_TREE
    return SyntheticRecords(
        records=tree.records(marginals, count=records, generator=np.random.default_rng(seed)),
        structure=Structure.INDEPENDENT if max(map(len, cliques)) == 1 else structure,
        cliques=cliques,
    )


def tree_of(marginals: MarginalModel, *, method: Synthesis, most_cells: int = MAX_CELLS) -> JunctionTree:
    """Choose which attributes depend on each other, and return the tree of their cliques."""
    weights = _edges(marginals, method=method)
    return JunctionTree.of(cliques_of(marginals.sizes, weights, most_cells=most_cells))


def _edges(marginals: MarginalModel, *, method: Synthesis) -> dict[Edge, float]:
    """Return the pairs that get an edge, with their mutual information in nats."""
    if method is Synthesis.INDEPENDENT:
        return {}
    p_values = marginals.p_values
    information = {of: mutual_information(marginals.joint(of)) for of in p_values}
    if method is Synthesis.LOPUB:
        return {of: nats for of, nats in information.items() if nats >= _least_information(marginals, of)}
    evident = {of: information[of] for of in _evident(p_values)}
    return evident if method is Synthesis.AUTO else {of: evident[of] for of in spanning_forest(evident)}


def _least_information(marginals: MarginalModel, of: Edge) -> float:
    fewest = min(marginals.sizes[place] for place in of)
    return (fewest - 1) * _LOPUB_PHI**2 / 2


def _evident(p_values: Mapping[Edge, float]) -> list[Edge]:
    """Return the pairs that stand out of the noise; none if all of them together do not (Fisher, 1925)."""
    # Not imported above: a program that only reads a collection solves nothing, and need not wait for SciPy.
    from scipy.special import chdtrc  # noqa: PLC0415

    if not p_values:
        return []
    smallest = np.finfo(np.float64).tiny
    statistic = -2 * sum(math.log(max(p_value, smallest)) for p_value in p_values.values())
    if chdtrc(2 * len(p_values), statistic) >= SIGNIFICANCE:
        return []
    return [of for of, p_value in p_values.items() if p_value < SIGNIFICANCE]
