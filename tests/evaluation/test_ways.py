"""Random sets of attributes."""

from __future__ import annotations

import math

from stream_ldp.evaluation.ways import drawn_sets


def test_sets_are_drawn_once_each_within_the_cells() -> None:
    sizes = (41, 2, 3, 16, 5, 2, 9, 7)
    found = drawn_sets(sizes, ways=3, sets=15, most_cells=300, seed=4)
    assert len(found) == len(set(found)) == 15
    assert all(of == tuple(sorted(of)) and math.prod(sizes[place] for place in of) <= 300 for of in found)
    assert found == drawn_sets(sizes, ways=3, sets=15, most_cells=300, seed=4)
    assert found != drawn_sets(sizes, ways=3, sets=15, most_cells=300, seed=5)
    many = drawn_sets((2,) * 60, ways=5, sets=10, most_cells=32, seed=0)
    assert len(set(many)) == 10
    assert drawn_sets((9, 9), ways=2, sets=3, most_cells=80, seed=0) == []
