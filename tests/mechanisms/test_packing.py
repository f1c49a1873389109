"""Fields of any widths come back from packed rows, whose layout is that of `np.packbits` with the low bits first."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.mechanisms.packing import pack, unpack, unused_clear


@st.composite
def packed(draw: st.DrawFn) -> tuple[list[int], list[list[int]]]:
    widths = draw(st.lists(st.integers(1, 32), min_size=1, max_size=6))
    users = draw(st.integers(0, 4))
    return widths, [draw(st.lists(st.integers(0, 2**width - 1), min_size=users, max_size=users)) for width in widths]


@given(packed())
def test_fields_come_back_unchanged_from_packed_rows(example: tuple[list[int], list[list[int]]]) -> None:
    widths, fields = example
    arrays = [np.array(field, dtype=np.int64) for field in fields]
    rows = pack(arrays, widths)
    bits = [
        [field >> bit & 1 for field, width in zip(user, widths, strict=True) for bit in range(width)]
        for user in zip(*fields, strict=True)
    ]
    expected = np.array(bits, dtype=np.uint8).reshape(len(bits), sum(widths))
    assert np.array_equal(rows, np.packbits(expected, axis=1, bitorder="little"))
    assert [field.tolist() for field in unpack(rows, widths)] == fields
    assert unused_clear(rows, sum(widths)).all()


@pytest.mark.parametrize("bits", range(1, 17))
def test_a_set_bit_beyond_the_report_is_detected(bits: int) -> None:
    width = -(-bits // 8)
    rows = np.packbits(np.eye(8 * width, dtype=np.uint8), axis=1, bitorder="little")
    assert unused_clear(rows, bits).tolist() == [bit < bits for bit in range(8 * width)]


@pytest.mark.parametrize("rows", [np.zeros((4, 1), np.uint8), np.zeros((4, 3), np.uint8), np.zeros(4, np.uint8)])
def test_rows_of_another_shape_are_refused(rows: Any) -> None:
    for read in (lambda: unpack(rows, [5, 4]), lambda: unused_clear(rows, 9)):
        with pytest.raises(ValueError, match=r"reports of 9 bits have rows of shape \(n, 2\)"):
            read()
