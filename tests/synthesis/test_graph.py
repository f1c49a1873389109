"""Tests of graphs of attributes: information, trees and cliques."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.synthesis.graph import cliques_of, mutual_information, spanning_forest


def test_mutual_information_is_0_without_dependence_and_the_entropy_of_a_copy() -> None:
    assert mutual_information(np.outer([0.2, 0.8], [0.5, 0.3, 0.2])) == pytest.approx(0, abs=1e-15)
    entropy = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert mutual_information(np.diag([0.25, 0.75])) == pytest.approx(entropy)


def test_a_forest_has_the_edges_of_most_weight_and_no_circle() -> None:
    weights = {(0, 1): 3.0, (1, 2): 2.0, (0, 2): 1.0, (4, 5): 0.1}
    assert spanning_forest(weights) == [(0, 1), (1, 2), (4, 5)]
    assert spanning_forest({}) == []


def test_the_missing_chord_of_a_square_is_added() -> None:
    square = {(0, 1): 1.0, (1, 2): 1.0, (2, 3): 1.0, (0, 3): 1.0}
    assert sorted(map(len, cliques_of((2, 2, 2, 2), square, most_cells=8))) == [3, 3]


def test_the_weakest_edge_of_a_clique_with_too_many_cells_is_left_out() -> None:
    triangle = {(0, 1): 0.5, (1, 2): 0.1, (0, 2): 0.4}
    assert cliques_of((2, 3, 2), triangle, most_cells=12) == [(0, 1, 2)]
    assert sorted(cliques_of((2, 3, 2), triangle, most_cells=11)) == [(0, 1), (0, 2)]


def test_a_pair_with_too_many_cells_has_no_edge() -> None:
    assert sorted(cliques_of((50, 50, 2), {(0, 1): 9.0, (0, 2): 1.0}, most_cells=100)) == [(0, 2), (1,)]


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda edge: edge[0] < edge[1])))
def test_cliques_are_maximal_hold_every_edge_and_every_attribute(edges: set[tuple[int, int]]) -> None:
    cliques = cliques_of((2,) * 7, dict.fromkeys(edges, 1.0), most_cells=2**7)
    assert all(any(set(edge) <= set(clique) for clique in cliques) for edge in edges)
    assert {place for clique in cliques for place in clique} == set(range(7))
    assert not any(set(one) <= set(other) for one, other in itertools.permutations(cliques, 2))
