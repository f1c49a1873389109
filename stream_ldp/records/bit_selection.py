"""The bits of some attributes out of packed rows, by look-up in tables and without unpacking a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.packing import row_width
from stream_ldp.pipeline.statistics import RowCounts

#: Bits of a selection up to which a table takes two bytes of a row at once: it has 2^16 entries of one or two bytes,
#: which stay in a core's cache. Entries for wider selections are longer, so their tables take a byte, and have 2^8.
_NARROW_BITS = 16

#: Bits of the widest entry of a table.
_ENTRY_BITS = 64

#: The bits of every byte, uint64, shape (256, 8).
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.uint64)


class Pieces:
    """Packed rows, cut into pieces of one or two bytes that serve as indices; each is cut once and shared."""

    def __init__(self, rows: NDArray[np.uint8]) -> None:
        """Take rows, uint8, shape (n, width)."""
        self.rows = rows
        self._cut: dict[tuple[int, int], NDArray[np.intp]] = {}

    def piece(self, first: int, length: int) -> NDArray[np.intp]:
        """Return bytes `first` to `first + length - 1` of every row as a number, intp, shape (n,)."""
        if (first, length) not in self._cut:
            rows = self.rows
            if length == 2 and rows.shape[1] % 2 == 0 and rows.flags.c_contiguous:
                number = rows.view("<u2")[:, first // 2].astype(np.intp)
            else:
                number = rows[:, first].astype(np.intp)
                if length == 2 and first + 1 < rows.shape[1]:
                    number |= rows[:, first + 1].astype(np.intp) << 8
            self._cut[first, length] = number
        return self._cut[first, length]


class BitSelection:
    """Some bits of a row, in some order, packed to a row of their own.

    The tables hold, for every value of a piece of the row, the selected bits in it at their new places; a new row is
    the union of what the tables say of the pieces of the old one.
    """

    def __init__(self, bits: Sequence[int]) -> None:
        """Select the bits at these distinct positions, at least one; bit b is bit b % 8 of byte b // 8."""
        self.width = row_width(len(bits))
        length = 2 if len(bits) <= _NARROW_BITS else 1
        self._entries = [
            _tables(bits[begin : begin + _ENTRY_BITS], length) for begin in range(0, len(bits), _ENTRY_BITS)
        ]

    def of(self, pieces: Pieces) -> NDArray[np.uint8]:
        """Return the selected bits of each row, packed; uint8, shape (n, ceil(selected bits / 8))."""
        entries = [_union(pieces, tables)[:, None].view(np.uint8) for tables in self._entries]
        packed = entries[0] if len(entries) == 1 else np.concatenate(entries, axis=1)
        return np.ascontiguousarray(packed[:, : self.width])


def selected(counts: RowCounts, bits: Sequence[int]) -> RowCounts:
    """Return the counts of some bits of the rows; see `BitSelection`."""
    return counts.mapped(BitSelection(bits).of(Pieces(counts.rows)), bits=len(bits))


class _Table(NamedTuple):
    """What the piece of a row from byte `first` on contributes, for each of its values."""

    first: int
    length: int
    entries: NDArray[np.unsignedinteger[Any]]


def _tables(bits: Sequence[int], length: int) -> list[_Table]:
    """Make the tables for bits that fit one entry."""
    size = next(size for size in (8, 16, 32, 64) if len(bits) <= size)
    # For each byte of a row, the new places of its eight bits, as numbers with this bit set; 0 if not selected.
    places: dict[int, NDArray[np.uint64]] = {}
    for place, bit in enumerate(bits):
        places.setdefault(bit // 8, np.zeros(8, dtype=np.uint64))[bit % 8] = 1 << place
    tables: dict[int, NDArray[np.uint64]] = {}
    for byte, selected in places.items():
        of_byte = (_BITS * selected).sum(axis=1, dtype=np.uint64)
        first, behind = byte // length * length, byte % length
        table = tables.setdefault(first, np.zeros(256**length, dtype=np.uint64))
        table |= np.tile(np.repeat(of_byte, 256**behind), 256 ** (length - 1 - behind))
    return [_Table(first, length, table.astype(f"<u{size // 8}")) for first, table in tables.items()]


def _union(pieces: Pieces, tables: Sequence[_Table]) -> NDArray[np.unsignedinteger[Any]]:
    union, *others = (np.take(table.entries, pieces.piece(table.first, table.length)) for table in tables)
    for other in others:
        union |= other
    return union
