"""Tests of junction trees: their order, and the records that are drawn from them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.evaluation.distance import joint_of
from stream_ldp.synthesis.graph import cliques_of
from stream_ldp.synthesis.junction_tree import JunctionTree
from tests.synthesis.examples import SIZES, TRUTH, exact

CHAIN = [(0, 1), (1, 2), (3,)]


@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda edge: edge[0] < edge[1])))
def test_what_a_node_shares_with_all_before_it_is_in_one_of_them(edges: set[tuple[int, int]]) -> None:
    """The running intersection property, without which the product of the nodes is no distribution."""
    tree = JunctionTree.of(cliques_of((2,) * 8, dict.fromkeys(edges, 1.0), most_cells=2**8))
    for number, node in enumerate(tree.nodes):
        before = [other.clique for other in tree.nodes[:number]]
        shared = {place for clique in before for place in clique} & set(node.clique)
        assert shared == set(node.separator)
        assert not shared or any(shared <= set(clique) for clique in before)
    assert sorted(place for node in tree.nodes for place in node.added) == list(range(8))


def test_records_have_the_distribution_of_the_tree() -> None:
    """Systematic sampling is off by less than a record for each cell of a clique and value of its separator."""
    records = JunctionTree.of(CHAIN).records(exact({}), count=5_000, generator=np.random.default_rng(1))
    assert records.shape == (5_000, 4)
    for of in [(0,), (0, 1), (1, 2), (3,)]:
        truth = TRUTH.sum(axis=tuple(place for place in range(4) if place not in of))
        found = joint_of(records[:, of], tuple(SIZES[place] for place in of))
        assert np.abs(found - truth).max() < 4 / 5_000
    # What depends only by way of another attribute does so by chance alone: 5 deviations of 5,000 draws.
    assert np.abs(joint_of(records, SIZES) - TRUTH).max() < 5 * np.sqrt(0.25 * TRUTH.max() / 5_000)


def test_as_few_records_as_one_can_be_drawn() -> None:
    tree = JunctionTree.of(CHAIN)
    assert tree.records(exact({}), count=1, generator=np.random.default_rng(1)).shape == (1, 4)


def test_every_value_of_a_single_record_is_as_likely_as_it_should_be() -> None:
    """Of 1,000 single records, the share of a value is within 5 deviations, at most 0.08."""
    tree, generator = JunctionTree.of(CHAIN), np.random.default_rng(2)
    records = np.vstack([tree.records(exact({}), count=1, generator=generator) for _ in range(1_000)])
    for place, size in enumerate(SIZES):
        truth = TRUTH.sum(axis=tuple(other for other in range(4) if other != place))
        assert np.abs(np.bincount(records[:, place], minlength=size) / 1_000 - truth).max() < 0.08


def test_the_order_of_records_says_nothing() -> None:
    """The first half of the records has the same values as the second, within 5 deviations of 2,500 draws."""
    records = JunctionTree.of(CHAIN).records(exact({}), count=5_000, generator=np.random.default_rng(3))
    halves = [np.bincount(half[:, 3], minlength=4) / 2_500 for half in (records[:2_500], records[2_500:])]
    assert np.abs(halves[0] - halves[1]).max() < 5 * np.sqrt(2 * 0.25 / 2_500)
