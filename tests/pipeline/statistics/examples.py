"""Draw rows of many widths, and count them."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_ldp.mechanisms.packing import row_width
from stream_ldp.pipeline.statistics import RowCounts

#: Below and above a byte, the widest dense table, the widest integer key, and beyond both.
_BITS = [1, 5, 8, 9, 16, 17, 64, 65, 100]


@st.composite
def reports(draw: st.DrawFn, *, parts: int = 1) -> tuple[int, list[list[int]]]:
    """Draw the bits of a row, and parts of rows as integers; few distinct ones, so that rows repeat."""
    bits = draw(st.sampled_from(_BITS))
    rows = st.one_of(st.integers(0, min(2**bits - 1, 3)), st.integers(0, 2**bits - 1))
    return bits, [draw(st.lists(rows, max_size=30)) for _ in range(parts)]


def packed(rows: list[int], bits: int) -> NDArray[np.uint8]:
    """Pack rows, given as integers; uint8, shape (rows, ceil(bits / 8))."""
    width = row_width(bits)
    return np.frombuffer(b"".join(row.to_bytes(width, "little") for row in rows), np.uint8).reshape(-1, width)


def counts_of(rows: list[int], bits: int) -> RowCounts:
    """Count rows, given as integers."""
    return RowCounts.of(packed(rows, bits), bits=bits)
