"""Tests of synthetic records: which structure the evidence gives them, and that they repeat."""

import numpy as np
import pytest

from stream_ldp.collection.synthesis import Synthesis
from stream_ldp.synthesis.graph import Structure
from stream_ldp.synthesis.records import synthesize, tree_of
from tests.synthesis.examples import exact

SURE = {(0, 1): 1e-9, (1, 2): 1e-9}
CIRCLE = SURE | {(0, 2): 1e-9}


@pytest.mark.parametrize(
    ("method", "p_values", "structure"),
    [
        ("auto", {}, Structure.INDEPENDENT),
        ("auto", {(0, 1): 0.04}, Structure.INDEPENDENT),
        ("auto", SURE, Structure.TREE),
        ("auto", CIRCLE, Structure.JUNCTION_TREE),
        ("tree", CIRCLE, Structure.TREE),
        ("independent", CIRCLE, Structure.INDEPENDENT),
        ("lopub", {}, Structure.JUNCTION_TREE),
    ],
)
def test_records_are_as_dependent_as_the_evidence(
    method: str, p_values: dict[tuple[int, int], float], structure: Structure
) -> None:
    found = synthesize(exact(p_values), records=50, seed=1, method=Synthesis(method))
    assert found.structure is structure
    assert found.records.shape == (50, 4)


def test_where_some_depend_a_pair_that_stands_out_has_an_edge_and_others_have_none() -> None:
    tree = tree_of(exact(SURE | {(0, 3): 0.03}), method=Synthesis.AUTO)
    assert {node.clique for node in tree.nodes} == {(0, 1), (1, 2), (0, 3)}


def test_noise_alone_seldom_makes_an_edge() -> None:
    """P-values of independent attributes are uniform: 1 graph in 20 has an edge; of 400, at most 36 by chance."""
    generator = np.random.default_rng(5)
    pairs = [(one, other) for one in range(4) for other in range(one + 1, 4)]
    graphs = [dict(zip(pairs, generator.random(len(pairs)).tolist(), strict=True)) for _ in range(400)]
    found = [synthesize(exact(each), records=1, seed=0).structure for each in graphs]
    assert sum(each is not Structure.INDEPENDENT for each in found) <= 36


def test_the_seed_repeats_the_records_and_another_does_not() -> None:
    first, again, other = (synthesize(exact(SURE), records=100, seed=seed).records for seed in (7, 7, 8))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
