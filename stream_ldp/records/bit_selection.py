"""The bits of some attributes out of packed rows, by look-up in tables and without unpacking a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.packing import row_width
from stream_ldp.pipeline.statistics import RowCounts

#: Bits of a selection up to which a table takes two bytes of a row at once: it has 2^16 entries of one or two bytes,
#: which stay in a core's cache. Entries for wider selections are longer, so their tables take a byte, and have 2^8.
_NARROW_BITS = 16

#: Bits of the widest entry of a table.
_ENTRY_BITS = 64

#: Tables that are kept to be shared with later selections, 128 KiB each at most. Pairs of eight values in a byte each
#: have three of them.
_KEPT_TABLES = 64


class Pieces:
    """Packed rows, cut into pieces of one or two bytes that serve as indices; each is cut, and looked up, once."""

    def __init__(self, rows: NDArray[np.uint8]) -> None:
        """Take rows, uint8, shape (n, width)."""
        self.rows = rows
        self._cut: dict[tuple[int, int], NDArray[np.intp]] = {}
        self._found: dict[tuple[int, _Table], NDArray[np.unsignedinteger[Any]]] = {}

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

    def found(self, first: int, table: _Table) -> NDArray[np.unsignedinteger[Any]]:
        """Look the piece from byte `first` on up in a table; not to be changed, shape (n,)."""
        if (first, table) not in self._found:
            self._found[first, table] = np.take(table.entries, self.piece(first, table.length))
        return self._found[first, table]


class BitSelection:
    """Some bits of a row, in some order, packed to a row of their own.

    The tables hold, for every value of a piece of the row, the selected bits in it at their new places; a new row is
    the union of what the tables say of the pieces of the old one. Places are relative to the first one of the piece,
    so a table, and what is found in it, serves each estimate that an attribute is part of, in whatever order.
    """

    def __init__(self, bits: Sequence[int]) -> None:
        """Select the bits at these distinct positions, at least one; bit b is bit b % 8 of byte b // 8."""
        self.width = row_width(len(bits))
        length = 2 if len(bits) <= _NARROW_BITS else 1
        self._entries = [
            _parts(bits[begin : begin + _ENTRY_BITS], length) for begin in range(0, len(bits), _ENTRY_BITS)
        ]

    def of(self, pieces: Pieces) -> NDArray[np.uint8]:
        """Return the selected bits of each row, packed; uint8, shape (n, ceil(selected bits / 8))."""
        entries = [_union(pieces, parts)[:, None].view(np.uint8) for parts in self._entries]
        packed = entries[0] if len(entries) == 1 else np.concatenate(entries, axis=1)
        return np.ascontiguousarray(packed[:, : self.width])


def selected(counts: RowCounts, bits: Sequence[int]) -> RowCounts:
    """Return the counts of some bits of the rows; see `BitSelection`."""
    return counts.mapped(BitSelection(bits).of(Pieces(counts.rows)), bits=len(bits))


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class _Table:
    """What a piece of a row contributes, for each of its values.

    length: bytes of the piece.
    entries: unsigned integers, shape (256 ** length,).
    """

    length: int
    entries: NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class _Part:
    """What the piece of a row from byte `first` on contributes: its entry in a table, moved up by `shift` bits."""

    first: int
    table: _Table
    shift: int


def _parts(bits: Sequence[int], length: int) -> list[_Part]:
    """Divide bits that fit one entry among the pieces that they are in."""
    size = next(size for size in (8, 16, 32, 64) if len(bits) <= size)
    # For each piece, its selected bits and their new places.
    pieces: dict[int, list[tuple[int, int]]] = {}
    for place, bit in enumerate(bits):
        first = bit // 8 // length * length
        pieces.setdefault(first, []).append((bit - 8 * first, place))
    return [
        _Part(
            first=first,
            table=_table(tuple((bit, place - places[0][1]) for bit, place in places), length, size),
            shift=places[0][1],
        )
        for first, places in pieces.items()
    ]


@lru_cache(maxsize=_KEPT_TABLES)
def _table(places: tuple[tuple[int, int], ...], length: int, size: int) -> _Table:
    """Make the table of a piece: of its selected bits, each with its new place, in entries of so many bits."""
    entries = np.zeros(256**length, dtype=f"<u{size // 8}")
    numbers = np.arange(256**length, dtype=np.uint64)
    for bit, place in places:
        entries |= ((numbers >> bit & 1) << place).astype(entries.dtype)
    return _Table(length=length, entries=entries)


def _union(pieces: Pieces, parts: Sequence[_Part]) -> NDArray[np.unsignedinteger[Any]]:
    union: NDArray[np.unsignedinteger[Any]]
    union, *others = (np.left_shift(pieces.found(part.first, part.table), part.shift) for part in parts)
    for other in others:
        union |= other
    return union
