"""Tests of the selection of bits: by tables, it is what unpacking and packing again would give."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.records.bit_selection import BitSelection, Pieces


@given(st.data(), st.integers(1, 200), st.integers(0, 20))
def test_selected_bits_are_those_of_unpacked_rows(data: st.DataObject, bits: int, rows: int) -> None:
    chosen = [
        data.draw(st.lists(st.integers(0, bits - 1), min_size=1, max_size=size, unique=True)) for size in (8, 16, 200)
    ]
    unpacked = np.random.default_rng(bits).integers(2, size=(rows, bits), dtype=np.uint8)
    pieces = Pieces(np.packbits(unpacked, axis=1, bitorder="little"))
    for each in chosen:
        expected = np.packbits(unpacked[:, each], axis=1, bitorder="little")
        np.testing.assert_array_equal(BitSelection(each).of(pieces), expected)


def test_bits_may_be_selected_in_any_order() -> None:
    rows = np.array([[0b0000_0001, 0b1000_0000], [0b0000_0010, 0]], dtype=np.uint8)
    assert BitSelection([15, 1, 0]).of(Pieces(rows)).tolist() == [[0b101], [0b010]]
