"""The plain forms of the kernels, as they were before: what the fast ones are compared with, and must equal."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import RRLDP, Entropy, Support
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import FloatArray

#: Entries of the largest array.
_LARGEST_ARRAY = 2**22


class Score(NamedTuple):
    """The log-likelihood of all reports in nats, and the gradient of its mean, shape of the joint."""

    log_likelihood: float
    gradient: FloatArray


def count_unpacked(
    rows: NDArray[np.uint8], bits: int, columns: Sequence[NDArray[np.integer[Any]]]
) -> list[NDArray[np.intp]]:
    """Count the patterns of some columns, by unpacking the rows and packing the columns again.

    columns: for each count, positions of its bits, at most 16.
    """
    unpacked = np.unpackbits(rows, axis=1, count=bits, bitorder="little")
    counted = []
    for each in columns:
        packed = np.packbits(unpacked[:, each], axis=1, bitorder="little")
        patterns = packed[:, 0].astype(np.intp)
        if packed.shape[1] == 2:
            patterns |= packed[:, 1].astype(np.intp) << 8
        counted.append(np.bincount(patterns, minlength=2 ** len(each)))
    return counted


def perturb_by_word(mechanism: RRLDP, values: NDArray[np.integer[Any]], entropy: Entropy) -> NDArray[np.uint8]:
    """Make reports with a random word of 32 bits for each bit of each stage."""
    flip, p, q = mechanism.thresholds
    hot = np.zeros((len(values), mechanism.bits), dtype=np.bool_)
    offsets = np.concatenate(([0], np.cumsum(mechanism.sizes)[:-1]))
    hot[np.arange(len(values))[:, None], values + offsets] = True
    hot ^= entropy.below(np.broadcast_to(np.uint32(flip), hot.shape))
    reported = entropy.below(np.where(hot, np.uint64(q), np.uint64(p)))
    return np.packbits(reported, axis=1, bitorder="little")


def score_by_row(counts: RowCounts, sizes: tuple[int, ...], supports: Sequence[Support], joint: FloatArray) -> Score:
    """Evaluate the likelihood row by row, with attributes in two halves, whose rows are built at each evaluation."""
    half = min(range(1, len(sizes) + 1), key=lambda j: math.prod(sizes[:j]) + math.prod(sizes[j:]))
    P = joint.reshape(math.prod(sizes[:half]), -1)
    parts = np.split(counts.unpacked(), np.cumsum(sizes)[:-1], axis=1)
    step = max(1, _LARGEST_ARRAY // sum(P.shape))
    log_likelihood, gradient = 0.0, np.zeros_like(P)
    for begin in range(0, len(counts.counts), step):
        c = counts.counts[begin : begin + step]
        tables = [
            np.where(part[begin : begin + step], 1.0, support.ratio)
            for part, support in zip(parts, supports, strict=True)
        ]
        A, B = _products(tables[:half], len(c)), _products(tables[half:], len(c))
        z = np.einsum("ij,ij->i", A @ P, B)
        log_likelihood += float(c @ np.log(z))
        gradient += A.T @ (B * (c / z)[:, None])
    return Score(log_likelihood, gradient.reshape(sizes) / counts.reports)


class DenseEM:
    """EM as textbooks and peers write it: a matrix of the likelihood of every row given every cell."""

    def __init__(self, counts: RowCounts, sizes: tuple[int, ...], supports: Sequence[Support]) -> None:
        parts = np.split(counts.unpacked(), np.cumsum(sizes)[:-1], axis=1)
        tables = [np.where(part, 1.0, support.ratio) for part, support in zip(parts, supports, strict=True)]
        self._table = _products(tables, len(counts.counts))
        self._counts = counts.counts
        self._sizes = sizes

    def score(self, joint: FloatArray) -> Score:
        """Evaluate the likelihood with two products of a matrix and a vector."""
        z = self._table @ joint.ravel()
        gradient = (self._counts / z) @ self._table
        return Score(float(self._counts @ np.log(z)), gradient.reshape(self._sizes) / self._counts.sum())


def _products(tables: Sequence[FloatArray], rows: int) -> FloatArray:
    product: NDArray[Any] = np.ones((rows, 1))
    for table in tables:
        product = (product[:, :, None] * table[:, None, :]).reshape(rows, -1)
    return product
