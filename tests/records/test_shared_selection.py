"""Tests that selections that are counted together have the counts of each alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_ldp.records.bit_selection import BitSelection, Pieces
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.layout import JointLayout
from stream_ldp.records.shared_selection import SHARED_BITS, SHARED_ROWS, shared_selections

#: Bits of a row.
_BITS = 40


@given(
    chosen=st.lists(st.lists(st.integers(0, _BITS - 1), min_size=1, max_size=8, unique=True), max_size=8),
    seed=st.integers(0, 9),
)
def test_shared_selections_have_the_counts_of_each_alone(chosen: list[list[int]], seed: int) -> None:
    selections: dict[tuple[str, ...], list[int]] = {(f"e{number}",): bits for number, bits in enumerate(chosen)}
    rows = np.random.default_rng(seed).integers(256, size=(200, _BITS // 8), dtype=np.uint8)
    found: dict[tuple[str, ...], NDArray[np.int64]] = {}
    for shared in shared_selections(selections):
        assert len(shared.names) > 1
        found |= dict(shared.counts(shared.patterns(Pieces(rows))))
    for name, counts in found.items():
        alone = BitSelection(selections[name]).of(Pieces(rows))[:, 0]
        assert counts.tolist() == np.bincount(alone, minlength=2 ** len(selections[name])).tolist()
    left = [set(bits) for name, bits in selections.items() if name not in found]
    assert all(len(one | other) > SHARED_BITS for one in left for other in left if one is not other)


def test_many_reports_at_once_are_counted_as_few_at_a_time() -> None:
    pairs = [(0, 1), (2, 9), (4, 5), (3, 14), (11, 12)]
    collection = JointCollection.model_validate(
        {
            "collection": "survey",
            "mechanism": {"kind": "rr-ldp", "f": 0.25, "p": 0.25, "q": 0.75},
            "attributes": [{"name": f"a{number}", "values": ["no", "yes"]} for number in range(16)],
            "estimates": [{"name": f"e{i}", "of": [f"a{i}", f"a{j}"]} for i, j in pairs]
            + [{"name": "wide", "of": [f"a{number}" for number in range(9)]}],
            "window": {"size": "60s"},
        }
    )
    layout = JointLayout(collection)
    rows = np.random.default_rng(1).integers(256, size=(SHARED_ROWS + 1, 4), dtype=np.uint8)
    together, apart = layout.tallies(), layout.tallies()
    layout.count(together, rows)
    for part in np.array_split(rows, 7):
        layout.count(apart, part)
    for of, tally in together.items():
        assert tally.take_changed(closing=True) == apart[of].take_changed(closing=True)
    # Where one of a group has been restored further than the others, it is not counted with them.
    some = dict(list(layout.tallies().items())[1:])
    layout.count(some, rows)
    assert {of: tally.take_changed(closing=True)[0].reports for of, tally in some.items() if len(of) == 2} == {
        of: len(rows) for of in some if len(of) == 2
    }
