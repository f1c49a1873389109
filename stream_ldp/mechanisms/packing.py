"""Unsigned integers of fixed widths as packed rows, the least significant bit of each first."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def row_width(bits: int) -> int:
    """Return the number of bytes of a packed row of `bits` bits."""
    return (bits + 7) // 8


def pack(fields: Sequence[NDArray[np.integer]], widths: Sequence[int]) -> NDArray[np.uint8]:
    """Pack fields into rows, uint8, shape (n, ceil(sum of widths / 8)); unused bits are 0.

    fields: shape (n,) each, below 2^width.
    widths: number of bits of each field, at most 32.
    """
    rows = np.zeros((len(fields[0]), -(-sum(widths) // 8)), dtype=np.uint8)
    offset = 0
    for field, width in zip(fields, widths, strict=True):
        first, shift = divmod(offset, 8)
        shifted = field.astype(np.int64) << shift
        offset += width
        for byte in range(first, -(-offset // 8)):
            rows[:, byte] |= (shifted >> (8 * (byte - first))).astype(np.uint8)
    return rows


def unpack(rows: NDArray[np.uint8], widths: Sequence[int]) -> list[NDArray[np.int64]]:
    """Unpack the fields of rows, int64, shape (n,) each.

    Raises:
        ValueError: the rows have another width.
    """
    _check_width(rows, sum(widths))
    fields = []
    offset = 0
    for width in widths:
        first, shift = divmod(offset, 8)
        offset += width
        field = rows[:, first].astype(np.int64)
        for byte in range(first + 1, -(-offset // 8)):
            field |= rows[:, byte].astype(np.int64) << (8 * (byte - first))
        fields.append(field >> shift & (1 << width) - 1)
    return fields


def unused_clear(rows: NDArray[np.uint8], bits: int) -> NDArray[np.bool_]:
    """Decide whether the bits of each row beyond its first `bits` are 0, bool, shape (n,).

    Raises:
        ValueError: the rows have another width.
    """
    _check_width(rows, bits)
    if bits % 8 == 0:
        return np.ones(len(rows), dtype=np.bool_)
    clear: NDArray[np.bool_] = rows[:, -1] >> (bits % 8) == 0
    return clear


def bits_at(rows: NDArray[np.uint8], positions: NDArray[np.integer], bits: int) -> NDArray[np.bool_]:
    """Return the bits at some positions of each row of so many bits, bool, shape (len(rows), len(positions))."""
    return np.unpackbits(rows, axis=1, count=bits, bitorder="little")[:, positions].astype(np.bool_)


def count(numbers: NDArray[np.integer], *, to: NDArray[np.int64]) -> None:
    """Add how often each number occurs to counts, int64, shape (most + 1,), in place.

    The time is that of the numbers if they are few, however many counts there are.
    """
    if len(numbers) < len(to):
        np.add.at(to, numbers, 1)
    else:
        to += np.bincount(numbers, minlength=len(to))


def bit_sums(rows: NDArray[np.uint8], bits: int) -> NDArray[np.int64]:
    """Count the rows in which each bit is 1, int64, shape (bits,)."""
    # Each of the 256 values of a byte is counted, and the counts are multiplied by the value's bits, so that no row
    # is unpacked.
    of_byte = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.int64)
    sums = [np.bincount(column, minlength=256) @ of_byte for column in rows.T]
    return np.concatenate(sums)[:bits]


def _check_width(rows: NDArray[np.uint8], bits: int) -> None:
    width = -(-bits // 8)
    if rows.ndim != 2 or rows.shape[1] != width:
        raise ValueError(f"reports of {bits} bits have rows of shape (n, {width}), got {rows.shape}")


def bits_of(widths: Sequence[int], attributes: Sequence[int]) -> tuple[int, ...]:
    """Return the positions in a report of the bits of some attributes, in the given order.

    widths: number of bits of each attribute of the report.
    """
    starts = np.concatenate(([0], np.cumsum(widths)))
    return tuple(bit for each in attributes for bit in range(starts[each], starts[each + 1]))
